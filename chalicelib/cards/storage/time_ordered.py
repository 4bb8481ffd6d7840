"""Time-ordered rows of a partition, and pages merged from several partitions.

A row's position is its recording millisecond and its own number, which only tells apart the rows of one transaction: a
writer gives each transaction a later millisecond than the timeline's last one. So new rows come after a page that was
read.

Programs read on from the first row, by ``page``; people see the latest rows first, by ``latest_page``.

A row that must not wait for the others is written out of turn: a second ahead of the clock and of the last row, where
nobody has read yet. Until no row that is written in turn comes before it any more, a page ends in front of it. This
relies on clocks, and on the time from a reading to its write, which do not differ by as much as a second.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import takewhile
from math import ceil, sqrt

from chalicelib.cards.storage.record import Key
from chalicelib.foundation.dynamodb.store import Item, Page, Store
from chalicelib.foundation.parallel import together

Position = tuple[int, int]
"""A row's position: its Unix millisecond and its number."""

SHARDS = 16
"""The partitions of a programme manager's list over all cards."""
CERTAIN_AFTER = 1000
"""Milliseconds after which no unordered row can come before a row."""
_LATEST = 10**13 - 1
"""The last millisecond that is written with 13 digits, in the year 2286."""
_MANY = 1000
"""Rows per read if most of them are filtered out."""


@dataclass(frozen=True, slots=True)
class Span:
    """A range of rows: from one millisecond to another, both included, and after a row if given."""

    since: int
    until: int
    after: Position | None = None

    @classmethod
    def of_seconds(cls, first: int | None, last: int | None, after: Position | None = None) -> Span:
        """From the begin of a second to the end of another, in Unix seconds; both optional."""
        since = 0 if first is None else first * 1000
        until = _LATEST if last is None else last * 1000 + 999
        return cls(min(since, _LATEST), min(until, _LATEST), after)

    def has(self, position: Position) -> bool:
        return self.since <= position[0] <= self.until and (self.after is None or position > self.after)


Read = Callable[[], list[Item]]


@dataclass(frozen=True, slots=True)
class Rows:
    """Rows in the partition ``owner`` of a table whose parts begin with ``name``, and go on in the order of time."""

    table: str
    owner: str
    name: str

    def latest(self, store: Store, count: int, before: str | None = None) -> Read:
        """What reads the last ``count`` rows, the latest first, of those before the part ``before``; one call."""
        span = ("part", f"{self.name}#", before or f"{self.name}#~")
        many = count + 1  # the end of the span is in it

        def read() -> list[Item]:
            found = store.query(self.table, ("owner", self.owner), between=span, limit=many, newest_first=True)
            return [row for row in found.items if row["part"] != before][:count]

        return read


@dataclass(frozen=True, slots=True)
class Timeline(Rows):
    """Rows whose parts continue with the time of recording and a number of up to ``digits`` digits."""

    digits: int

    def part(self, at: int, number: int) -> str:
        return f"{self.name}#{at:013}#{number:0{self.digits}}"

    def key(self, at: int, number: int) -> Key:
        """A row's position."""
        return self.table, {"owner": self.owner, "part": self.part(at, number)}

    def first_part(self, span: Span) -> str:
        """What the parts of a span's rows are not before."""
        first = f"{self.name}#{span.since:013}#"
        return first if span.after is None else max(first, _after_part(self.part(*span.after)))

    def rows(self, store: Store, first: str, until: int, limit: int) -> Page:
        """The first rows from the part ``first`` on that were recorded by the end of a millisecond; one call."""
        last = _after_part(f"{self.name}#{until:013}#")
        if first > last:
            return Page([], None)
        return store.query(self.table, ("owner", self.owner), between=("part", first, last), limit=limit)


def page(
    store: Store, timelines: Sequence[Timeline], span: Span, count: int, is_shown: Callable[[Item], bool] | None = None
) -> tuple[list[Item], bool]:
    """The first ``count`` rows of all timelines, in order, and whether there are more; only those that are shown.

    The timelines are queried in parallel; those with more rows are queried again if many rows are hidden.
    """
    found: list[Item] = []
    begins = {timeline: timeline.first_part(span) for timeline in timelines}
    limit = _rows_per_partition(count + 1, len(timelines))
    while begins and _count_certain(found, begins) <= count:
        pages = together([partial(each.rows, store, first, span.until, limit) for each, first in begins.items()])
        answers = dict(zip(begins, pages, strict=True))
        found += [row for answer in answers.values() for row in answer.items if is_shown is None or is_shown(row)]
        begins = {
            each: _after_part(answer.items[-1]["part"]) for each, answer in answers.items() if answer.next is not None
        }
        limit = _MANY
    found.sort(key=lambda row: str(row["part"]))
    return found[:count], len(found) > count


def time_out_of_turn(now: int, last_at: int) -> int:
    """The position of a row that is written at ``now``, after one of ``last_at``."""
    return max(now, last_at) + CERTAIN_AFTER


def certain_rows(rows: Sequence[Item], now: int) -> list[Item]:
    """The first rows of a page, up to one written out of turn that another may still come before."""
    return list(takewhile(lambda row: row.get("certain_at", 0) <= now, rows))


def _rows_per_partition(rows: int, partitions: int) -> int:
    """Rows to read from each partition to get the first ``rows`` of all.

    Rows are spread at random: over-fetch each partition by eight standard deviations; partitions that may hold more
    are queried again.
    """
    average = rows / partitions
    return min(rows, ceil(average + 8 * sqrt(average)))


def _count_certain(found: Sequence[Item], begins: Mapping[Timeline, str]) -> int:
    """How many rows there are that nothing can come before which has not been read."""
    first = min(begins.values())
    return sum(row["part"] < first for row in found)


def _after_part(part: str) -> str:
    """What comes right after a part, and all parts that begin with it."""
    return f"{part}~"


def shards(manager_id: int) -> Sequence[str]:
    """The partitions that whatever is listed over all cards of a programme manager is spread over."""
    return [f"manager#{manager_id}#{shard}" for shard in range(SHARDS)]


def shard_of(number: int) -> int:
    """Which of them a row belongs to."""
    return zlib.crc32(str(number).encode()) % SHARDS


def latest_page(store: Store, lists: Sequence[Rows], count: int, before: str | None = None) -> tuple[list[Item], bool]:
    """The last ``count`` rows of all lists, which have the same name, and whether there are more before them."""
    found = [row for rows in together([each.latest(store, count + 1, before) for each in lists]) for row in rows]
    found.sort(key=lambda row: str(row["part"]), reverse=True)
    return found[:count], len(found) > count
