"""Counts of a bank's calls by service: requests, failures and latencies, also by hour.

The counters of an hour can be added in any order. So each process writes its own counters, once, without waiting for
other processes. Downtimes depend on the order of responses, which the counters record to the second.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import field, fields
from datetime import UTC, datetime
from decimal import ROUND_HALF_UP, Decimal
from functools import partial
from typing import Literal

from chalicelib.foundation import jsontext
from chalicelib.foundation.dynamodb.store import Item
from chalicelib.foundation.lazy_dataclasses import dataclass
from chalicelib.statistics.days import DAY_SECONDS, HOUR_SECONDS


def round_half_up(number: Decimal, places: int) -> Decimal:
    """Round to a number of decimal places."""
    return number.quantize(Decimal(1).scaleb(-places), ROUND_HALF_UP)


def percent(part: int, whole: int) -> Decimal | None:
    """Return the percentage to three decimals, or ``None`` if the whole is zero."""
    return round_half_up(Decimal(100 * part) / whole, 3) if whole else None


STEPS = 8  # buckets per doubling: a percentile is too high by less than 2 ** (1 / 8), which is 9.1 %
PERCENTILES = (50, 95, 99)  # those that are told wherever durations are
MAIN_PERCENTILE = 95  # the one that is told where there is room for one


@dataclass(slots=True)
class Histogram:
    """A histogram of durations.

    Attributes:
        buckets: counts by bucket. A bucket holds durations of up to ``2 ** (bucket / 8)`` milliseconds that exceed the
            previous bucket's limit. The first bucket holds all durations up to one millisecond.
        microseconds: the exact sum of the durations.
    """

    buckets: Counter[int] = field(default_factory=Counter)
    microseconds: int = 0

    def add(self, milliseconds: float) -> None:
        bucket = max(0, math.ceil(math.log2(milliseconds) * STEPS)) if milliseconds > 1 else 0
        self.buckets[bucket] += 1
        self.microseconds += round(milliseconds * 1000)

    def include(self, other: Histogram) -> None:
        """Add the counts of another histogram."""
        self.buckets.update(other.buckets)
        self.microseconds += other.microseconds

    @property
    def count(self) -> int:
        return self.buckets.total()

    @property
    def average(self) -> Decimal | None:
        """The mean in milliseconds to one decimal, or ``None`` if the histogram is empty."""
        if not self.count:
            return None
        return round_half_up(Decimal(self.microseconds) / 1000 / self.count, 1)

    def percentile(self, percent: int) -> Decimal | None:
        """Return the ``percent``-th percentile in milliseconds to one decimal, or ``None`` without durations."""
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
        return cls(
            Counter({int(bucket): int(count) for bucket, count in buckets.items()}), int(str(item["microseconds"]))
        )


Service = Literal["AISP", "PISP", "CBPII", "authorization"]
SERVICES: tuple[Service, ...] = ("AISP", "PISP", "CBPII", "authorization")
Outcome = Literal["answered", "unanswered", "not_asked"]
"""The outcome of a request to a bank, named as in ``CallCounts``."""
Blamed = Literal["bank", "caller", "hub"]
"""The party responsible for a failure: the bank (ASPSP), the TPP or its user, or this service."""


@dataclass(slots=True)
class CallCounts:
    """Counts of calls.

    Attributes:
        calls: TPP requests that concern the bank, regardless of outcome.
        answered: requests to the bank with a complete response, successful or not.
        unanswered: requests to the bank without a complete response: timeouts, refused and broken connections.
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
        """The percentage of requests to the bank that failed through the bank's fault, to three decimals, or ``None``
        without requests.
        """
        return percent(self.bank_failures, self.bank_requests)

    def count_failure(self, blamed: Blamed) -> None:
        name = f"{blamed}_failures"
        setattr(self, name, getattr(self, name) + 1)

    def include(self, other: CallCounts) -> None:
        """Add the counts of another ``CallCounts``."""
        for name in COUNTED:
            setattr(self, name, getattr(self, name) + getattr(other, name))

    @classmethod
    def total(cls, tallies: Iterable[CallCounts]) -> CallCounts:
        total = cls()
        for tally in tallies:
            total.include(tally)
        return total

    def to_item(self) -> Item:
        """Return the non-zero counts."""
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
        """Add the latencies of another ``Latencies``."""
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


_counts_by_service = partial(defaultdict[Service, CallCounts], CallCounts)
TABLE = "statistics"
RETENTION_DAYS = 120  # counters are kept for so many days; until then a day can be computed again


