"""Time-ordered rows of a partition, and pages merged from several partitions.

The position of a row consists of the millisecond when the row was recorded and of a number. The number only
distinguishes rows of the same transaction. A writer gives each transaction a later millisecond than the last
transaction in the timeline. So new rows always follow a page that was already read.

API clients read forward from the first row with ``page``. The web interface reads the latest rows first with
``latest_page``, which also searches.

A list with several partitions has no single last row. Writers therefore reserve positions (see ``reserved_rows``), and
readers return only rows that are older than ``CERTAIN_AFTER`` milliseconds.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from itertools import takewhile

from chalicelib.foundation.dynamodb.conditions import Condition
from chalicelib.foundation.dynamodb.sharded_index import rows_of_shard
from chalicelib.foundation.dynamodb.store import Item, Page, Store
from chalicelib.foundation.lazy_dataclasses import dataclass
from chalicelib.foundation.parallel import together
from chalicelib.foundation.requests.facts import Key

Position = tuple[int, int]
"""A row's position: Unix milliseconds and number."""

SHARDS = 16
"""The number of partitions of a programme manager's list of all cards."""
CERTAIN_AFTER = 1000
"""The age of a position, in milliseconds, after which no new position can be reserved before this position."""
RESERVED_BY, CANCELLED = "reserved_by", "cancelled"
"""The attributes of a placeholder item, for a row that may still be written or for a row that will not be written."""
_LATEST = 10**13 - 1
"""The last Unix millisecond with 13 digits, in the year 2286."""
_MANY = 1000
"""The number of rows per read if most rows do not match."""
REPEATED_DEPTHS = (150, 1500)
"""The numbers of rows of each list in the second and third read of a search, if earlier reads found too few rows."""


@dataclass(frozen=True, slots=True)
class Span:
    """A range of rows between two Unix milliseconds, inclusive. If ``after`` is set, the range begins after this
    position.
    """

    since: int
    until: int
    after: Position | None = None

    @classmethod
    def of_seconds(cls, first: int | None, last: int | None, after: Position | None = None) -> Span:
        """Return the span from the start of one Unix second to the end of another. Both limits are optional."""
        since = 0 if first is None else first * 1000
        until = _LATEST if last is None else last * 1000 + 999
        return cls(min(since, _LATEST), min(until, _LATEST), after)

    def has(self, position: Position) -> bool:
        return self.since <= position[0] <= self.until and (self.after is None or position > self.after)


Read = Callable[[], list[Item]]


@dataclass(frozen=True, slots=True)
class Search:
    """A search. It consists of an optional condition on rows and of an inclusive range of sort keys."""

    condition: Condition | None = None
    first: str | None = None
    last: str | None = None


@dataclass(frozen=True, slots=True)
class Rows:
    """Time-ordered rows in the partition ``owner`` of a table. Their sort keys start with ``name``."""

    table: str
    owner: str
    name: str

    def latest(self, store: Store, count: int, before: str | None = None) -> Read:
        """Return a callable that reads the last ``count`` rows before the key ``before`` in one call, newest first."""
        return lambda: self.read_latest(store, count, before)().items[:count]

    def read_latest(
        self, store: Store, count: int, before: str | None = None, wanted: Search | None = None
    ) -> Callable[[], Page]:
        """Return a callable that reads at least ``count`` rows before ``before`` in one call, newest first.

        Rows that do not match are omitted. ``next`` is the key of the last row that was read, if earlier rows exist.
        """
        first = (wanted and wanted.first) or f"{self.name}#"
        end = (wanted and wanted.last) or f"{self.name}#~"
        last = min(before, end) if before else end
        condition = wanted.condition if wanted else None
        many = count + 1  # the span includes its end

        def read() -> Page:
            if first > last:
                return Page([], None)
            found = store.query(
                self.table,
                ("owner", self.owner),
                between=("part", first, last),
                filter=condition,
                limit=many,
                newest_first=True,
            )
            return Page([row for row in found.items if row["part"] != before], found.next)

        return read


@dataclass(frozen=True, slots=True)
class Timeline(Rows):
    """A list of rows. A row's sort key consists of the list's name, the recording time and a number of up to ``digits``
    digits.
    """

    digits: int

    def part(self, at: int, number: int) -> str:
        return f"{self.name}#{at:013}#{number:0{self.digits}}"

    def position(self, part: str) -> Position:
        """Return the position of the row with this sort key."""
        at, number = part.removeprefix(f"{self.name}#").split("#")
        return int(at), int(number)

    def key(self, at: int, number: int) -> Key:
        """Return the key of the row at a position."""
        return self.table, {"owner": self.owner, "part": self.part(at, number)}

    def first_part(self, span: Span) -> str:
        """The lower bound of the sort keys in a span."""
        first = f"{self.name}#{span.since:013}#"
        return first if span.after is None else max(first, _after_part(self.part(*span.after)))

    def last_part(self, span: Span) -> str:
        """The upper bound of the sort keys in a span."""
        return _after_part(f"{self.name}#{span.until:013}#")

    def rows(self, store: Store, first: str, until: int, limit: int) -> Page:
        """Return the first rows from the sort key ``first`` to the millisecond ``until``, inclusive, in one call."""
        last = _after_part(f"{self.name}#{until:013}#")
        if first > last:
            return Page([], None)
        return store.query(self.table, ("owner", self.owner), between=("part", first, last), limit=limit)


