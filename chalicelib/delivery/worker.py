"""The delivery worker: one attempt at one delivery, and its outcome.

An attempt begins with a transaction that claims the delivery and a slot of its lane. It ends with a transaction that
writes the outcome and frees the slot. If a worker stops in between, the delivery becomes due again when the claim
expires. The receiver then gets the delivery again with the same id.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field
from typing import Any, Literal

from chalicelib.delivery import recorded_exchange
from chalicelib.delivery.delivery_plan import Plans, postponement, wait_after
from chalicelib.delivery.delivery_record import (
    BODY,
    Delivery,
    part_key,
    record_key,
    update_claim,
    update_due_time,
    update_end,
    update_retry,
    update_unmade_attempt,
)
from chalicelib.delivery.outbox import Outbox
from chalicelib.delivery.outcomes import Delivered, Dispatch, Keep, Sender, StoredAnswer, Undeliverable
from chalicelib.delivery.receiver_slots import LONG_SECONDS, RESTING_SECONDS, Slot, any_slot, read_free_slots
from chalicelib.delivery.sealed_bodies import SealedBodies
from chalicelib.delivery.tasks import Tasks
from chalicelib.foundation import log
from chalicelib.foundation.aws.errors import AwsError
from chalicelib.foundation.aws.queues import Queue
from chalicelib.foundation.clock import CLOCK_SKEW_SECONDS, Clock
from chalicelib.foundation.context import CapturedHeaders, capturing, leave_time
from chalicelib.foundation.dynamodb.store import (
    Busy,
    ConditionFailed,
    Item,
    Operation,
    Put,
    Store,
    StoreError,
    StoreUnavailable,
)
from chalicelib.foundation.identifiers import new_id
from chalicelib.foundation.lazy_dataclasses import dataclass

_TURNS = (2, 3, 3, 3, 3)
"""The attempt numbers that are passed to ``Store.wait`` while a delivery waits for a slot of a fast receiver. The total
wait is half a second.
"""


@dataclass(frozen=True, slots=True)
class Attempt:
    """An attempt in progress.

    Attributes:
        delivery: the delivery as claimed.
        slot: the claimed slot, or ``None`` if it is too late to send the delivery.
        first: the first part of the body, if any.
        started: the time of the start, in monotonic clock seconds.
        exchange: the headers of the call and the beginning of its response, if a call was made.
    """

    delivery: Delivery
    slot: Slot | None
    first: Item | None
    started: float
    exchange: CapturedHeaders = field(default_factory=CapturedHeaders)


@dataclass(frozen=True, slots=True)
class _Finished:
    """A finished attempt: its history entry, and any write operation that stores the beginning of the response."""

    entry: Mapping[str, Any]
    reply: Sequence[Put]


class Worker:
    """Makes delivery attempts. ``senders`` has a sender for each kind of delivery."""

    def __init__(
        self,
        store: Store,
        clock: Clock,
        bodies: SealedBodies,
        outbox: Outbox,
        dead: Queue,
        senders: Mapping[str, Sender],
        tasks: Tasks,
        plans: Plans,
    ) -> None:
        self._store = store
        self._clock = clock
        self._bodies = bodies
        self._outbox = outbox
        self._dead = dead
        self._senders = senders
        self._tasks = tasks
        self._plans = plans

    def attempt(self, message: str) -> None:
        """Carry out the task in ``message``, or send the delivery whose id is ``message`` if the delivery is due.

        A duplicate message has no effect. If a message arrives before the due time by less than the clock tolerance,
        the delivery is queued again. A message that arrives even earlier has no effect.
        """
        if self._tasks.carry_out(message):
            return
        attempt = self.begin(message)
        if attempt is not None:
            self.carry_out(attempt)

    def begin(self, delivery_id: str) -> Attempt | None:
        """Claim a due delivery and a slot of its receiver.

        Return ``None`` if the delivery is not due, is already claimed, or has to wait.
        """
        item, first = self._store.batch_get([record_key(delivery_id), part_key(delivery_id, BODY)])
        delivery, now = Delivery.from_item(item) if item else None, self._clock.time()
        if delivery is None or not self._is_due(delivery, now):
            return None
        sent_as = {"sent_as": delivery.request_id} if delivery.cause_id else {}
        log.bind(
            request_id=delivery.cause_id or delivery.request_id,
            delivery_id=delivery_id,
            consent_id=delivery.consent_id,
            **sent_as,
        )
        claim = new_id()
        for slot in self._slots(delivery, now):
            claimed, taking = update_claim(delivery, claim, now, sending=slot is not None)
            try:
                self._store.transact([taking, slot.take(now)] if slot else [taking])
            except ConditionFailed as failure:
                if 0 not in failure.failed:
                    continue
                if (failure.items[0] or {}).get("claimed_by") != claim:  # else the response to this write was lost
                    return None
            except Busy:  # too many want the same slots
                break
            except StoreUnavailable:
                if not self._has_claimed(claimed):
                    raise
            return Attempt(claimed, slot, first, self._clock.monotonic())
        self._postpone(delivery, now)
        return None

    def carry_out(self, attempt: Attempt) -> None:
        """Send the delivery and record the outcome."""
        delivery = attempt.delivery
        try:
            delivered = self._send(attempt)
        except Undeliverable as failure:
            self._after_failure(attempt, failure)
            if failure.__cause__ is not None:
                self._report(delivery, failure.__cause__)
        except StoreError as error:  # nothing has been sent
            self._return(attempt, f"the storage did not respond: {error}")
        except Exception as error:
            self._after_failure(attempt, Undeliverable(f"a defect of this service: {type(error).__name__}"))
            self._report(delivery, error)
        else:
            self._succeed(attempt, delivered)

    # -- internals

    def _is_due(self, delivery: Delivery, now: int) -> bool:
        """Whether a delivery is due.

        A delivery that becomes due within the clock tolerance is queued again, because another process's clock may be
        ahead.
        """
        if delivery.due_at is None:
            return False
        early = delivery.due_at - now
        if 0 < early <= CLOCK_SKEW_SECONDS and delivery.claimed_by is None:
            self._outbox.queue_later(delivery.delivery_id, early)
        return early <= 0

    def _succeed(self, attempt: Attempt, delivered: Delivered) -> None:
        """End an accepted delivery. If the outcome cannot be stored, treat the attempt as failed."""
        finished = self._finish(attempt, delivered.status)
        try:
            if self._end(attempt, "delivered", finished, delivered.answer, delivered.keep):
                log.info("delivered", **_log_fields(attempt.delivery))
        except Undeliverable as failure:
            self._after_failure(attempt, failure)

    def _slots(self, delivery: Delivery, now: int) -> Iterator[Slot | None]:
        """Return the slots to try: first a random one, then the slots that were free when read.

        To avoid contention, a delivery that has already waited tries only slots that were read as free. If the receiver
        frees slots quickly, the delivery waits briefly. If it is too late for another attempt, the delivery needs no
        slot.
        """
        plan = self._plans[delivery.kind]
        lane = plan.lane_of(delivery.receiver)
        if now > delivery.give_up_at or delivery.attempts > len(plan.waits):
            yield None
            return
        if delivery.due_at == delivery.created_at:
            yield any_slot(lane)
        seen = read_free_slots(self._store, lane, now)
        yield from seen.free
        for turn in _TURNS if seen.brisk else ():
            self._store.wait(turn)
            yield from read_free_slots(self._store, lane, now).free

    def _has_claimed(self, claimed: Delivery) -> bool:
        """Whether an attempt's first write succeeded although its response was lost."""
        item = self._store.get(*record_key(claimed.delivery_id))
        return item is not None and item.get("claimed_by") == claimed.claimed_by

    def _postpone(self, delivery: Delivery, now: int) -> None:
        delay = postponement(self._plans[delivery.kind], now - delivery.created_at, None)
        try:
            self._store.transact([update_due_time(delivery, now + delay)])
        except (ConditionFailed, Busy):  # it is being looked after; if not, the sweeper finds it
            return
        log.info("delivery postponed", **_log_fields(delivery), reason="the receiver is busy")
        self._outbox.queue_later(delivery.delivery_id, delay)

    def _send(self, attempt: Attempt) -> Delivered:
        delivery = attempt.delivery
        sender, dispatch = self._senders[delivery.kind], self._open_dispatch(attempt)
        if attempt.slot is None:
            raise sender.abandon(dispatch)
        try:
            with capturing(attempt.exchange):
                return sender.send(dispatch)
        finally:
            leave_time(self._clock.monotonic)

    def _open_dispatch(self, attempt: Attempt) -> Dispatch:
        delivery, parts = attempt.delivery, attempt.delivery.body_parts
        body = self._bodies.open(delivery.delivery_id, BODY, parts, attempt.first) if parts else ""
        return Dispatch(delivery, body)

    def _after_failure(self, attempt: Attempt, failure: Undeliverable) -> None:
        delivery, now = attempt.delivery, self._clock.time()
        if failure.not_made:
            delay: int | None = postponement(self._plans[delivery.kind], now - delivery.created_at, failure.retry_after)
        else:
            delay = wait_after(self._plans[delivery.kind], delivery.attempts, failure.retry_after)
        if failure.final or delay is None or now + delay > delivery.give_up_at:
            self._fail(attempt, failure)
        elif failure.not_made:
            self._return(attempt, str(failure), delay)
        else:
            log.warning("delivery attempt failed", **_log_fields(delivery), reason=str(failure))
            finished = self._finish(attempt, failure.status, str(failure))
            retry: list[Operation] = [update_retry(delivery, now + delay, finished.entry), *finished.reply]
            if self._write(attempt, retry, self._store.transact, resting=self._was_long(attempt)):
                self._outbox.queue_later(delivery.delivery_id, delay)

    def _return(self, attempt: Attempt, reason: str, delay: int | None = None) -> None:
        """Revert an attempt that was not made, and postpone the delivery."""
        delivery, now = attempt.delivery, self._clock.time()
        delay = postponement(self._plans[delivery.kind], now - delivery.created_at, None) if delay is None else delay
        log.info("delivery postponed", **_log_fields(delivery), reason=reason)
        if self._write(attempt, [update_unmade_attempt(delivery, now + delay)], self._store.transact):
            self._outbox.queue_later(delivery.delivery_id, delay)

    def _fail(self, attempt: Attempt, failure: Undeliverable) -> None:
        """End a failed delivery. Retry later if the caller's response cannot be determined."""
        try:
            last = self._last_words(attempt, failure)
        except StoreError as error:
            self._return(attempt, f"the storage did not respond: {error}")
            return
        finished = self._finish(attempt, failure.status, str(failure))
        if self._end(attempt, "failed", finished, last.answer, last.keep, resting=self._was_long(attempt)):
            log.warning("delivery failed", **_log_fields(attempt.delivery), reason=str(failure))

    def _last_words(self, attempt: Attempt, failure: Undeliverable) -> Undeliverable:
        """Return the final failure, which contains the response for the caller of a deferred call.

        If the last attempt's failure contains no response, the sender's ``abandon`` returns the failure. Raises:
        StoreError.
        """
        if failure.answer is not None or not self._plans[attempt.delivery.kind].has_caller:
            return failure
        try:
            return self._senders[attempt.delivery.kind].abandon(self._open_dispatch(attempt))
        except Undeliverable as other:
            return other
        except StoreError:
            raise
        except Exception as error:
            self._report(attempt.delivery, error)
            return failure

    def _end(
        self,
        attempt: Attempt,
        state: Literal["delivered", "failed"],
        finished: _Finished,
        answer: StoredAnswer | None,
        keep: Keep | None,
        *,
        resting: bool = False,
    ) -> bool:
        """Write the end of a delivery, unless a later attempt has begun. Return whether the end was written."""
        delivery = attempt.delivery
        stored_answer: Item | None = None
        parts: list[Put] = []
        if answer is not None:
            name = f"answer-{_claim_of(delivery)}"
            parts = self._bodies.seal(delivery.delivery_id, name, answer.text, delivery.expires_at)
            stored_answer = {"status": answer.status, "name": name, "parts": len(parts)}
        first = [self._bodies.write_ahead(parts)] if parts else []
        over = update_end(
            delivery, self._plans[delivery.kind], state, finished.entry, stored_answer, self._clock.time()
        )
        return self._write(attempt, [over, *first, *finished.reply], keep or self._store.transact, resting=resting)

    def _write(self, attempt: Attempt, operations: Sequence[Operation], keep: Keep, *, resting: bool = False) -> bool:
        """Write an outcome and free the slot, unless a later attempt has begun. Return whether the outcome was written.

        If ``resting`` is true, the slot remains taken for a while because the receiver is unresponsive.
        """
        at = self._clock.time() + (RESTING_SECONDS if resting else 0)
        freed = [attempt.slot.free(at)] if attempt.slot else []
        try:
            try:
                keep([*operations, *freed])
            except Busy:  # over the slot, which others want: it becomes free by itself
                keep(operations)
        except ConditionFailed:
            log.warning("delivery superseded")
            return False
        return True

    def _was_long(self, attempt: Attempt) -> bool:
        """Whether an attempt occupied a worker for a long time. A refused connection does not."""
        return self._clock.monotonic() - attempt.started >= LONG_SECONDS

    def _finish(self, attempt: Attempt, status: int | None, error: str | None = None) -> _Finished:
        reply = self._seal_reply(attempt)
        entry = self._history_entry(attempt, status, error)
        return _Finished({**entry, "reply": _reply_name(attempt.delivery)} if reply else entry, reply)

    def _seal_reply(self, attempt: Attempt) -> Sequence[Put]:
        delivery, plan = attempt.delivery, self._plans[attempt.delivery.kind]
        text = recorded_exchange.record_answer(attempt.exchange) if plan.keeps_replies else ""
        if not text:
            return []
        expires_at = delivery.expires_at if plan.has_caller else self._clock.time() + plan.retention
        return self._bodies.seal(delivery.delivery_id, _reply_name(delivery), text, expires_at)

    def _history_entry(self, attempt: Attempt, status: int | None, error: str | None) -> Mapping[str, Any]:
        milliseconds = round((self._clock.monotonic() - attempt.started) * 1000)
        entry = {"at": self._clock.time(), "milliseconds": milliseconds, "status": status, "error": error}
        return {name: value for name, value in entry.items() if value is not None} | recorded_exchange.record_headers(
            attempt.exchange
        )

    def _report(self, delivery: Delivery, defect: BaseException) -> None:
        """Put a delivery's id into the dead-letter queue, because the attempt failed with a defect. This triggers an
        alarm.
        """
        log.defect("delivery hit a defect", defect)
        try:
            self._dead.send(delivery.delivery_id)
        except AwsError as error:
            log.warning("defect not reported", error=type(error).__name__)


def _claim_of(claimed: Delivery) -> str:
    assert claimed.claimed_by is not None, "it was claimed"
    return claimed.claimed_by


def _reply_name(claimed: Delivery) -> str:
    return f"reply-{_claim_of(claimed)}"


def _log_fields(delivery: Delivery) -> dict[str, Any]:
    names = ("delivery_id", "kind", "topic", "receiver", "attempts")
    return {name: getattr(delivery, name) for name in names}
