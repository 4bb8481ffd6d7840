"""What one instance has counted since it last wrote it down."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from chalicelib.statistics.current_call import CurrentCall
from chalicelib.statistics.slips import Slip
from chalicelib.statistics.tallies import Fault, Service, Tally

_MINUTE = 60
_HOUR = 3600
_CALLER_ERROR = 400
_OWN_ERROR = 500


@dataclass(frozen=True, slots=True)
class Figures:
    """The figures of a bank, a service and a minute, which begins at the Unix second ``at``; times in milliseconds."""

    bic: str
    service: Service
    at: int
    tally: Tally
    hub: list[float]
    bank: list[float]


@dataclass(slots=True)
class _Times:
    """Milliseconds, one for each thing that took so long."""

    hub: list[float] = field(default_factory=list)
    bank: list[float] = field(default_factory=list)


@dataclass(slots=True)
class Gathered:
    """Counts by bank and hour, and every single time by bank, service and minute."""

    slips: dict[tuple[str, int], Slip] = field(default_factory=dict)
    _times: dict[tuple[str, Service, int], _Times] = field(default_factory=dict)

    def count(self, call: CurrentCall, seconds: float) -> None:
        """Count a request that took so many seconds in all, with those to banks that it led to.

        A failure is counted once, at the bank that was asked. An answer that made the request fail has no time: it is
        not what was asked for.
        """
        for number, asked in enumerate(call.asked, 1):
            if asked.reply == "not_asked" and call.concern is None:  # a delivery waits, and no TPP for an answer
                continue
            slip = self._slip(asked.bic, asked.at)
            tally = slip.tally(asked.at, asked.service)
            setattr(tally, asked.reply, getattr(tally, asked.reply) + 1)
            if asked.reply == "answered":
                slip.answered(asked.at)
                if number < len(call.asked) or call.fault is None:
                    slip.latency(asked.service).bank.add(asked.seconds * 1000)
                    self._of(asked.bic, asked.service, asked.at).bank.append(asked.seconds * 1000)
            elif asked.reply == "unanswered":
                slip.unanswered(asked.at)
        if call.concern is not None:
            bic, service = call.concern
            own = max(seconds - call.bank_seconds, 0) * 1000
            slip = self._slip(bic, call.at)
            slip.tally(call.at, service).calls += 1
            slip.latency(service).hub.add(own)
            self._of(bic, service, call.at).hub.append(own)
        self._blame(call)

    def figures(self) -> Iterator[Figures]:
        """Everything that was counted, minute by minute."""
        for (bic, hour), slip in self.slips.items():
            for minute, tallies in slip.minutes.items():
                for service, tally in tallies.items():
                    at = hour + minute * _MINUTE
                    times = self._times.get((bic, service, at), _Times())
                    yield Figures(bic, service, at, tally, times.hub, times.bank)

    def _blame(self, call: CurrentCall) -> None:
        fault = call.fault or _fault_by_status(call.status)
        if fault is None or (call.asked and call.asked[-1].reply == "not_asked"):
            return
        if call.asked:
            last = call.asked[-1]
            self._slip(last.bic, last.at).tally(last.at, last.service).blame(fault)
        elif call.concern is not None:
            bic, service = call.concern
            self._slip(bic, call.at).tally(call.at, service).blame(fault)

    def _slip(self, bic: str, at: int) -> Slip:
        hour = at - at % _HOUR
        if (bic, hour) not in self.slips:
            self.slips[bic, hour] = Slip(bic, hour)
        return self.slips[bic, hour]

    def _of(self, bic: str, service: Service, at: int) -> _Times:
        return self._times.setdefault((bic, service, at - at % _MINUTE), _Times())


def _fault_by_status(status: int | None) -> Fault | None:
    """Whose fault a failure is of which no bank had a part: this service's, or the caller's, who was refused."""
    if status is None or status < _CALLER_ERROR:
        return None
    return "caller" if status < _OWN_ERROR else "hub"
