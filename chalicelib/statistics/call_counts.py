"""Counts of a bank's calls by service: requests, failures and latencies."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import field, fields
from decimal import ROUND_HALF_UP, Decimal
from typing import Literal

from chalicelib.foundation.dynamodb.store import Item
from chalicelib.foundation.lazy_dataclasses import dataclass


def round_half_up(number: Decimal, places: int) -> Decimal:
    """Round to a number of decimal places."""
    return number.quantize(Decimal(1).scaleb(-places), ROUND_HALF_UP)


def percent(part: int, whole: int) -> Decimal | None:
    """Percentage to three decimals; ``None`` if the whole is zero."""
    return round_half_up(Decimal(100 * part) / whole, 3) if whole else None


STEPS = 8  # buckets per doubling: a percentile is too high by less than 2 ** (1 / 8), which is 9.1 %
PERCENTILES = (50, 95, 99)  # those that are told wherever durations are
MAIN_PERCENTILE = 95  # the one that is told where there is room for one


@dataclass(slots=True)
class Histogram:
    """A histogram of durations.

    Attributes:
        buckets: counts by bucket. A bucket holds durations of up to ``2 ** (bucket / 8)`` milliseconds that exceed the
            previous bucket's limit; the first holds everything up to one millisecond.
        microseconds: the exact sum of the durations.
    """

    buckets: dict[int, int] = field(default_factory=dict)
    microseconds: int = 0

    def add(self, milliseconds: float) -> None:
        bucket = max(0, math.ceil(math.log2(milliseconds) * STEPS)) if milliseconds > 1 else 0
        self.buckets[bucket] = self.buckets.get(bucket, 0) + 1
        self.microseconds += round(milliseconds * 1000)

    def include(self, other: Histogram) -> None:
        """Add the counts of ``other``."""
        for bucket, count in other.buckets.items():
            self.buckets[bucket] = self.buckets.get(bucket, 0) + count
        self.microseconds += other.microseconds

    @property
    def count(self) -> int:
        return sum(self.buckets.values())

    @property
    def average(self) -> Decimal | None:
        """The mean in milliseconds to one decimal; ``None`` if empty."""
        if not self.count:
            return None
        return round_half_up(Decimal(self.microseconds) / 1000 / self.count, 1)

    def percentile(self, percent: int) -> Decimal | None:
        """The ``percent``-th percentile in milliseconds to one decimal; ``None`` if empty."""
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


Service = Literal["AISP", "PISP", "CBPII", "authorization"]
SERVICES: tuple[Service, ...] = ("AISP", "PISP", "CBPII", "authorization")
Blamed = Literal["bank", "caller", "hub"]
"""The party responsible for a failure: the bank (ASPSP), the TPP or its user, or this service."""


@dataclass(slots=True)
class CallCounts:
    """Counts of calls.

    Attributes:
        calls: TPP requests that concern the bank, regardless of outcome.
        answered: requests to the bank with a complete response, successful or not.
        unanswered: requests to the bank without one: time-outs, refused and broken connections.
        not_asked: TPP requests that failed because calls to the bank were paused, or too many waited for it.
        bank_failures, caller_failures, hub_failures: all other failures, by responsible party.
    """

    calls: int = 0
    answered: int = 0
    unanswered: int = 0
    not_asked: int = 0
    bank_failures: int = 0
    caller_failures: int = 0
    hub_failures: int = 0

    @property
    def bank_requests(self) -> int:
        """The number of requests to the bank."""
        return self.answered + self.unanswered

    @property
    def error_rate(self) -> Decimal | None:
        """Percentage of requests to the bank that failed through its fault, to three decimals; ``None`` if there
        were none.
        """
        return percent(self.bank_failures, self.bank_requests)

    def count_failure(self, blamed: Blamed) -> None:
        name = f"{blamed}_failures"
        setattr(self, name, getattr(self, name) + 1)

    def include(self, other: CallCounts) -> None:
        """Add the counts of ``other``."""
        for name in COUNTED:
            setattr(self, name, getattr(self, name) + getattr(other, name))

    @classmethod
    def total(cls, tallies: Iterable[CallCounts]) -> CallCounts:
        total = cls()
        for tally in tallies:
            total.include(tally)
        return total

    def to_item(self) -> Item:
        """The non-zero counts."""
        return {name: number for name in COUNTED if (number := getattr(self, name))}

    @classmethod
    def from_item(cls, item: Mapping[str, int]) -> CallCounts:
        return cls(**{name: int(number) for name, number in item.items()})


COUNTED = tuple(each.name for each in fields(CallCounts))  # what is counted, by name


@dataclass(slots=True)
class Latencies:
    """Latency histograms: time in this service for TPP requests (bank time excluded), and bank request time."""

    hub: Histogram = field(default_factory=Histogram)
    bank: Histogram = field(default_factory=Histogram)

    def include(self, other: Latencies) -> None:
        """Add the latencies of ``other``."""
        self.hub.include(other.hub)
        self.bank.include(other.bank)

    @classmethod
    def total(cls, latencies: Iterable[Latencies]) -> Latencies:
        total = cls()
        for each in latencies:
            total.include(each)
        return total

    def to_item(self) -> Item:
        return {"hub": self.hub.to_item(), "bank": self.bank.to_item()}

    @classmethod
    def from_item(cls, item: Mapping[str, Mapping[str, object]]) -> Latencies:
        return cls(Histogram.from_item(item["hub"]), Histogram.from_item(item["bank"]))
