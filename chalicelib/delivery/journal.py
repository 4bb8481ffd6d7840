"""The delivery journal lists deliveries by state and resends deliveries manually.

Events and notices can be resent at any time, because the receiver recognises the id. Deferred calls cannot be resent,
because their callers have already received an outcome.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from itertools import chain, islice
from typing import NamedTuple

from chalicelib.delivery.delivery_plan import Plans
from chalicelib.delivery.delivery_record import (
    DUE,
    FAILED,
    FAILED_OF_CLIENT,
    OF_BANK,
    OF_CLIENT,
    OF_MANAGER,
    Delivery,
    State,
    record_key,
    update_due_time,
    update_revival,
)
from chalicelib.delivery.outbox import Outbox
from chalicelib.delivery.sweeper import BACKLOG
from chalicelib.foundation.clock import Clock
from chalicelib.foundation.dynamodb.sharded_index import ShardedIndex
from chalicelib.foundation.dynamodb.store import Busy, ConditionFailed, Item, Store, Update
from chalicelib.foundation.lazy_dataclasses import dataclass
from chalicelib.foundation.parallel import WIDTH, pieces, together

LATEST = 50
SEARCHED = 100
"""The maximum number of a client's latest deliveries, or latest failed deliveries, that are searched."""
_ID_LENGTH = 64
BATCH = 100
"""The number of records per read, and of index rows in the first read."""
_READ_AHEAD = 4 * BATCH
_REVIVED_TOGETHER = 20
"""The number of deliveries revived per transaction, which is limited to 100 writes."""
_TRIES = 5
"""The maximum number of attempts to revive a failed delivery that is changed concurrently."""
_PAUSE = 5
"""The attempt number that is passed to ``Store.wait``. The average wait is 0.4 s."""
_END_OF_TIME = 2**40


class UnknownDelivery(LookupError):
    """No delivery has this id, or the delivery has expired."""


class NotResendable(Exception):
    """A delivery cannot be resent. The message gives the reason."""


class SearchTooWide(ValueError):
    """No index supports the search. The message names the missing criterion."""


@dataclass(frozen=True, slots=True)
class Party:
    """The bank, client, programme manager or consent of a search. ``None`` matches all."""

    bic: str | None = None
    client_id: str | None = None
    manager_id: int | None = None
    consent_id: str | None = None

    def includes(self, delivery: Delivery) -> bool:
        names = ("bic", "client_id", "manager_id", "consent_id")
        return all(getattr(self, name) in (None, getattr(delivery, name)) for name in names)


ANYBODY = Party()


class WaitingResent(NamedTuple):
    """The number of deliveries that are sent immediately, and the number of deliveries skipped because an attempt is in
    progress.
    """

    resent: int
    skipped: int


@dataclass(frozen=True, slots=True)
class _Search:
    index: ShardedIndex
    owner: str
    concerned: Party
    state: State | None
    newest_first: bool = True

    def matches(self, delivery: Delivery) -> bool:
        return self.state in (None, delivery.state) and self.concerned.includes(delivery)


