"""What one instance has counted since it last wrote it down."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from chalicelib.statistics.call_counts import Blamed, CallCounts, Service
from chalicelib.statistics.current_call import CurrentCall
from chalicelib.statistics.days import HOUR_SECONDS
from chalicelib.statistics.hourly_counters import HourlyCounters

_MINUTE = 60
_CALLER_ERROR = 400
_OWN_ERROR = 500


@dataclass(frozen=True, slots=True)
class MinuteFigures:
    """The figures of a bank, a service and a minute, which begins at the Unix second ``at``; times in milliseconds."""

    bic: str
    service: Service
    at: int
    tally: CallCounts
    hub: list[float]
    bank: list[float]


@dataclass(slots=True)
class _Times:
    """Milliseconds, one for each thing that took so long."""

    hub: list[float] = field(default_factory=list)
    bank: list[float] = field(default_factory=list)


@dataclass(slots=True)
class CounterBuffer:
    """Counts by bank and hour, and every single time by bank, service and minute."""

    slips: dict[tuple[str, int], HourlyCounters] = field(default_factory=dict)
    _times: dict[tuple[str, Service, int], _Times] = field(default_factory=dict)

    def count(self, call: CurrentCall, seconds: float) -> None:
        """Count a request that took so many seconds in all, with those to banks that it led to.

        A failure is counted once, at the bank that was asked. An answer that made the request fail has no time: it is
        not what was asked for.
        """
        for number, exchange in enumerate(call.exchanges, 1):
            if exchange.outcome == "not_asked" and call.concern is None:  # a delivery waits, and no TPP for an answer
                continue
            slip = self._slip(exchange.bic, exchange.at)
            tally = slip.tally(exchange.at, exchange.service)
            setattr(tally, exchange.outcome, getattr(tally, exchange.outcome) + 1)
            if exchange.outcome == "answered":
                slip.record_answer(exchange.at)
                if number < len(call.exchanges) or call.fault is None:
                    slip.latency(exchange.service).bank.add(exchange.seconds * 1000)
                    self._times_of(exchange.bic, exchange.service, exchange.at).bank.append(exchange.seconds * 1000)
            elif exchange.outcome == "unanswered":
                slip.record_no_answer(exchange.at)
        if call.concern is not None:
            bic, service = call.concern
            own = max(seconds - call.bank_seconds, 0) * 1000
            slip = self._slip(bic, call.at)
            slip.tally(call.at, service).calls += 1
            slip.latency(service).hub.add(own)
            self._times_of(bic, service, call.at).hub.append(own)
        self._blame(call)

    def figures(self) -> Iterator[MinuteFigures]:
        """Everything that was counted, minute by minute."""
        for (bic, hour), slip in self.slips.items():
            for minute, tallies in slip.minutes.items():
                for service, tally in tallies.items():
                    at = hour + minute * _MINUTE
                    times = self._times.get((bic, service, at), _Times())
                    yield MinuteFigures(bic, service, at, tally, times.hub, times.bank)

    def _blame(self, call: CurrentCall) -> None:
        fault = call.fault or _fault_by_status(call.status)
        if fault is None or (call.exchanges and call.exchanges[-1].outcome == "not_asked"):
            return
        if call.exchanges:
            last = call.exchanges[-1]
            self._slip(last.bic, last.at).tally(last.at, last.service).count_failure(fault)
        elif call.concern is not None:
            bic, service = call.concern
            self._slip(bic, call.at).tally(call.at, service).count_failure(fault)

    def _slip(self, bic: str, at: int) -> HourlyCounters:
        hour = at - at % HOUR_SECONDS
        if (bic, hour) not in self.slips:
            self.slips[bic, hour] = HourlyCounters(bic, hour)
        return self.slips[bic, hour]

    def _times_of(self, bic: str, service: Service, at: int) -> _Times:
        return self._times.setdefault((bic, service, at - at % _MINUTE), _Times())


def _fault_by_status(status: int | None) -> Blamed | None:
    """Whose fault a failure is of which no bank had a part: this service's, or the caller's, who was refused."""
    if status is None or status < _CALLER_ERROR:
        return None
    return "caller" if status < _OWN_ERROR else "hub"
