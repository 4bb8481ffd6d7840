"""Time-ordered indexes, spread over shards that are queried in parallel to avoid hot partitions.

The partition attribute is a shard number, optionally prefixed with an owner. The sort attribute is a time. Items
without the partition attribute are not indexed.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator, Sequence
from functools import partial
from math import ceil, sqrt

from chalicelib.foundation.dynamodb.store import Item, Page, Store
from chalicelib.foundation.lazy_dataclasses import dataclass
from chalicelib.foundation.parallel import together

SHARDS = 8
_Position = tuple[int, Item | None]
"""A shard, and the row after which its next page begins."""


@dataclass(frozen=True, slots=True)
class ShardedIndex:
    """The index ``name`` of ``table`` and its key attributes."""

    table: str
    name: str
    partition: str
    time: str

    def entry(self, identifier: str, owner: str = "") -> Item:
        """Return the partition attribute that assigns an item to its shard."""
        return {self.partition: _value(owner, zlib.crc32(identifier.encode()) % SHARDS)}

    def rows(
        self,
        store: Store,
        *,
        owner: str = "",
        since: int = 0,
        until: int,
        limit: int | None = None,
        newest_first: bool = False,
    ) -> list[Item]:
        """Return the rows between two Unix seconds (inclusive) in order of time, at most ``limit``.

        All shards are queried in parallel, each for slightly more than its share of ``limit``. Shards whose next rows
        may belong to the result are queried again, also in parallel.
        """
        rows: list[Item] = []
        positions: list[_Position] = [(shard, None) for shard in range(SHARDS)]
        share = None if limit is None else rows_of_shard(limit, SHARDS)
        while positions:
            pages = self._pages(
                store, positions, owner=owner, since=since, until=until, limit=share, newest_first=newest_first
            )
            rows += [row for page in pages for row in page.items]
            rows.sort(key=self._time_of, reverse=newest_first)
            unread = [(shard, page.next) for (shard, _), page in zip(positions, pages, strict=True) if page.next]
            if limit is not None and len(rows) >= limit:
                last, sign = self._time_of(rows[limit - 1]), -1 if newest_first else 1
                unread = [(shard, after) for shard, after in unread if sign * self._time_of(after) < sign * last]
            positions = [*unread]
        return rows[:limit]

    def _time_of(self, row: Item) -> int:
        return int(row[self.time])

    def pages(
        self, store: Store, *, owner: str = "", since: int = 0, until: int, limit: int
    ) -> Iterator[Sequence[Item]]:
        """Yield the rows between two Unix seconds (inclusive), in pages of at most ``limit`` rows of each shard.

        Rows that leave the range during the iteration do not affect other rows. Rows that enter it may be missed.
        """
        positions: list[_Position] = [(shard, None) for shard in range(SHARDS)]
        while positions:
            pages = self._pages(store, positions, owner=owner, since=since, until=until, limit=limit)
            yield [row for page in pages for row in page.items]
            positions = [(shard, page.next) for (shard, _), page in zip(positions, pages, strict=True) if page.next]

    def next_time(self, store: Store, until: int, *, since: int = 0) -> int | None:
        """Return the earliest time in the index from ``since`` on, if it is not after ``until``."""
        rows = self.rows(store, since=since, until=until, limit=1) if since <= until else []
        return self._time_of(rows[0]) if rows else None

    def _pages(
        self,
        store: Store,
        positions: Sequence[_Position],
        *,
        owner: str,
        since: int,
        until: int,
        limit: int | None,
        newest_first: bool = False,
    ) -> Sequence[Page]:

        def page(shard: int, after: Item | None) -> Page:
            return store.query(
                self.table,
                (self.partition, _value(owner, shard)),
                index=self.name,
                between=(self.time, since, until),
                after=after,
                limit=limit,
                newest_first=newest_first,
            )

        return together([partial(page, *position) for position in positions])


def rows_of_shard(rows: int, shards: int, deviations: int = 4) -> int:
    """Return the rows to read from each shard to almost always include the first ``rows`` of all shards.

    Rows are distributed randomly: the number is the average plus several standard deviations.
    """
    average = rows / shards
    return min(rows, ceil(average + deviations * sqrt(average)))


def _value(owner: str, shard: int) -> str:
    return f"{owner}#{shard}" if owner else str(shard)
