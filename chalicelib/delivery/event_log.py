"""Events that their receiver fetches, stored for 30 days.

Each event is an item in a partition of its receiver, sorted by the time of recording. An event is readable only after
its transaction was committed. The commit may be long after the event's time, because requests are retried and clocks
differ. So a reader's position does not pass a time while an event with that time may still be written
(``LATE_SECONDS``). The reader's cursor contains the ids of the later events that the reader has already received. So
the reader receives a late event with the next page, and receives no event twice.

A cursor contains at most ``REMEMBERED`` ids. If a reader received that number of events within ``LATE_SECONDS``, the
reader receives further events only when these events become older. No event is lost.
"""

from __future__ import annotations

import struct
import zlib
from base64 import urlsafe_b64decode
from collections.abc import Collection, Sequence
from functools import partial

from chalicelib.delivery.delivery_record import TABLE
from chalicelib.foundation.clock import Clock, milliseconds, timestamp
from chalicelib.foundation.crypto.keyring import Keyring, Vault
from chalicelib.foundation.crypto.sealed_places import SealedPlace
from chalicelib.foundation.crypto.signed_cursors import SignedCursors
from chalicelib.foundation.dynamodb.sharded_index import rows_of_shard
from chalicelib.foundation.dynamodb.store import Item, Page, Put, Store, absent
from chalicelib.foundation.identifiers import base64url, new_id
from chalicelib.foundation.lazy_dataclasses import dataclass
from chalicelib.foundation.parallel import together

SHARDS = 4
"""The number of partitions for a receiver's events. Every page reads all partitions. Each partition accepts about 500
transactions a second.
"""
RETENTION_SECONDS = 30 * 24 * 3600
LATE_SECONDS = 90
"""The number of seconds after an event's time within which the event is committed.

The longest run of a function that records events is 55 seconds, which is longer than a command waits for its
transaction. The remainder allows for the differences between clocks.
"""
REMEMBERED = 300
"""The maximum number of events in a cursor. A cursor with this number of events has 3,270 characters."""

_PURPOSE = "delivery/events-after"
_PREFIX = "events#"
_TAG = 16
"""The number of hexadecimal digits of an event's id that are stored in a cursor, which are 64 random bits."""
_LAST_ID = "f" * 22
_PASSED = struct.Struct(">Q11s")

Position = tuple[int, str]
"""An event's position: Unix milliseconds and id."""


@dataclass(frozen=True, slots=True)
class LoggedEvent:
    """An event with its body. ``created_at`` is a timestamp. ``body`` is the text that would be sent to an Events
    URL.
    """

    event_id: str
    type: str
    created_at: str
    body: str


@dataclass(frozen=True, slots=True)
class LoggedRow:
    """An event without its body."""

    position: Position
    type: str

    @property
    def event_id(self) -> str:
        return self.position[1]

    @property
    def created_at(self) -> int:
        """The time of the event in Unix seconds."""
        return self.position[0] // 1000


@dataclass(frozen=True, slots=True)
class EventPage:
    """A page of events, oldest first. To get the following events, pass ``next`` as ``after``, now or later."""

    events: Sequence[LoggedEvent]
    next: str
    has_more: bool


@dataclass(frozen=True, slots=True)
class Reading:
    """A reader's position. The reader has received all events up to ``passed``, and the later events with a tag in
    ``got``.
    """

    passed: Position = (0, "0" * 22)
    got: frozenset[str] = frozenset()

    def encode(self) -> str:
        milliseconds_passed, event_id = self.passed
        passed = _PASSED.pack(milliseconds_passed, bytes.fromhex(event_id))
        return base64url(passed + bytes.fromhex("".join(sorted(self.got))))

    @classmethod
    def decode(cls, text: str) -> Reading:
        """Decode the reading position in a cursor. The cursor's signature must have been verified."""
        content = urlsafe_b64decode(text + "=" * (-len(text) % 4))
        milliseconds_passed, event_id = _PASSED.unpack_from(content)
        tags = content[_PASSED.size :].hex()
        got = frozenset(tags[start : start + _TAG] for start in range(0, len(tags), _TAG))
        return cls((milliseconds_passed, event_id.hex()), got)


@dataclass(frozen=True, slots=True)
class _Found:
    """The events after a position, in order. The events are complete up to ``until``, or without limit if ``until`` is
    ``None``.
    """

    rows: Sequence[Item]
    until: Position | None


