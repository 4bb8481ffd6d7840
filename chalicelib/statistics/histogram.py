"""Durations as counts in buckets that grow by 9 %: added up over instances and days, they still give percentiles."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import Decimal

from chalicelib.foundation.dynamodb.store import Item
from chalicelib.statistics.rounding import round_half_up

STEPS = 8
"""Buckets per doubling: a percentile is too high by less than 2 ** (1 / 8), which is 9.1 %."""
PERCENTILES = (50, 95, 99)
"""Those that are told wherever durations are."""
MAIN_PERCENTILE = 95
"""The one that is told where there is room for one."""


@dataclass(slots=True)
class Histogram:
    """How often something took how long.

    Attributes:
        buckets: how many took at most ``2 ** (bucket / 8)`` milliseconds and more than the bucket before allows; the
            first has everything up to a millisecond.
        microseconds: their sum, exactly.
    """

    buckets: dict[int, int] = field(default_factory=dict)
    microseconds: int = 0

    def add(self, milliseconds: float) -> None:
        """Count one."""
        bucket = max(0, math.ceil(math.log2(milliseconds) * STEPS)) if milliseconds > 1 else 0
        self.buckets[bucket] = self.buckets.get(bucket, 0) + 1
        self.microseconds += round(milliseconds * 1000)

    def include(self, other: Histogram) -> None:
        """Count all that ``other`` has counted."""
        for bucket, count in other.buckets.items():
            self.buckets[bucket] = self.buckets.get(bucket, 0) + count
        self.microseconds += other.microseconds

    @property
    def count(self) -> int:
        return sum(self.buckets.values())

    @property
    def average(self) -> Decimal | None:
        """Milliseconds with one decimal place; ``None`` when nothing was counted."""
        if not self.count:
            return None
        return round_half_up(Decimal(self.microseconds) / 1000 / self.count, 1)

    def percentile(self, percent: int) -> Decimal | None:
        """So many milliseconds, with one decimal place, were enough for ``percent`` of 100; ``None`` without any."""
        wanted = math.ceil(self.count * percent / 100)
        found = 0
        for bucket in sorted(self.buckets):
            found += self.buckets[bucket]
            if found >= wanted:
                return round_half_up(Decimal(2 ** (bucket / STEPS)), 1)
        return None

    def to_item(self) -> Item:
        return {
            "microseconds": self.microseconds,
            "buckets": {str(bucket): self.buckets[bucket] for bucket in sorted(self.buckets)},
        }

    @classmethod
    def from_item(cls, item: Mapping[str, object]) -> Histogram:
        buckets = item["buckets"]
        assert isinstance(buckets, Mapping)
        return cls({int(bucket): int(count) for bucket, count in buckets.items()}, int(str(item["microseconds"])))