class Journal:
    """The journal of deliveries, which lists and resends deliveries."""

    def __init__(self, store: Store, clock: Clock, outbox: Outbox, plans: Plans) -> None:
        self._store = store
        self._clock = clock
        self._outbox = outbox
        self._plans = plans

    def list(
        self, concerned: Party = ANYBODY, *, state: State | None = None, since: int = 0, limit: int = LATEST
    ) -> Sequence[Delivery]:
        """Return the latest deliveries of a bank, client or programme manager, or all failed or due deliveries.

        ``since`` (Unix seconds) and the order use the same time. For ``failed``, this is the time of the failure,
        latest first. For ``due``, this is the time of the next attempt, earliest first. For the deliveries of a bank,
        client or programme manager, this is the time of recording, latest first.

        Raises:
            SearchTooWide: delivered messages were requested without a bank, client or programme manager.
        """
        searches = _searches(concerned, state)
        return [*islice(chain.from_iterable(self._find(search, since) for search in searches), limit)]

    def search_latest(
        self, client_id: str, *, consent_id: str | None = None, state: State | None = None
    ) -> Sequence[Delivery]:
        """Return a client's matching deliveries for the client's owner, latest first, among the ``SEARCHED`` latest
        deliveries.
        """
        index = FAILED_OF_CLIENT if state == "failed" else OF_CLIENT
        search = _Search(index, client_id, Party(client_id=client_id, consent_id=consent_id), state)
        found = self._select(search, self._rows(search, 0, _END_OF_TIME, SEARCHED))
        return [delivery for delivery in found if self._plans[delivery.kind].keeps_replies]

    def show(self, delivery_id: str) -> Delivery:
        """Return one delivery. Raises: UnknownDelivery."""
        item = self._store.get(*record_key(delivery_id)) if 0 < len(delivery_id) <= _ID_LENGTH else None
        if item is None:
            raise UnknownDelivery(f"no delivery has the id {delivery_id}, or its record has expired")
        return Delivery.from_item(item)

    def resend(self, delivery_id: str, looks: int = 8) -> bool:
        """Resend a notification now. A finished notification gets a full set of attempts. A due notification keeps its
        remaining attempts.

        While an attempt is in progress, or concurrent changes occur, the delivery is checked up to ``looks`` times,
        half a second apart. Returns whether the notification is resent, which is false if the attempt in progress
        succeeded.

        Raises:
            UnknownDelivery.
            NotResendable: the delivery is a request or a payment, or an attempt remained in progress.
        """
        delivery = first = self.show(delivery_id)
        if self._has_caller(delivery):
            raise NotResendable(
                "a deferred call or a payment cannot be resent: its caller has already received an outcome"
            )
        for _ in range(looks):
            if (first.state, delivery.state) == ("due", "delivered"):
                return False
            if self._send_now(delivery):
                self._outbox.queue([delivery_id])
                return True
            self._store.wait(_PAUSE)
            delivery = self.show(delivery_id)
        raise NotResendable("an attempt is in progress; if it fails, it is retried automatically")

    def resend_failed(self, since: int, concerned: Party = ANYBODY) -> int:
        """Resend all notifications that failed since a Unix second. Return their number.

        Deferred calls, and deliveries that were changed concurrently, are skipped. If the queue is full, the sweeper
        queues the rest.
        """
        search, now = _Search(FAILED, "", concerned, "failed"), self._clock.time()
        ids = [row["delivery_id"] for row in FAILED.rows(self._store, since=since, until=now)]
        count = 0
        for piece in pieces(ids, BATCH * WIDTH):
            read = self._read(piece).values()
            wanted = [delivery for delivery in read if not self._has_caller(delivery) and search.matches(delivery)]
            due = self._make_due(wanted, now)
            self._outbox.queue(due[: max(BACKLOG - count, 0)])
            count += len(due)
        return count

    def resend_waiting(self, receiver: str) -> WaitingResent:
        """Make the waiting notifications to ``receiver`` (see ``Delivery``) due now.

        The number of attempts and the end of each notification's lifetime do not change. Due notifications, which
        already have a message in the queue, and deferred calls are omitted. Notifications that are changed
        concurrently, usually by an attempt, are skipped. The call can be repeated, for example after an interruption.
        If the queue is full, the sweeper queues the remaining notifications.
        """
        now, count, skipped = self._clock.time(), 0, 0
        for rows in DUE.pages(self._store, since=now + 1, until=_END_OF_TIME, limit=BATCH):
            read = self._read([row["delivery_id"] for row in rows]).values()
            waiting = [each for each in read if self._is_waiting_notification(each, receiver)]
            due = self._make_due([each for each in waiting if not each.is_running(now)], now)
            self._outbox.queue(due[: max(BACKLOG - count, 0)])
            count, skipped = count + len(due), skipped + len(waiting) - len(due)
        return WaitingResent(count, skipped)

    # -- internals

    def _has_caller(self, delivery: Delivery) -> bool:
        return self._plans[delivery.kind].has_caller

    def _is_waiting_notification(self, delivery: Delivery, receiver: str) -> bool:
        return delivery.receiver == receiver and delivery.state == "due" and not self._has_caller(delivery)

    def _due_now(self, delivery: Delivery, now: int) -> Sequence[Update]:
        """Return the write operations that make a waiting delivery due now, or a finished delivery due with a full set
        of attempts.
        """
        if delivery.state == "due":
            return [update_due_time(delivery, now)]
        return update_revival(delivery, self._plans[delivery.kind], now)

    def _find(self, search: _Search, since: int) -> Iterator[Delivery]:
        """Return the deliveries of a search in the order of the index. The index is read lazily."""
        until, size = _END_OF_TIME, BATCH
        while True:
            rows = self._rows(search, since, until, size)
            if len(rows) < size:
                yield from self._select(search, rows)
                return
            last = int(rows[-1][search.index.time])  # there may be more of this second
            yield from self._select(search, [row for row in rows if row[search.index.time] != last])
            yield from self._select(search, self._rows(search, last, last, None))
            since, until = (since, last - 1) if search.newest_first else (last + 1, until)
            size *= 2

    def _rows(self, search: _Search, since: int, until: int, limit: int | None) -> Sequence[Item]:
        return search.index.rows(
            self._store, owner=search.owner, since=since, until=until, limit=limit, newest_first=search.newest_first
        )

    def _select(self, search: _Search, rows: Sequence[Item]) -> Iterator[Delivery]:
        for piece in pieces(rows, _READ_AHEAD):
            read = self._read([row["delivery_id"] for row in piece])
            yield from (delivery for delivery in read.values() if search.matches(delivery))

    def _read(self, ids: Sequence[str]) -> dict[str, Delivery]:
        keys = [record_key(delivery_id) for delivery_id in ids]
        read = together([partial(self._store.batch_get, batch) for batch in pieces(keys, BATCH)])
        return {item["delivery_id"]: Delivery.from_item(item) for items in read for item in items if item is not None}

    def _send_now(self, delivery: Delivery) -> bool:
        now = self._clock.time()
        if delivery.is_running(now):
            return False
        try:
            self._store.transact(self._due_now(delivery, now))
        except (ConditionFailed, Busy):
            return False
        return True

    def _make_due(self, deliveries: Sequence[Delivery], now: int) -> Sequence[str]:
        groups = pieces(deliveries, _REVIVED_TOGETHER)
        changed = together([partial(self._make_group_due, group, now) for group in groups])
        return [delivery_id for group in changed for delivery_id in group]

    def _make_group_due(self, deliveries: Sequence[Delivery], now: int) -> Sequence[str]:
        try:
            self._store.transact([write for delivery in deliveries for write in self._due_now(delivery, now)])
        except (ConditionFailed, Busy):
            return [each.delivery_id for each in deliveries if self._make_one_due(each)]
        return [delivery.delivery_id for delivery in deliveries]

    def _make_one_due(self, delivery: Delivery) -> bool:
        state = delivery.state
        for attempt in range(_TRIES):
            if delivery.state != state:
                return False
            if self._send_now(delivery):
                return True
            self._store.wait(attempt)
            delivery = self.show(delivery.delivery_id)
        return False


def _searches(concerned: Party, state: State | None) -> Sequence[_Search]:
    """Return the index queries for a search.

    The index by state is preferred to the index by owner, because due and failed deliveries are rare.
    """
    if state == "due":
        return [_Search(DUE, "", concerned, state, newest_first=False)]
    if state == "failed":
        return [_Search(FAILED, "", concerned, state)]
    if concerned.client_id is not None:
        return [_Search(OF_CLIENT, concerned.client_id, concerned, state)]
    if concerned.manager_id is not None:
        return [_Search(OF_MANAGER, str(concerned.manager_id), concerned, state)]
    if concerned.bic is not None:
        return [_Search(OF_BANK, concerned.bic, concerned, state)]
    if state is None:
        return [*_searches(concerned, "failed"), *_searches(concerned, "due")]
    raise SearchTooWide("completed deliveries can be searched only by bank, client or programme manager")
