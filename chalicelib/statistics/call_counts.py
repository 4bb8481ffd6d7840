"""What is counted of a bank's calls, and of each service apart."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields
from decimal import Decimal
from typing import Literal

from chalicelib.foundation.dynamodb.store import Item
from chalicelib.statistics.histogram import Histogram
from chalicelib.statistics.rounding import percent

Service = Literal["AISP", "PISP", "CBPII", "authorization"]
SERVICES: tuple[Service, ...] = ("AISP", "PISP", "CBPII", "authorization")
Blamed = Literal["bank", "caller", "hub"]
"""Who is to blame for a failure: the bank (ASPSP); the TPP, or its user, whose request was refused; this service."""


@dataclass(slots=True)
class CallCounts:
    """Counts of calls.

    Attributes:
        calls: requests of TPPs that concern the bank, whatever came of them.
        answered: requests to the bank that got a whole answer, good or bad.
        unanswered: requests to the bank that got none: time-outs, refused and broken connections.
        not_asked: requests of TPPs that failed because the bank had not answered the ones before, and was spared them.
        bank_failures, caller_failures, hub_failures: all other failures, by whose fault.
    """

    calls: int = 0
    answered: int = 0
    unanswered: int = 0
    not_asked: int = 0
    bank_failures: int = 0
    caller_failures: int = 0
    hub_failures: int = 0

    @property
    def asked(self) -> int:
        """Requests that the bank was sent."""
        return self.answered + self.unanswered

    @property
    def error_rate(self) -> Decimal | None:
        """Percent of the requests to the bank that failed by its fault, three decimal places; ``None`` without any."""
        return percent(self.bank_failures, self.asked)

    def count_failure(self, blamed: Blamed) -> None:
        """Count a failure."""
        name = f"{blamed}_failures"
        setattr(self, name, getattr(self, name) + 1)

    def include(self, other: CallCounts) -> None:
        """Count all that ``other`` has counted."""
        for name in COUNTED:
            setattr(self, name, getattr(self, name) + getattr(other, name))

    @classmethod
    def total(cls, tallies: Iterable[CallCounts]) -> CallCounts:
        """All of them together."""
        total = cls()
        for tally in tallies:
            total.include(tally)
        return total

    def to_item(self) -> Item:
        """What is not zero."""
        return {name: number for name in COUNTED if (number := getattr(self, name))}

    @classmethod
    def from_item(cls, item: Mapping[str, int]) -> CallCounts:
        return cls(**{name: int(number) for name, number in item.items()})


COUNTED = tuple(each.name for each in fields(CallCounts))
"""What is counted, by name."""


@dataclass(slots=True)
class Latencies:
    """How long requests of TPPs took in this service, without the bank, and requests to the bank at the bank."""

    hub: Histogram = field(default_factory=Histogram)
    bank: Histogram = field(default_factory=Histogram)

    def include(self, other: Latencies) -> None:
        """Count all that ``other`` has counted."""
        self.hub.include(other.hub)
        self.bank.include(other.bank)

    @classmethod
    def total(cls, latencies: Iterable[Latencies]) -> Latencies:
        """All of them together."""
        total = cls()
        for each in latencies:
            total.include(each)
        return total

    def to_item(self) -> Item:
        return {"hub": self.hub.to_item(), "bank": self.bank.to_item()}

    @classmethod
    def from_item(cls, item: Mapping[str, Mapping[str, object]]) -> Latencies:
        return cls(Histogram.from_item(item["hub"]), Histogram.from_item(item["bank"]))