def page(
    store: Store, timelines: Sequence[Timeline], span: Span, count: int, is_shown: Callable[[Item], bool] | None = None
) -> tuple[list[Item], bool]:
    """Return the first ``count`` visible rows and reserved positions of all timelines, in order.

    Also return whether more rows exist. Timelines are queried in parallel. Timelines with more rows are queried again
    if many rows are hidden from the caller.
    """
    found: list[Item] = []
    begins = {timeline: timeline.first_part(span) for timeline in timelines}
    limit = rows_of_shard(count + 1, len(timelines), deviations=8)
    while begins and _count_certain(found, begins) <= count:
        pages = together([partial(each.rows, store, first, span.until, limit) for each, first in begins.items()])
        answers = dict(zip(begins, pages, strict=True))
        found += [row for answer in answers.values() for row in answer.items if _is_included(row, is_shown)]
        begins = {
            each: _after_part(answer.items[-1]["part"]) for each, answer in answers.items() if answer.next is not None
        }
        limit = _MANY
    found.sort(key=lambda row: str(row["part"]))
    return found[:count], len(found) > count


def written_rows(rows: Sequence[Item]) -> list[Item]:
    """Return the rows of a page up to the first row that may still be written."""
    return list(takewhile(lambda row: RESERVED_BY not in row, rows))


def _is_included(row: Item, is_shown: Callable[[Item], bool] | None) -> bool:
    """Whether a page includes the row or reserved position. The row's visibility is known only when the row is
    written.
    """
    return CANCELLED not in row and (RESERVED_BY in row or is_shown is None or is_shown(row))


def _count_certain(found: Sequence[Item], begins: Mapping[Timeline, str]) -> int:
    """Return the number of found rows that no unread row can precede."""
    first = min(begins.values())
    return sum(row["part"] < first for row in found)


def _after_part(part: str) -> str:
    return f"{part}~"


def shards(manager_id: int) -> Sequence[str]:
    """The partitions of a programme manager's lists of all cards."""
    return [f"manager#{manager_id}#{shard}" for shard in range(SHARDS)]


def shard_of(manager_id: int, number: int) -> str:
    """Return the partition that contains the row with this number, in a programme manager's lists of all cards."""
    return f"manager#{manager_id}#{zlib.crc32(str(number).encode()) % SHARDS}"


@dataclass(frozen=True, slots=True)
class LatestRows:
    """The latest rows of several lists.

    ``before`` is the sort key before which the next page begins, or ``None`` after the last page. In a search, a page
    with fewer rows than requested may be followed by other pages.
    """

    rows: list[Item]
    before: str | None


def latest_page(
    store: Store, lists: Sequence[Rows], count: int, before: str | None = None, wanted: Search | None = None
) -> LatestRows:
    """Return the latest ``count`` rows of several lists, or the latest ``count`` rows that match a search. All lists
    must have the same name.

    Without a search, one parallel read of each list is enough. A search reads each list up to three times, and each
    further read covers older rows. In total, a search reads up to about 26,000 rows of a programme manager's lists.
    """
    found: list[Item] = []
    certain: list[Item] = []
    ends: dict[Rows, str | None] = dict.fromkeys(lists, before)
    for depth in (count + 1, *REPEATED_DEPTHS):
        read = together([each.read_latest(store, depth, end, wanted) for each, end in ends.items()])
        pages = dict(zip(ends, read, strict=True))
        found += [row for page in pages.values() for row in page.items if not {RESERVED_BY, CANCELLED} & row.keys()]
        ends = {each: str(page.next["part"]) for each, page in pages.items() if page.next is not None}
        latest_end = max(filter(None, ends.values()), default="")
        certain = [row for row in found if row["part"] >= latest_end]
        if not ends or len(certain) > count:
            break
    certain.sort(key=lambda row: str(row["part"]), reverse=True)
    if len(certain) > count:
        return LatestRows(certain[:count], str(certain[count - 1]["part"]))
    return LatestRows(certain, max(filter(None, ends.values()), default=None))
