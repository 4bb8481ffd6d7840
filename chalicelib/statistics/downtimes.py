"""Open downtimes: the banks that are currently down, recorded when an instance writes its counters.

A bank is down from the fifth consecutive request without a response until the next response, otherwise until midnight
UTC (see ``downtime_spans``). One partition has a row for each bank that is or recently was down, so that reading all
rows takes one query.

All instances together send a bank that is down at most one probe every ``PROBE_SECONDS``. A row for each bank records
the time of the latest probe and whether the bank responded. Before an instance sends a probe, it writes the row, on
condition that the previous probe is old enough.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial

from chalicelib.foundation.clock import CLOCK_SKEW_SECONDS, Clock
from chalicelib.foundation.dynamodb.conditions import Attr
from chalicelib.foundation.dynamodb.store import Item, Put, Store, absent
from chalicelib.foundation.identifiers import new_id
from chalicelib.foundation.lazy_dataclasses import dataclass
from chalicelib.foundation.requests.engine import Engine, if_permitted
from chalicelib.statistics.call_counts import TABLE, HourlyCounters
from chalicelib.statistics.days import DAY_SECONDS, midnight_after
from chalicelib.statistics.hourly_counters import CONSECUTIVE, HourlyCounterReader, StoredCounters, latest_series

PARTITION = ("subject", "downtime")
CACHED_SECONDS = 60
PROBE_SECONDS = 30
"""The minimum number of seconds between two probes of a bank. A probe never takes longer."""
_ROUNDS = 4


@dataclass(frozen=True, slots=True)
class Downtime:
    """Whether a bank's downtime is open.

    Attributes:
        latest: the Unix second of the bank's latest known request.
        computed_at: the Unix second at which the counters were read.
        ends_at: the midnight at which an open downtime ends automatically.
    """

    bic: str
    is_open: bool
    latest: int
    computed_at: int
    ends_at: int

    def is_open_at(self, now: int) -> bool:
        return self.is_open and self.latest <= now + CLOCK_SKEW_SECONDS and now < self.ends_at

    def to_item(self) -> Item:
        attribute, subject = PARTITION
        return {
            attribute: subject,
            "part": self.bic,
            "is_open": self.is_open,
            "latest": self.latest,
            "computed_at": self.computed_at,
            "expires_at": self.ends_at,
        }

    @classmethod
    def from_item(cls, item: Item) -> Downtime:
        return cls(item["part"], item["is_open"], item["latest"], item["computed_at"], item["expires_at"])


class OpenDowntimes:
    """The banks that are down. The data can be outdated by a minute and the interval at which instances write their
    counters.
    """

    def __init__(self, store: Store, clock: Clock) -> None:
        self._store = store
        self._clock = clock
        self._read_at = 0
        self._known: Mapping[str, Downtime] = {}

    def bics(self) -> frozenset[str]:
        """Return the BICs of the banks that are down now. Read the downtimes if the last read is over a minute old.
        Raises: StoreError.
        """
        now = self._clock.time()
        if not self._read_at or not 0 <= now - self._read_at < CACHED_SECONDS:
            self.note(Downtime.from_item(item) for item in self._store.rows(TABLE, PARTITION))
        return frozenset(bic for bic, downtime in self._known.items() if downtime.is_open_at(now))

    def find(self, bic: str) -> Downtime | None:
        """Return the open downtime of a bank as of the last read, or ``None`` if the bank is not known to be down."""
        downtime = self._known.get(bic)
        return downtime if downtime is not None and downtime.is_open_at(self._clock.time()) else None

    def note(self, downtimes: Iterable[Downtime]) -> None:
        """Replace the known downtimes with the rows just read."""
        self._known = {downtime.bic: downtime for downtime in downtimes}
        self._read_at = self._clock.time()

    def forget(self, bic: str) -> None:
        """Remove a bank's downtime, because the bank has responded."""
        self._known = {each: downtime for each, downtime in self._known.items() if each != bic}


