"""Measurements, which each instance counts in memory and writes once a minute.

At the end of a request, the counts are written if a write is due or if a bank that was down has responded. A failed
write does not fail the request, and a write delays the response only for a limited time. Counts that could not be
written are written later under the same ids. So no call is counted twice if a write succeeded but its response was
lost.
"""

from __future__ import annotations

import threading
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import field
from functools import partial
from typing import TYPE_CHECKING

from chalicelib.foundation import log
from chalicelib.foundation.clock import Clock
from chalicelib.foundation.context import measuring
from chalicelib.foundation.dynamodb.store import Put, Store
from chalicelib.foundation.identifiers import new_id
from chalicelib.foundation.lazy_dataclasses import dataclass
from chalicelib.foundation.metrics import Metrics
from chalicelib.statistics.call_counts import TABLE, CallCounts, HourlyCounters, Service
from chalicelib.statistics.client_activity import ClientActivity
from chalicelib.statistics.current_call import CurrentCall
from chalicelib.statistics.days import HOUR_SECONDS

if TYPE_CHECKING:  # loaded with the first call to a bank
    from chalicelib.statistics.downtimes import OpenDowntimes

_MINUTE = 60


@dataclass(slots=True)
class _Times:
    """Durations in milliseconds."""

    hub: list[float] = field(default_factory=list)
    bank: list[float] = field(default_factory=list)


@dataclass(slots=True)
class CounterBuffer:
    """Counts by bank and hour, and individual durations by bank, service and minute."""

    counters: dict[tuple[str, int], HourlyCounters] = field(default_factory=dict)
    _times: defaultdict[tuple[str, Service, int], _Times] = field(default_factory=partial(defaultdict, _Times))

    def count(self, call: CurrentCall, seconds: float) -> None:
        """Count a request with its total seconds and its requests to banks.

        A failure is counted once, for the bank that was called. Unsuccessful responses have no duration.
        """
        for number, exchange in enumerate(call.exchanges, 1):
            if exchange.outcome == "not_asked" and call.concern is None:  # a delivery waits, and no TPP for an answer
                continue
            succeeded = exchange.outcome == "answered" and (number < len(call.exchanges) or call.fault is None)
            milliseconds = exchange.seconds * 1000 if succeeded else None
            hourly = self._find_counters(exchange.bic, exchange.at)
            hourly.count_request(exchange.at, exchange.service, exchange.outcome, milliseconds)
            if milliseconds is not None:
                minute = exchange.at - exchange.at % _MINUTE
                self._times[exchange.bic, exchange.service, minute].bank.append(milliseconds)
        if call.concern is not None:
            bic, service = call.concern
            own = max(seconds - call.bank_seconds, 0) * 1000
            self._find_counters(bic, call.at).count_call(call.at, service, own)
            self._times[bic, service, call.at - call.at % _MINUTE].hub.append(own)
        self._blame(call)

    @property
    def hours(self) -> set[int]:
        """Return the counted hours, by their first Unix second."""
        return {hour for _, hour in self.counters}

    def figures(self) -> Iterator[tuple[str, Service, int, CallCounts, _Times]]:
        """Return all counts: bank, service, first Unix second of the minute, counts and durations."""
        for (bic, hour), hourly in self.counters.items():
            for minute, tallies in hourly.minutes.items():
                for service, tally in tallies.items():
                    at = hour + minute * _MINUTE
                    yield bic, service, at, tally, self._times.get((bic, service, at), _Times())

    def _blame(self, call: CurrentCall) -> None:
        fault = call.responsible
        if fault is None or (call.exchanges and call.exchanges[-1].outcome == "not_asked"):
            return
        if call.exchanges:
            last = call.exchanges[-1]
            self._find_counters(last.bic, last.at).tally(last.at, last.service).count_failure(fault)
        elif call.concern is not None:
            bic, service = call.concern
            self._find_counters(bic, call.at).tally(call.at, service).count_failure(fault)

    def _find_counters(self, bic: str, at: int) -> HourlyCounters:
        hour = at - at % HOUR_SECONDS
        return self.counters.setdefault((bic, hour), HourlyCounters(bic, hour))


REQUEST_SECONDS = 26
"""The maximum number of seconds for a request. API Gateway waits 29 seconds, and the rest is for recording the outcome
after an effect.
"""
WRITE_INTERVAL = 60
"""The minimum number of seconds between two writes of an instance."""
BATCH_SIZE = 100
"""The maximum number of counters in one transaction."""
WRITE_TIMEOUT = 2
"""The maximum number of seconds by which a write delays a response."""
ANSWER_TIMEOUT = 2.9
"""The number of seconds after a request's arrival beyond which a write does not delay the response. Authorizations are
answered within 3 seconds.
"""
MAX_UNWRITTEN = 1000
"""The maximum number of counters retained after failed writes. The oldest counters are dropped first."""