class EventLog:
    """The log of events by receiver."""

    def __init__(self, store: Store, vault: Vault, keyring: Keyring, clock: Clock) -> None:
        self._store = store
        self._vault = vault
        self._cursors = SignedCursors(keyring, _PURPOSE)
        self._clock = clock

    def put_event(self, receiver: str, event: str, body: str, at: int, event_id: str | None = None) -> tuple[str, Put]:
        """Return the id of an event and the write operation that records it. The id is new, unless the event was
        already a delivery.

        ``at``, the time of this call in Unix milliseconds, determines the event's place in the order.
        """
        event_id = event_id or new_id()
        item = {
            "delivery_id": _partition(receiver, _shard(event_id)),
            "part": _part((at, event_id)),
            "topic": event,
            "sealed": self._vault.seal(body, _context(receiver, event_id)),
            "expires_at": at // 1000 + RETENTION_SECONDS,
        }
        return event_id, Put(TABLE, item, absent("delivery_id"))

    def page(self, receiver: str, after: str | None, limit: int) -> EventPage:
        """Return at most ``limit`` events, with one query per shard. A page may have fewer events even if more events
        follow.

        Raises:
            InvalidCursor: ``after`` is not the ``next`` of a page of this receiver.
        """
        now = milliseconds(self._clock)
        before = Reading() if after is None else Reading.decode(self._cursors.read(receiver, after))
        start = max(before.passed, (now - RETENTION_SECONDS * 1000, _LAST_ID))
        found = self._find(receiver, start, before.got, limit)
        settled = max(start, (now - LATE_SECONDS * 1000, _LAST_ID))
        rows, reading, has_more = _select(found, before.got, settled, limit)
        events = [self._open(receiver, row) for row in rows]
        return EventPage(events, self._cursors.sign(receiver, reading.encode()), has_more)

    def latest(
        self, receiver: str, first: Position, before: Position, limit: int
    ) -> tuple[Sequence[LoggedRow], Position | None]:
        """Return about ``limit`` events from ``first`` on and before ``before``, newest first, with one query per
        shard.

        The second result is the position from which the events are complete. ``None`` means that all events are
        complete.
        """
        first = max(first, ((self._clock.time() - RETENTION_SECONDS) * 1000, ""))
        if first >= before:
            return [], None

        def query(shard: int) -> Page:
            return self._store.query(
                TABLE,
                ("delivery_id", _partition(receiver, shard)),
                between=("part", _part(first), _part(before)),
                limit=rows_of_shard(limit, SHARDS),
                newest_first=True,
            )

        pages = together([partial(query, shard) for shard in range(SHARDS)])
        reached = max((_position(page.next) for page in pages if page.next is not None), default=None)
        rows = [LoggedRow(_position(row), row["topic"]) for page in pages for row in page.items]
        return sorted(rows, key=lambda row: row.position, reverse=True), reached

    def find(self, receiver: str, position: Position) -> LoggedEvent | None:
        """Return the event at a position, or ``None`` if there is no event or the event is no longer stored."""
        key = {"delivery_id": _partition(receiver, _shard(position[1])), "part": _part(position)}
        row = self._store.get(TABLE, key)
        return self._open(receiver, row) if row else None

    def _find(self, receiver: str, start: Position, got: Collection[str], limit: int) -> _Found:
        """Return the events after ``start``. If available, return more than ``limit`` events in addition to the events
        in ``got``.
        """
        first, many = f"{_part(start)}~", rows_of_shard(limit + 1, SHARDS)
        again = [0] * SHARDS
        for tag in got:
            again[_shard(tag)] += 1

        def query(shard: int) -> Page:
            return self._store.query(
                TABLE,
                ("delivery_id", _partition(receiver, shard)),
                between=("part", first, "~"),
                limit=again[shard] + many,
            )

        pages = together([partial(query, shard) for shard in range(SHARDS)])
        until = min((_position(page.next) for page in pages if page.next is not None), default=None)
        rows = (row for page in pages for row in page.items if until is None or _position(row) <= until)
        return _Found(sorted(rows, key=_position), until)

    def _open(self, receiver: str, row: Item) -> LoggedEvent:
        at, event_id = _position(row)
        body = self._vault.unseal(row["sealed"], _context(receiver, event_id))
        return LoggedEvent(event_id, row["topic"], timestamp(at // 1000), body)


def _select(found: _Found, got: frozenset[str], settled: Position, limit: int) -> tuple[Sequence[Item], Reading, bool]:
    """Choose the next page. Return its rows, the new reading position, and whether more rows exist.

    No further event with a time up to ``settled`` can be written.
    """
    new = [row for row in found.rows if _tag(row) not in got]
    old = [row for row in new if _position(row) <= settled]
    unread = got - {_tag(row) for row in found.rows} if found.until else frozenset()
    if len(old) > limit or (found.until is not None and found.until <= settled):
        page = old[:limit]
        passed = _position(page[-1]) if len(old) > limit else found.until or settled
        return page, Reading(passed, unread | _later(found.rows, got, passed)), True
    fresh, returned = new[len(old) :], unread | _later(found.rows, got, settled)
    room = max(min(limit - len(old), REMEMBERED - len(returned)), 0)
    returned |= {_tag(row) for row in fresh[:room]}
    has_more = (len(fresh) > room or found.until is not None) and len(returned) < REMEMBERED
    return [*old, *fresh[:room]], Reading(settled, returned), has_more


def _later(rows: Sequence[Item], got: Collection[str], passed: Position) -> frozenset[str]:
    return frozenset(tag for row in rows if _position(row) > passed and (tag := _tag(row)) in got)


def _partition(receiver: str, shard: int) -> str:
    return f"{_PREFIX}{receiver}#{shard}"


def _shard(event_id: str) -> int:
    return zlib.crc32(event_id[:_TAG].encode()) % SHARDS


def _part(position: Position) -> str:
    at, event_id = position
    return f"{at:013}#{event_id}"


def _position(row: Item) -> Position:
    at, _, event_id = row["part"].partition("#")
    return int(at), event_id


def _tag(row: Item) -> str:
    return _position(row)[1][:_TAG]


def _context(receiver: str, event_id: str) -> str:
    return f"{TABLE}/{_PREFIX}{receiver}/{event_id}"


def _sealed_for(item: Item) -> str | None:
    """Return the encryption context of an event's body. Another module encrypts the parts of deliveries."""
    if not item["delivery_id"].startswith(_PREFIX):
        return None
    receiver = item["delivery_id"].removeprefix(_PREFIX).rpartition("#")[0]
    return _context(receiver, _position(item)[1])


SEALED = (SealedPlace(TABLE, ("delivery_id", "part"), "sealed", _sealed_for),)