@dataclass(slots=True)
class HourlyCounters:
    """The counts of a bank in one UTC hour (``hour`` is the Unix second at which it begins).

    Attributes:
        minutes: counts by minute of the hour and service.
        answered_in: by minute, a bit set of the seconds in which requests were sent that got a response.
        unanswered_at: by minute and second, the number of requests sent that got no response.
        latencies: latency histograms by service.
    """

    bic: str
    hour: int
    minutes: defaultdict[int, defaultdict[Service, CallCounts]] = field(
        default_factory=partial(defaultdict, _counts_by_service)
    )
    answered_in: defaultdict[int, int] = field(default_factory=partial(defaultdict, int))
    unanswered_at: defaultdict[int, Counter[int]] = field(default_factory=partial(defaultdict, Counter))
    latencies: defaultdict[Service, Latencies] = field(default_factory=partial(defaultdict, Latencies))

    def tally(self, at: int, service: Service) -> CallCounts:
        """Return the counts for the minute that contains a Unix second."""
        return self.minutes[at % HOUR_SECONDS // 60][service]

    def count_call(self, at: int, service: Service, milliseconds: float) -> None:
        """Count a TPP's request that began in the Unix second ``at``, with its duration in this service."""
        self.tally(at, service).calls += 1
        self.latencies[service].hub.add(milliseconds)

    def count_request(self, at: int, service: Service, outcome: Outcome, milliseconds: float | None = None) -> None:
        """Count a request to the bank, sent in the Unix second ``at``. Only successes have a duration."""
        tally, (minute, second) = self.tally(at, service), divmod(at % HOUR_SECONDS, 60)
        setattr(tally, outcome, getattr(tally, outcome) + 1)
        if outcome == "answered":
            self.answered_in[minute] |= 1 << second
        elif outcome == "unanswered":
            self.unanswered_at[minute][second] += 1
        if milliseconds is not None:
            self.latencies[service].bank.add(milliseconds)

    def include(self, other: HourlyCounters) -> None:
        """Add the counters of another process for the same hour."""
        for minute, tallies in other.minutes.items():
            for service, tally in tallies.items():
                self.minutes[minute][service].include(tally)
        for minute, bits in other.answered_in.items():
            self.answered_in[minute] |= bits
        for minute, seconds in other.unanswered_at.items():
            self.unanswered_at[minute].update(seconds)
        for service, latencies in other.latencies.items():
            self.latencies[service].include(latencies)

    def replies(self) -> Iterator[tuple[int, bool, int]]:
        """Return an entry for each Unix second, in order: whether a request got a response, and the number of requests
        that got none.
        """
        for minute in sorted(self.answered_in.keys() | self.unanswered_at.keys()):
            bits, missing = self.answered_in.get(minute, 0), self.unanswered_at.get(minute, Counter[int]())
            for second in range(60):
                if (was_answered := bool(bits >> second & 1)) or second in missing:
                    yield self.hour + 60 * minute + second, was_answered, missing[second]

    def to_item(self, counters_id: str) -> Item:
        """Return the counters as an item. Counts are one string, because nested maps take ten times as long to read."""
        counts = {
            "minutes": {
                str(minute): {service: tally.to_item() for service, tally in tallies.items()}
                for minute, tallies in self.minutes.items()
            },
            "answered_in": {str(minute): bits for minute, bits in self.answered_in.items()},
            "unanswered_at": {
                str(minute): {str(second): count for second, count in seconds.items()}
                for minute, seconds in self.unanswered_at.items()
            },
            "latencies": {service: latencies.to_item() for service, latencies in self.latencies.items()},
        }
        attribute, subject = counters_key(self.bic, self.hour)
        return {
            attribute: subject,
            "part": counters_id,
            "bic": self.bic,
            "hour": self.hour,
            "counts": jsontext.dumps(counts),
            "expires_at": self.hour + RETENTION_DAYS * DAY_SECONDS,
        }

    @classmethod
    def from_item(cls, item: Item) -> HourlyCounters:
        found, counts = cls(item["bic"], int(item["hour"])), jsontext.loads(item["counts"])
        for minute, tallies in counts["minutes"].items():
            found.minutes[int(minute)] |= {service: CallCounts.from_item(tally) for service, tally in tallies.items()}
        found.answered_in |= {int(minute): int(bits) for minute, bits in counts["answered_in"].items()}
        found.unanswered_at |= {
            int(minute): Counter({int(second): int(count) for second, count in seconds.items()})
            for minute, seconds in counts["unanswered_at"].items()
        }
        found.latencies |= {service: Latencies.from_item(each) for service, each in counts["latencies"].items()}
        return found


def counters_key(bic: str, hour: int) -> tuple[str, str]:
    """Return the partition key of a bank's hour: attribute name and value."""
    return "subject", f"calls#{bic}#{datetime.fromtimestamp(hour, UTC):%Y-%m-%dT%H}"
