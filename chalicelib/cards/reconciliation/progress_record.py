"""Progress of the rolling ledger check. The progress is one item, and every step replaces the item."""

from __future__ import annotations

from dataclasses import asdict, replace
from typing import Self

from chalicelib.cards.ledger.transaction_record import TABLE
from chalicelib.foundation.dynamodb.conditions import Attr
from chalicelib.foundation.dynamodb.store import Item, Put, absent
from chalicelib.foundation.lazy_dataclasses import dataclass
from chalicelib.foundation.requests.facts import Key

STRETCHES = ("account", "external_address")
"""The sequences that a round covers (``sequences.Name``): accounts, and the addresses by which special accounts are
found.
"""
ROUND_SECONDS = 24 * 3600
"""The minimum number of seconds between the starts of two rounds."""
MOST_BROKEN = 100
"""The maximum number of broken accounts that every run rechecks."""


@dataclass(frozen=True, slots=True)
class Progress:
    """The progress of a round of checks. Times are Unix seconds.

    Attributes:
        began_at: the start of this round. ``before_began_at`` is the start of the previous, complete round.
        stretch: the current sequence, or ``None`` at the end. ``number`` is the last number checked.
        proved: the number of accounts found consistent in this round.
        broken: owners of the accounts that were inconsistent at the last check.
        version: the number of writes, or 0 if there is no item yet.
    """

    began_at: int
    before_began_at: int | None = None
    stretch: str | None = STRETCHES[0]
    number: int = 0
    proved: int = 0
    broken: tuple[str, ...] = ()
    version: int = 0

    @classmethod
    def of(cls, item: Item | None, now: int) -> Self:
        """Return the progress stored in its item. If there is no item, return the start of the first round."""
        if item is None:
            return cls(now)
        members = {name: item[name] for name in cls.__dataclass_fields__ if name in item}
        return cls(**members | {"stretch": item.get("stretch"), "broken": tuple(item["broken"])})

    @property
    def is_over(self) -> bool:
        return self.stretch is None

    def age(self, now: int) -> int:
        """Return the number of seconds within which every account was checked. The first round may be incomplete."""
        return now - (self.began_at if self.is_over or self.before_began_at is None else self.before_began_at)

    def resume(self, now: int) -> Progress:
        """Start a new round if the current round ended and ``ROUND_SECONDS`` passed. Otherwise return the progress
        unchanged.
        """
        if not self.is_over or now - self.began_at < ROUND_SECONDS:
            return self
        return replace(self, began_at=now, before_began_at=self.began_at, stretch=STRETCHES[0], number=0, proved=0)

    def advance(self, number: int, proved: int) -> Progress:
        """Record that all numbers up to ``number`` were checked and that ``proved`` more accounts were consistent."""
        return replace(self, number=number, proved=self.proved + proved)

    def next_stretch(self) -> Progress:
        """Go to the start of the next sequence, or to the end of the round."""
        left = STRETCHES[STRETCHES.index(self.stretch) + 1 :]
        return replace(self, stretch=left[0] if left else None, number=0)

    def with_findings(self, broken: frozenset[str], held: frozenset[str]) -> Progress:
        """Add inconsistent accounts, and remove the accounts that are consistent again."""
        return replace(self, broken=tuple(sorted({*self.broken, *broken} - held))[:MOST_BROKEN])

    def put(self) -> tuple[Progress, Put]:
        """Return the resulting progress and its write. The write fails if another run has written the progress
        first.
        """
        after = replace(self, version=self.version + 1)
        as_read = Attr("version").eq(self.version) if self.version else absent("owner")
        members = {name: value for name, value in asdict(after).items() if value is not None}
        table, key = PROGRESS
        return after, Put(table, key | members | {"broken": list(after.broken)}, as_read)


PROGRESS: Key = (TABLE, {"owner": "proof", "part": "proof"})
"""The key of the progress item."""
