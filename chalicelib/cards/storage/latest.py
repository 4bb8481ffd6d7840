"""The latest rows first: what people want to see, of one partition or of several at the same time.

``timelines`` lead on from the first row, as programs read; here a page goes back from the last one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from chalicelib.cards.storage.time_ordered import Timeline
from chalicelib.foundation.dynamodb.store import Item, Store
from chalicelib.foundation.parallel import together

Read = Callable[[], list[Item]]


@dataclass(frozen=True, slots=True)
class Rows:
    """Rows in the partition ``owner`` of a table whose parts begin with ``name``, and go on in the order of time."""

    table: str
    owner: str
    name: str

    @classmethod
    def of(cls, timeline: Timeline) -> Rows:
        return cls(timeline.table, timeline.owner, timeline.name)

    def latest(self, store: Store, count: int, before: str | None = None) -> Read:
        """What reads the last ``count`` rows, the latest first, of those before the part ``before``; one call."""
        span = ("part", f"{self.name}#", before or f"{self.name}#~")
        many = count + 1  # the end of the span is in it

        def read() -> list[Item]:
            found = store.query(self.table, ("owner", self.owner), between=span, limit=many, newest_first=True)
            return [row for row in found.items if row["part"] != before][:count]

        return read


def page(store: Store, lists: Sequence[Rows], count: int, before: str | None = None) -> tuple[list[Item], bool]:
    """The last ``count`` rows of all lists, which have the same name, and whether there are more before them."""
    found = [row for rows in together([each.latest(store, count + 1, before) for each in lists]) for row in rows]
    found.sort(key=lambda row: str(row["part"]), reverse=True)
    return found[:count], len(found) > count