class DowntimeRecorder:
    """Opens and ends downtimes after counters were written.

    A bank's state is computed from the stored counters of all instances, and computed again after the state was
    written. So counters that were written in between are included, either by this instance or by an instance that has
    read the new state.
    """

    def __init__(self, store: Store, clock: Clock) -> None:
        self._store = store
        self._clock = clock

    def record(self, written: Iterable[HourlyCounters]) -> Sequence[Downtime]:
        """Record the downtimes that may have begun or ended with ``written``. Return all rows. Raises: StoreError."""
        by_bank: dict[str, list[HourlyCounters]] = {}
        for hourly in written:
            by_bank.setdefault(hourly.bic, []).append(hourly)
        known = {item["part"]: Downtime.from_item(item) for item in self._store.rows(TABLE, PARTITION)}
        for bic, counters in by_bank.items():
            if self._may_change(known.get(bic), counters):
                self._record_bank(bic, known)
        return list(known.values())

    def _may_change(self, known: Downtime | None, counters: Sequence[HourlyCounters]) -> bool:
        if known and known.is_open_at(self._clock.time()):
            return any(hourly.answered_in for hourly in counters)
        return latest_series(counters).unanswered > 0

    def _record_bank(self, bic: str, known: dict[str, Downtime]) -> None:
        """Record a bank's state if it has changed. Then update ``known`` with the stored state."""
        for _ in range(_ROUNDS):
            now = self._clock.time()
            computed = self._compute(bic)
            if computed.is_open_at(now) == (bic in known and known[bic].is_open_at(now)):
                return
            known[bic] = self.put_computed(computed)

    def _compute(self, bic: str) -> Downtime:
        now = self._clock.time()
        counters = HourlyCounterReader(partial(StoredCounters(self._store).of_hour, bic)).read_latest(now)
        latest = latest_series(counters)
        is_open = latest.unanswered >= CONSECUTIVE
        return Downtime(bic, is_open, latest.second, now, midnight_after(latest.second))

    def put_computed(self, computed: Downtime) -> Downtime:
        """Store a state unless a newer state is stored. Return the stored state.

        A stored state in the future is not newer, because the clock that wrote it was wrong.
        """
        latest = Attr("latest")
        same = latest.eq(computed.latest) & Attr("computed_at").lte(computed.computed_at)
        older = latest.lt(computed.latest) | latest.gt(self._clock.time() + CLOCK_SKEW_SECONDS)
        put = Put(TABLE, computed.to_item(), absent("subject") | older | same)
        decide = if_permitted([put], computed, lambda facts: Downtime.from_item(facts.item_of(put)))
        return Engine(self._store).carry_out(decide)


@dataclass(frozen=True, slots=True)
class Probe:
    """The latest probe of a bank: the time at which it was sent (Unix seconds, real time), and whether the bank has
    responded.
    """

    bic: str
    probe_id: str
    sent_at: int
    answered: bool = False

    def to_item(self) -> Item:
        return {
            "subject": "probe",
            "part": self.bic,
            "probe_id": self.probe_id,
            "sent_at": self.sent_at,
            "answered": self.answered,
            "expires_at": self.sent_at + DAY_SECONDS,
        }

    @classmethod
    def from_item(cls, item: Item) -> Probe:
        return cls(item["part"], item["probe_id"], int(item["sent_at"]), item["answered"])

    def pause_at(self, now: int) -> int:
        """Return the seconds from ``now`` until the next probe may be sent, or 0 if the clock has been set back since
        this probe.
        """
        if self.sent_at > now + CLOCK_SKEW_SECONDS:
            return 0
        return max(0, min(self.sent_at, now) + PROBE_SECONDS - now)


def claim_probe(store: Store, clock: Clock, bic: str, over: Probe | None = None) -> tuple[Probe, bool]:
    """Claim the next probe of a bank. ``clock`` is the real clock.

    Returns the stored probe, and whether the caller claimed it.

    A stored probe with a future time is ignored, because it was sent by an instance whose clock is ahead. The probe
    ``over`` is also ignored, because the caller has already waited for the pause after this probe. Its stored time is
    not compared, because the caller's clock may have been set back.

    Raises: StoreError.
    """
    now = clock.time()
    probe = Probe(bic, new_id(), now)
    sent_at = Attr("sent_at")
    is_due = sent_at.lte(now - PROBE_SECONDS) | sent_at.gt(now + CLOCK_SKEW_SECONDS)
    if over is not None:
        is_due |= Attr("probe_id").eq(over.probe_id)
    put = Put(TABLE, probe.to_item(), absent("subject") | is_due)
    decide = if_permitted([put], (probe, True), lambda facts: (Probe.from_item(facts.item_of(put)), False))
    return Engine(store).carry_out(decide)


def record_answer(store: Store, probe: Probe) -> None:
    """Record that the bank responded to a probe, unless another probe was sent since. Raises: StoreError."""
    put = Put(TABLE, replace(probe, answered=True).to_item(), Attr("probe_id").eq(probe.probe_id))
    Engine(store).carry_out(if_permitted([put], None, lambda _: None))