class Measurements:
    """Counts measurements. Thread-safe.

    Args:
        store: returns the store for the counters, on demand.
        clock: the clock for times and durations.
        metrics: receives the same figures as the store.
        not_before: the Unix second before which requests do not write.
        downtimes: returns the receiver of the open downtimes, which are read after each write of counters.
    """

    def __init__(
        self,
        store: Callable[[], Store],
        clock: Clock,
        metrics: Metrics,
        not_before: int = 0,
        downtimes: Callable[[], OpenDowntimes] | None = None,
    ) -> None:
        self._downtimes = downtimes
        self._store = store
        self._clock = clock
        self._metrics = metrics
        self._lock = threading.Lock()
        self._gathered = CounterBuffer()
        self._unwritten: dict[str, HourlyCounters] = {}
        self._unchecked: list[HourlyCounters] = []
        self.activity = ClientActivity(clock)
        self._not_before = not_before
        self._written_at = -WRITE_INTERVAL
        self._since = clock.time()
        self._hours: set[int] = set()

    def has_none(self, hour: int) -> bool:
        """Whether this process counted no calls in the hour that begins at ``hour`` (Unix seconds).

        False if the hour began before the process started to count.
        """
        with self._lock:
            return hour >= self._since and hour not in self._hours | self._gathered.hours

    @contextmanager
    def measure(self) -> Iterator[CurrentCall]:
        """Measure a request, give the request a deadline of ``REQUEST_SECONDS``, and write the counts if a write is
        due.
        """
        clock = self._clock
        call = CurrentCall(clock.time(), clock.monotonic())
        try:
            with measuring(call, clock.monotonic, call.started + REQUEST_SECONDS):
                yield call
        finally:
            self._count(call, self._clock.monotonic() - call.started)

    def _count(self, call: CurrentCall, seconds: float) -> None:
        """Count a request and write if a write is due. A failure to count or write does not fail the request."""
        try:
            if call.concern is not None or call.exchanges:
                with self._lock:
                    self._gathered.count(call, seconds)
            self.activity.count(call, seconds)
            if self._claim_write(at_once=call.ends_downtime):
                writing = threading.Thread(target=self.write, name="measurements", daemon=True)
                writing.start()
                writing.join(longest_delay(seconds))
        except Exception:
            log.exception("measurements failed")

    def write(self) -> None:
        """Write all unwritten counts, the clients' activity, and the resulting downtimes."""
        with self._lock:
            gathered, self._gathered = self._gathered, CounterBuffer()
            self._hours |= gathered.hours
            self._unwritten |= {new_id(): hourly for hourly in gathered.counters.values()}
            counters = list(self._unwritten.items())
        activity = self.activity.begin_write()
        try:
            for figures in gathered.figures():
                self._write_metrics(*figures)
            self._write_items(counters, list(activity.values()))
            self.activity.finish_write()
        except Exception:
            log.exception("measurements not written", counters=len(self._unwritten))
            self._drop_oldest()
            self.activity.abandon_write(activity)
        self._record_downtimes()

    def _claim_write(self, *, at_once: bool) -> bool:
        """Return whether this request performs the write. If it does, other requests pause their writes for a while.

        After the clock was set back, a write is due immediately.
        """
        now = self._clock.time()
        with self._lock:
            has_counts = bool(self._gathered.counters or self._unwritten or self._unchecked)
            is_due = now >= self._not_before and not 0 <= now - self._written_at < WRITE_INTERVAL
            if not (at_once or is_due) or not (has_counts or self.activity.has_changes):
                return False
            self._written_at = now
            return True

    def _write_metrics(self, bic: str, service: Service, at: int, tally: CallCounts, times: _Times) -> None:
        self._metrics.write(
            {name.title().replace("_", ""): count for name, count in tally.to_item().items()},
            {"HubTime": times.hub, "BankTime": times.bank},
            at=at,
            Bank=bic,
            Service=service,
        )

    def _write_items(self, counters: list[tuple[str, HourlyCounters]], activity: list[Put]) -> None:
        puts = [*(Put(TABLE, hourly.to_item(counters_id)) for counters_id, hourly in counters), *activity]
        for first in range(0, len(puts), BATCH_SIZE):
            self._store().transact(puts[first : first + BATCH_SIZE])
            self._note_written(counters[first : first + BATCH_SIZE])

    def _note_written(self, counters: list[tuple[str, HourlyCounters]]) -> None:
        with self._lock:
            for counters_id, hourly in counters:
                self._unwritten.pop(counters_id, None)
                self._unchecked.append(hourly)

    def _record_downtimes(self) -> None:
        """Open or end downtimes after a write. After a failure, the next write retries."""
        from chalicelib.statistics.downtimes import DowntimeRecorder

        with self._lock:
            unchecked, self._unchecked = self._unchecked, []
        try:
            if unchecked:
                downtimes = DowntimeRecorder(self._store(), self._clock).record(unchecked)
                if self._downtimes is not None:
                    self._downtimes().note(downtimes)
        except Exception:
            log.exception("downtimes not recorded", counters=len(unchecked))
            with self._lock:
                self._unchecked = (unchecked + self._unchecked)[-MAX_UNWRITTEN:]

    def _drop_oldest(self) -> None:
        with self._lock:
            too_old = list(self._unwritten)[:-MAX_UNWRITTEN]
            for counters_id in too_old:
                del self._unwritten[counters_id]
        if too_old:
            log.warning("measurements dropped", counters=len(too_old))


def longest_delay(seconds: float) -> float:
    """Return the number of seconds for which a write may delay a response. ``seconds`` is the time since the request
    arrived.
    """
    left = ANSWER_TIMEOUT - seconds
    return min(WRITE_TIMEOUT, left) if left > 0 else WRITE_TIMEOUT
