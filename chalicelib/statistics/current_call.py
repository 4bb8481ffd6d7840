"""The request under way: which bank it concerns, what banks were asked for it, and whose fault it is if it fails.

It is noted where it is known, far inside, for whoever began to measure it: passed along from one to the other it would
get lost just when something fails. What nobody measures notes nothing: the operator's test of a bank, for example.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Literal

from chalicelib.statistics.call_counts import Blamed, Service

Outcome = Literal["answered", "unanswered", "not_asked"]
"""What became of a request to a bank, named as in ``CallCounts``."""


@dataclass(frozen=True, slots=True)
class BankRequest:
    """A request to a bank: the Unix second it was sent in, what became of it, and for how many seconds it took."""

    bic: str
    service: Service
    at: int
    outcome: Outcome
    seconds: float


@dataclass(slots=True)
class CurrentCall:
    """What is known of a request so far.

    Attributes:
        at: the Unix second that it began in.
        started: the same by the monotonic clock, in seconds.
        concern: the bank, and the service, that a TPP wants something of; ``None`` for what is not a TPP's.
        exchanges: the requests to banks that it led to.
        fault: whose fault it is that it fails; ``None`` when it does not, or it is not known yet.
        status: the HTTP status of its answer; ``None`` for what is not answered.
    """

    at: int
    started: float
    concern: tuple[str, Service] | None = None
    exchanges: list[BankRequest] = field(default_factory=list)
    fault: Blamed | None = None
    status: int | None = None

    @property
    def bank_seconds(self) -> float:
        """For how long it waited for banks."""
        return sum(exchange.seconds for exchange in self.exchanges)


_current: ContextVar[CurrentCall | None] = ContextVar("current_call", default=None)


@contextmanager
def track_call(call: CurrentCall) -> Iterator[None]:
    """Has what is noted inside, in this thread, be of ``call``."""
    before = _current.set(call)
    try:
        yield
    finally:
        _current.reset(before)


def record_concern(bic: str, service: Service) -> None:
    """Note that a TPP wants something of a bank."""
    if (call := _current.get()) is not None:
        call.concern = (bic, service)


def clear_concern() -> None:
    """Note that a TPP is told again what it was told before: that was counted then."""
    if (call := _current.get()) is not None:
        call.concern = None


def record_bank_request(bic: str, service: Service, at: int, outcome: Outcome, seconds: float) -> None:
    if (call := _current.get()) is not None:
        call.exchanges.append(BankRequest(bic, service, at, outcome, seconds))


def record_failure(fault: Blamed) -> None:
    """Note whose fault a failure is; of several that a request meets, the first counts."""
    if (call := _current.get()) is not None and call.fault is None:
        call.fault = fault
