"""Progress of sealing all records anew: one item, replaced after every page of a table.

A pass reads all tables with sealed values. When it ends, each older data key of which it found no value is unused
from the start of the pass on. Passes repeat until one finds no value of any older key.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, replace
from typing import Self

from chalicelib.foundation.dynamodb.conditions import Attr
from chalicelib.foundation.dynamodb.store import Item, Put, absent
from chalicelib.foundation.lazy_dataclasses import dataclass

PROGRESS = ("statistics", {"subject": "data-keys", "part": "resealing"})
"""The table and the key of the item."""
SETTLE_SECONDS = 960
"""Seconds until every write that began with an older value has ended: the longest run of a function (900), after the
minute in which processes may still seal with the previous key.
"""
PASS_SECONDS = 24 * 3600
"""Seconds between two passes if the first found only values that expire by themselves."""


@dataclass(frozen=True, slots=True)
class ResealingProgress:
    """Times are Unix seconds; data keys are numbered as in the keyring, as text in maps.

    Attributes:
        data_key: the key with which values are sealed anew.
        requested_at: when the operator asked for it.
        pass_at: the time before which the pass may not begin; while it runs and afterwards, when it began.
        table: the table that is read next; ``None`` before a pass begins and when all passes are over.
        after: the key of the last item read in it.
        read: items read in this pass; ``resealed``: values sealed anew in it.
        found: values of older keys found in this pass, by key; ``left``: those that the pass before found.
        unused_since: for each older key that opens nothing, the start of the first pass that found none of its values.
        finished_at: when the last pass ended; ``None`` while passes follow.
        version: the number of writes; 0 if there is no item yet.
    """

    data_key: int
    requested_at: int
    pass_at: int
    table: str | None = None
    after: Mapping[str, str] | None = None
    read: int = 0
    resealed: int = 0
    found: Mapping[str, int] | None = None
    left: Mapping[str, int] | None = None
    unused_since: Mapping[str, int] | None = None
    finished_at: int | None = None
    version: int = 0

    @classmethod
    def from_item(cls, item: Item) -> Self:
        return cls(**{name: item[name] for name in cls.__dataclass_fields__ if name in item})

    def put(self) -> tuple[ResealingProgress, Put]:
        """The write, which fails if another process wrote first, and the progress afterwards."""
        after = replace(self, version=self.version + 1)
        as_read = Attr("version").eq(self.version) if self.version else absent("subject")
        table, key = PROGRESS
        members = {name: value for name, value in asdict(after).items() if value is not None}
        return after, Put(table, {**key, **members}, as_read)

    def request(self, data_key: int, created_at: int, now: int) -> ResealingProgress:
        """A new series of passes with the key ``data_key``, which was created at ``created_at``."""
        pass_at = max(now, created_at + SETTLE_SECONDS if created_at else 0)
        return ResealingProgress(
            data_key, now, pass_at, left=self.left, unused_since=self.unused_since, version=self.version
        )

    def is_due(self, now: int) -> bool:
        """Whether a page may be read now."""
        return self.finished_at is None and (self.table is not None or now >= self.pass_at)

    def begin_pass(self, tables: Sequence[str], now: int) -> ResealingProgress:
        return replace(self, pass_at=now, table=tables[0], after=None, read=0, resealed=0, found={})

    def advance(self, read: int, resealed: int, found: Mapping[str, int], after: Item | None) -> ResealingProgress:
        """Record a page of the table."""
        total = dict(Counter(self.found or {}) + Counter(found))
        return replace(self, read=self.read + read, resealed=self.resealed + resealed, found=total, after=after)

    def next_table(self, tables: Sequence[str], older: Collection[int], now: int) -> ResealingProgress:
        """Go on to the next table, or end the pass; ``older`` are the keys before ``data_key``."""
        following = tables[tables.index(self.table or "") + 1 :]
        return replace(self, table=following[0]) if following else self._end_pass(older, now)

    def _end_pass(self, older: Collection[int], now: int) -> ResealingProgress:
        found, known = self.found or {}, self.unused_since or {}
        unused = {str(key): known.get(str(key), self.pass_at) for key in older if str(key) not in found}
        if not found:
            return replace(self, table=None, left={}, unused_since=unused, finished_at=now)
        pause = SETTLE_SECONDS if self.resealed else PASS_SECONDS
        return replace(self, table=None, left=found, unused_since=unused, pass_at=now + pause)
