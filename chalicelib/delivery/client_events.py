"""A client's events and deferred calls, displayed to the client's owner, newest first.

The list contains deliveries, and events that the client fetches. Pages are read backwards from a position. A page
combines the index of the client's deliveries or failed deliveries with the partitions of the events that the client
fetches. The number of calls for a page does not depend on the number of rows. If an event was a delivery before its
client began to fetch events, the event is in both sources.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Literal, get_args

from chalicelib.delivery.delivery_plan import DeliveryPlan, Plans
from chalicelib.delivery.delivery_record import FAILED_OF_CLIENT, OF_CLIENT, Delivery, client_receiver, record_key
from chalicelib.delivery.event_log import EventLog, LoggedRow, Position
from chalicelib.foundation.dynamodb.store import Item, Store
from chalicelib.foundation.lazy_dataclasses import dataclass

ClientState = Literal["due", "delivered", "failed", "recorded"]
"""The state of a delivery, or ``recorded`` for an event that the client fetches."""

CLIENT_STATES: Sequence[ClientState] = get_args(ClientState)
PAGE = 25
"""The number of entries per page."""
LOOKED_THROUGH = 1000
"""The maximum number of deliveries that are searched for a page, and of events that the client fetches."""
FIRST = 60
"""The number of rows of the first read, which is enough for a page unless most rows do not match."""
_BATCH = 100
LAST_SECOND = 9_999_999_998
_LEAST_ID = "0"
_CURSOR = re.compile(r"([0-9]{1,13})-([0-9A-Za-z_-]{1,64})")


@dataclass(frozen=True, slots=True)
class ClientSearch:
    """A filter for events.

    Attributes:
        client_id: the client.
        type: the type of an event or the kind of a call. An empty text means any type.
        state: the state, or ``None`` for any state.
        since: the earliest time of recording in Unix seconds, inclusive.
        until: the latest time of recording in Unix seconds, inclusive.
        before: the position of the previous page's last entry, or ``None`` for the first page.
    """

    client_id: str
    type: str = ""
    state: ClientState | None = None
    since: int = 0
    until: int = LAST_SECOND
    before: Position | None = None

    def matches(self, delivery: Delivery, plan: DeliveryPlan) -> bool:
        """Whether a delivery matches the search, and the client's owner may see the delivery because its plan stores
        replies.
        """
        is_visible = plan.keeps_replies and delivery.client_id == self.client_id
        is_wanted = self.type in ("", delivery.kind) or (not plan.has_caller and delivery.topic == self.type)
        return is_visible and is_wanted and self.state in (None, delivery.state)


@dataclass(frozen=True, slots=True)
class ClientEntry:
    """An entry of the list. Either the delivery or the event to fetch is set."""

    position: Position
    delivery: Delivery | None = None
    fetched: LoggedRow | None = None


@dataclass(frozen=True, slots=True)
class ClientEventsPage:
    """A page of a client's events and calls, newest first.

    Attributes:
        entries: at most ``PAGE`` entries.
        older: the position where the next page begins, or ``None`` after the last page.
        is_cut: whether the search ended before the page was full. Older entries may exist.
    """

    entries: Sequence[ClientEntry]
    older: Position | None
    is_cut: bool = False


@dataclass(frozen=True, slots=True)
class _Found:
    """Rows by position. The rows are complete from the position ``reached`` on, or for all positions if ``reached`` is
    ``None``.
    """

    rows: Sequence[tuple[Position, LoggedRow | None]]
    reached: Position | None


class ClientEvents:
    """The lists of the clients' events and deferred calls."""

    def __init__(self, store: Store, event_log: EventLog, plans: Plans) -> None:
        self._store = store
        self._event_log = event_log
        self._plans = plans

    def page(self, search: ClientSearch, *, most: int = LOOKED_THROUGH) -> ClientEventsPage:
        """Return a page for the client's owner. About ``most`` deliveries are read, and the same number of events that
        the client fetches.
        """
        for size in (FIRST, most):
            found = self._find(search, size)
            entries = [*islice(self._select(search, found), PAGE + 1)]
            if len(entries) > PAGE or found.reached is None or size >= most:
                break
        if len(entries) > PAGE:
            return ClientEventsPage(entries[:PAGE], entries[PAGE - 1].position)
        return ClientEventsPage(entries, found.reached, is_cut=found.reached is not None)

    def _find(self, search: ClientSearch, size: int) -> _Found:
        """Return the rows of both sources that precede the search's position, newest first."""
        parts = [self._find_deliveries(search, size)] if search.state != "recorded" else []
        wants_fetched = search.state in (None, "recorded") and search.type not in self._plans
        parts += [self._find_fetched(search, size)] if wants_fetched else []
        reached = max((part.reached for part in parts if part.reached is not None), default=None)
        rows = [
            row
            for part in parts
            for row in part.rows
            if (reached is None or row[0] >= reached) and (search.before is None or row[0] < search.before)
        ]
        return _Found(sorted(rows, key=lambda row: row[0], reverse=True), reached)

    def _find_deliveries(self, search: ClientSearch, size: int) -> _Found:
        until = search.until if search.before is None else min(search.until, _last_second(search.before))
        if search.since > until:
            return _Found([], None)
        rows = self._index_rows(search, search.since, until, size)
        if len(rows) < size:
            return _Found([(_position(row), None) for row in rows], None)
        last = int(rows[-1][OF_CLIENT.time])  # there may be more of this second
        whole = [row for row in rows if row[OF_CLIENT.time] != last]
        if whole:
            return _Found([(_position(row), None) for row in whole], ((last + 1) * 1000, ""))
        rows = self._index_rows(search, last, last, None)
        return _Found([(_position(row), None) for row in rows], (last * 1000, ""))

    def _find_fetched(self, search: ClientSearch, size: int) -> _Found:
        first, end = (search.since * 1000, ""), ((search.until + 1) * 1000, "")
        before = min(search.before or end, end)
        rows, reached = self._event_log.latest(client_receiver(search.client_id), first, before, size)
        return _Found([(row.position, row) for row in rows], reached)

    def _index_rows(self, search: ClientSearch, since: int, until: int, limit: int | None) -> Sequence[Item]:
        index = FAILED_OF_CLIENT if search.state == "failed" else OF_CLIENT
        return index.rows(self._store, owner=search.client_id, since=since, until=until, limit=limit, newest_first=True)

    def _select(self, search: ClientSearch, found: _Found) -> Iterator[ClientEntry]:
        rows, size = found.rows, PAGE + 1
        while rows:
            yield from self._read(search, rows[:size])
            rows, size = rows[size:], _BATCH

    def _read(self, search: ClientSearch, rows: Sequence[tuple[Position, LoggedRow | None]]) -> Iterator[ClientEntry]:
        keys = [record_key(position[1]) for position, fetched in rows if fetched is None]
        items = self._store.batch_get(keys) if keys else []
        deliveries = {item["delivery_id"]: Delivery.from_item(item) for item in items if item is not None}
        for position, fetched in rows:
            delivery = deliveries.get(position[1]) if fetched is None else None
            if fetched is not None and search.type in ("", fetched.type):
                yield ClientEntry(position, fetched=fetched)
            if delivery is not None and search.matches(delivery, self._plans[delivery.kind]):
                yield ClientEntry(position, delivery)


def encode_position(position: Position) -> str:
    """Encode a position as text for a URL."""
    return f"{position[0]}-{position[1] or _LEAST_ID}"


def decode_position(text: str) -> Position | None:
    """Return the position encoded in a text, or ``None`` if the text is not a position."""
    found = _CURSOR.fullmatch(text)
    return (int(found[1]), found[2]) if found else None


def _position(row: Item) -> Position:
    return int(row[OF_CLIENT.time]) * 1000, row["delivery_id"]


def _last_second(before: Position) -> int:
    return (before[0] if before[1] > _LEAST_ID else before[0] - 1) // 1000
