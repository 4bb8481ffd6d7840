"""The current request: its bank, its requests to banks, and the cause of its failure.

Inner code notes them for the measurement of the request; passed along as return values they would get lost when
something fails. Without a measurement, as in the operator's test of a bank, nothing is noted.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Literal

from chalicelib.statistics.call_counts import Blamed, Service

Outcome = Literal["answered", "unanswered", "not_asked"]
"""The outcome of a request to a bank, named as in ``CallCounts``."""


@dataclass(frozen=True, slots=True)
class BankRequest:
    """A request to a bank: its Unix second, its outcome, and its seconds."""

    bic: str
    service: Service
    at: int
    outcome: Outcome
    seconds: float


@dataclass(slots=True)
class CurrentCall:
    """The measurements of the current request.

    Attributes:
        at: the Unix second that it began in.
        started: the same by the monotonic clock, in seconds.
        concern: the bank and the service of a TPP's request, else ``None``.
        exchanges: its requests to banks.
        fault: whose fault a failure is; ``None`` without one, or if not known yet.
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
        """The seconds spent waiting for banks."""
        return sum(exchange.seconds for exchange in self.exchanges)


_current: ContextVar[CurrentCall | None] = ContextVar("current_call", default=None)


@contextmanager
def track_call(call: CurrentCall) -> Iterator[None]:
    """Make ``call`` the current one in this thread."""
    before = _current.set(call)
    try:
        yield
    finally:
        _current.reset(before)


def record_concern(bic: str, service: Service) -> None:
    """Record which bank and service a TPP's call concerns."""
    if (call := _current.get()) is not None:
        call.concern = (bic, service)


def clear_concern() -> None:
    """Record that the answer is a repeat, which was counted before."""
    if (call := _current.get()) is not None:
        call.concern = None


def record_bank_request(bic: str, service: Service, at: int, outcome: Outcome, seconds: float) -> None:
    if (call := _current.get()) is not None:
        call.exchanges.append(BankRequest(bic, service, at, outcome, seconds))


def record_failure(fault: Blamed) -> None:
    """Record the cause of a failure; the first one counts."""
    if (call := _current.get()) is not None and call.fault is None:
        call.fault = fault
