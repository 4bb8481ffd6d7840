"""Reserved positions in lists that several writers share, for example a programme manager's lists.

The transactions of different cards write no common item that could determine the order of their rows, and a transaction
may be applied long after its decision. So a writer reserves the position of its row with a placeholder item while it
reads the data for its decision. The writer's transaction replaces the placeholder with the row, and fails if the
placeholder is missing. A page ends before a reserved position (``time_ordered.written_rows``).

A reader finds every reservation that precedes the rows in its result. It returns no rows of the last ``CERTAIN_AFTER``
milliseconds, and a reservation is used only if storage confirmed it within ``CONFIRMED_WITHIN`` milliseconds of its
time. The difference between these two periods allows for the difference between two clocks. All attempts at a request
use the same reservation, so at most one attempt is applied. If the reservation is cancelled, no attempt was applied,
and further attempts may use a new reservation.

A reader cancels a reservation after ``ABANDONED_AFTER`` milliseconds, because its writer has stopped or will decide
again. A mark remains in the position for a day, so that neither the reservation nor its transaction can still be
written. A request that ends without a row cancels its reservation in the same way.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import TypeVar, cast

from chalicelib.cards.storage.time_ordered import CANCELLED, RESERVED_BY, Timeline
from chalicelib.foundation import log
from chalicelib.foundation.clock import Clock, milliseconds
from chalicelib.foundation.dynamodb.conditions import Attr
from chalicelib.foundation.dynamodb.store import ConditionFailed, Conflict, Item, Put, Store, absent
from chalicelib.foundation.identifiers import new_id
from chalicelib.foundation.lazy_dataclasses import dataclass
from chalicelib.foundation.parallel import together
from chalicelib.foundation.requests.engine import Engine, if_permitted, try_to
from chalicelib.foundation.requests.facts import Key

T = TypeVar("T")

CONFIRMED_WITHIN = 500
"""The number of milliseconds after a reservation's time within which storage must confirm the reservation."""
AHEAD = 10_000
"""The number of milliseconds by which a second reservation is ahead of the clock. A second reservation is made if
storage confirmed the first reservation too late.
"""
ABANDONED_AFTER = 15_000
"""The number of milliseconds after which a reader cancels a reservation. Requests give up earlier."""
MARK_RETENTION = 24 * 3600
"""The number of seconds for which the mark of a cancelled reservation is retained after the reservation's time."""

NewEntry = Callable[[], tuple[Timeline, int]]
"""A function that returns the list and the number of a new row."""


@dataclass(frozen=True, slots=True)
class ReservedRow:
    """A reserved position. ``token`` identifies the position's reservation."""

    timeline: Timeline
    at: int
    number: int
    token: str

    @property
    def place(self) -> Key:
        return self.timeline.key(self.at, self.number)

    def put_reservation(self) -> Put:
        table, key = self.place
        return Put(table, key | {RESERVED_BY: self.token}, absent("owner"))

    def put(self, members: Item) -> Put:
        """Return the write operation of the row in this position. The write fails if the reservation was used or
        cancelled.
        """
        table, key = self.place
        return Put(table, key | members, Attr(RESERVED_BY).eq(self.token))

    def release(self, store: Store) -> None:
        """Release the position of a row that is not written. If the release fails, a reader cancels the reservation
        later.
        """
        table, key = self.place
        try_to(partial(_mark, store, table, key, self.token), "reserved row not released")

    def has_mark(self, item: Item) -> bool:
        """Whether an item is the mark of this position's cancelled reservation."""
        _, key = self.place
        return CANCELLED in item and key.items() <= item.items()

    def listed_at(self, at: int) -> int | None:
        """Return the time of this position, or ``None`` if this time equals ``at``, the time when the row was
        recorded.
        """
        return None if self.at == at else self.at


@dataclass(slots=True)
class RowReservation:
    """A request's reservation, which is made once and used by all attempts of the request."""

    store: Store
    clock: Clock
    made: ReservedRow | None = None

    @property
    def row(self) -> ReservedRow:
        assert self.made is not None, "a position is reserved before the decision"
        return self.made

    def make(self, entry: NewEntry) -> RowReservation:
        """Reserve a position unless a position is already reserved. Return ``self``. Raises: StoreError."""
        if self.made is None:
            self._reserve(*entry())
        return self

    def make_while(self, read: Callable[[], T], entry: NewEntry) -> T:
        """Return the result of ``read``. Reserve a position in the same round trip, unless a position is already
        reserved.

        Raises: StoreError.
        """
        if self.made is not None:
            return read()
        timeline, number = entry()
        calls: list[Callable[[], T | None]] = [read, lambda: self._reserve(timeline, number)]
        return cast("T", together(calls)[0])

    def release(self) -> None:
        """Release the reserved position of a row that will not be written."""
        row, self.made = self.made, None
        if row is not None:
            row.release(self.store)

    def give_up_if_cancelled(self, failure: ConditionFailed) -> None:
        """Allow the next attempt to make a new reservation if a failed transaction shows that the reservation was
        cancelled.

        No attempt was or can be written in the cancelled position.
        """
        if self.made is not None and any(item and self.made.has_mark(item) for item in failure.items):
            self.made = None

    def _reserve(self, timeline: Timeline, number: int) -> None:
        row = ReservedRow(timeline, milliseconds(self.clock), number, new_id())
        put = row.put_reservation()
        self.store.put(put.table, put.item, put.condition)
        if self._is_late(row):
            (table, key), token = row.place, row.token
            row = ReservedRow(timeline, milliseconds(self.clock) + AHEAD, number, new_id())
            self.store.transact([_put_mark(table, key, token), row.put_reservation()])
            if self._is_late(row):
                row.release(self.store)
                raise Conflict("storage confirms reservations too late")
        self.made = row

    def _is_late(self, row: ReservedRow) -> bool:
        return milliseconds(self.clock) > row.at + CONFIRMED_WITHIN


def cancel_abandoned(store: Store, table: str, rows: Sequence[Item], now: int) -> None:
    """Cancel the reservations among ``rows`` that were not used in time. ``now`` is in Unix milliseconds."""
    old = [row for row in rows if RESERVED_BY in row and _time_of(row) + ABANDONED_AFTER <= now]
    if old:
        together([partial(_cancel, store, table, row) for row in old])


def _cancel(store: Store, table: str, row: Item) -> None:
    if _mark(store, table, {"owner": row["owner"], "part": row["part"]}, row[RESERVED_BY]):
        log.warning("reserved row cancelled", owner=row["owner"], part=row["part"])


def _mark(store: Store, table: str, key: Item, token: str) -> bool:
    """Cancel a reservation. Return false if the reservation was used or cancelled in the meantime. Raises:
    StoreError.
    """
    return Engine(store).carry_out(if_permitted([_put_mark(table, key, token)], True, lambda _: False))


def _put_mark(table: str, key: Item, token: str) -> Put:
    mark = {CANCELLED: True, "expires_at": _time_of(key) // 1000 + MARK_RETENTION}
    return Put(table, key | mark, Attr(RESERVED_BY).eq(token))


def _time_of(row: Item) -> int:
    return int(row["part"].split("#")[1])
