"""Compares the service's guarantees with the calls at receivers, the stored records and the results of TPP calls."""

import json
import math
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Protocol

from chalicelib.bootstrap import Hub
from chalicelib.delivery.delivery_record import CLAIMED_SECONDS, Delivery
from chalicelib.foundation.dynamodb.store import Item
from chalicelib.openbanking.protocol import refusals
from chalicelib.openbanking.records.consents import consent_key
from tests.chaos.receivers import Call, CallLog, payment_id_of
from tests.chaos.run import Accepted, Observations
from tests.chaos.worker import kind_of
from tests.kit.time import ManualClock

_NOTICES = ("event", "revoke_token")
_TOPICS_OF_REVOKED = ("consent.authorised", "consent.revoked", "/revoke_token")
_MOST_RESENT = 3
"""The maximum number of notices that may fail all ten attempts by chance. More failures are very improbable."""
_GROWTH = 1.5


class Played(Protocol):
    """A completed run."""

    hub: Hub
    clock: ManualClock
    received: CallLog
    observed: Observations

    def records(self) -> list[Delivery]: ...

    def items(self, kind: str) -> list[Item]: ...


class Verdict:
    """The result of checking a completed run. ``broken`` lists every broken guarantee.

    ``most_waiting`` is the largest number of messages that were waiting when a TPP call was made.
    """

    def __init__(self, run: Played, log: Path, most_waiting: float = math.inf) -> None:
        self._run = run
        self._most_waiting = most_waiting
        self._observed = run.observed
        self._log = log
        self.records = run.records()
        self._by_id: dict[str, list[Call]] = defaultdict(list)
        for call in run.received.calls:
            self._by_id[call.id].append(call)
        self.orders = [call for call in run.received.calls if kind_of(call.path) == "payment"]
        self.endings: Counter[str] = Counter()
        self.broken = [*run.received.problems, *self._observed.contradictions, *self._promises()]

    def _promises(self) -> Iterator[str]:
        yield from self._notices_arrived()
        yield from self._few_resent()
        yield from self._notices_complete()
        yield from self._repeats_equal()
        yield from self._paid_once()
        yield from self._outcomes_true()
        yield from self._nothing_left()
        yield from self._queue_bounded()
        yield from self._no_defects_logged()

    @property
    def ordered(self) -> list[Delivery]:
        """Return the payments that the service recorded, including payments for which the TPP got no response."""
        return [record for record in self.records if record.kind == "payment"]

    @property
    def notices(self) -> list[Delivery]:
        return [record for record in self.records if record.kind in _NOTICES]

    def _notices_arrived(self) -> Iterator[str]:
        """Check that every notice has reached its receiver, including every notice recorded as delivered."""
        for record in self.notices:
            calls = self._by_id[record.delivery_id if record.kind == "event" else record.request_id]
            if record.state != "delivered":
                yield f"{record.topic} {record.delivery_id} has not arrived: {record.state}, {record.last}"
            elif not any(200 <= call.status < 300 for call in calls):
                yield f"{record.topic} {record.delivery_id} is called delivered, and no receiver has it"

    def _few_resent(self) -> Iterator[str]:
        if self._observed.resent > _MOST_RESENT:
            yield f"{self._observed.resent} notices failed and had to be sent again by hand"

    def _notices_complete(self) -> Iterator[str]:
        counts = Counter((record.consent_id, record.topic) for record in self.notices)
        for consent_id in self._observed.revoked:
            for topic in _TOPICS_OF_REVOKED:
                if counts[consent_id, topic] != 1:
                    yield f"{topic} of {consent_id} has {counts[consent_id, topic]} deliveries"

    def _repeats_equal(self) -> Iterator[str]:
        """Check that retries have the id and body of the first call, and that different calls have different ids."""
        by_subject: dict[tuple[str, str], set[str]] = defaultdict(set)
        for call_id, calls in self._by_id.items():
            if len({(call.path, call.body) for call in calls}) > 1:
                yield f"calls with the id {call_id} differ"
            if kind_of(calls[0].path) != "question":
                by_subject[calls[0].path, calls[0].subject].add(call_id)
        yield from (f"{subject} came with the ids {ids}" for subject, ids in by_subject.items() if len(ids) > 1)

    def _paid_once(self) -> Iterator[str]:
        """Check that no order reaches a bank twice or is accepted twice, for any response and any number of TPP
        retries.
        """
        times = Counter(call.subject for call in self.orders)
        yield from (f"{reference} reached its bank {count} times" for reference, count in times.items() if count > 1)
        accepted: dict[str, set[str]] = defaultdict(set)
        for each in self._observed.accepted:
            accepted[each.call.subject].add(each.request_id)
        for reference, ids in accepted.items():
            if reference and len(ids) > 1:
                yield f"{reference} was accepted more than once: {ids}"

    def _outcomes_true(self) -> Iterator[str]:
        at_banks = {call.subject: call for call in self.orders}
        for each in self._observed.accepted:
            status, body = each.outcome
            if status != 200 or body["state"] not in ("done", "failed"):
                yield f"{each.call.kind} {each.call.subject} ended with {status}: {body}"
                continue
            ending = ending_of(body)
            self.endings[f"{each.call.kind}: {ending}"] += 1
            if each.call.kind == "pay":
                yield from self._payment_true(each, ending, body["body"], at_banks.get(each.call.subject))

    def _payment_true(self, each: Accepted, ending: str, body: Any, at_bank: Call | None) -> Iterator[str]:
        reference = each.call.subject
        is_done, is_refused = at_bank is not None and at_bank.done, at_bank is not None and not at_bank.done
        is_wrong = {
            "done": not is_done or body.get("payment_id") != payment_id_of(reference),
            "refused": not is_refused,
            "not sent": at_bank is not None,
            "unknown": False,
        }
        if is_wrong.get(ending, at_bank is not None):
            yield f"{reference} is said to be {ending}, and its bank says {at_bank and at_bank.response}: {body}"
        if each.call.one_time:
            item = self._run.hub.store.get(*consent_key(each.call.one_time)) or {}
            if (item.get("status") == "authorised") is not (ending == "not sent"):
                yield f"{reference} is {ending}, and its one-time consent is {item.get('status')}"

    def _nothing_left(self) -> Iterator[str]:
        """Check that no delivery is due, and that no delivery slot is occupied for longer than an attempt can take."""
        yield from (f"{record.delivery_id} is still due" for record in self.records if record.state == "due")
        until = self._run.clock.time() + CLAIMED_SECONDS
        for slot in self._run.items("slot#"):
            if slot["held_until"] > until:
                yield f"{slot['part']} of {slot['delivery_id']} is held"

    def _queue_bounded(self) -> Iterator[str]:
        """Check that the length of a long queue does not increase without new calls."""
        longest, waiting = self._observed.longest, self._most_waiting
        if longest > _GROWTH * waiting:
            yield f"{longest} messages waited, although no call was made while there were more than {waiting}"

    def _no_defects_logged(self) -> Iterator[str]:
        """Check that the service logs no errors except errors caused by failing receivers and killed processes."""
        for line in self._log.read_text().splitlines():
            try:
                members = json.loads(line)
                level = "INFO" if "_aws" in members else members["level"]  # metrics have none
            except (ValueError, TypeError, KeyError):
                level = "ERROR"  # a traceback, or a failed function as the runner reports it
            if level in ("ERROR", "CRITICAL"):
                yield f"logged: {line[:300]}"


def ending_of(body: Any) -> str:
    """Return ``done`` or the error title of an accepted call. Payment errors have abbreviated names."""
    if body["state"] == "done":
        return "done"
    title = str(body["body"]["title"])
    names = {
        refusals.PAYMENT_NOT_SENT.sentence: "not sent",
        refusals.PAYMENT_REFUSED.sentence: "refused",
        refusals.PAYMENT_OUTCOME_UNKNOWN.sentence: "unknown",
        refusals.PAYMENT_ANSWER_BAD.sentence: "unknown",
    }
    return next((name for text, name in names.items() if title.startswith(text)), title)
