"""The current request: its bank, its requests to banks, and the cause of its failure.

Called functions record this data for the measurement of the request, because their return values would be lost on
failure. Without a measurement, for example in the operator's test of a bank, no data is recorded.
"""

from __future__ import annotations

from dataclasses import field

from chalicelib.foundation.context import current
from chalicelib.foundation.lazy_dataclasses import dataclass
from chalicelib.statistics.call_counts import Blamed, Outcome, Service

_CALLER_ERROR = 400
_OWN_ERROR = 500


@dataclass(frozen=True, slots=True)
class BankRequest:
    """A request to a bank: Unix second, outcome, and duration in seconds."""

    bic: str
    service: Service
    at: int
    outcome: Outcome
    seconds: float


@dataclass(slots=True)
class CurrentCall:
    """The measurements of the current request.

    Attributes:
        at: the Unix second in which the request began.
        started: the start time in seconds of the monotonic clock.
        concern: the bank and service of a TPP's request, otherwise ``None``.
        exchanges: the request's requests to banks.
        fault: the party responsible for a failure, ``None`` if there is no failure or the party is not known yet.
        status: the HTTP status of the response, ``None`` if there is no response.
        method, route, request_id: the method, route and id of the request. The route is the template of its path.
        client_id: the client that a TPP's request named, if this client exists.
        code: the error code of a refusal.
        ends_downtime: whether a bank that was known to be down has responded.
        bank_seconds: the time spent waiting for banks.
    """

    at: int
    started: float
    concern: tuple[str, Service] | None = None
    exchanges: list[BankRequest] = field(default_factory=list)
    fault: Blamed | None = None
    status: int | None = None
    method: str = ""
    route: str = ""
    request_id: str = ""
    client_id: str | None = None
    code: str | None = None
    ends_downtime: bool = False
    bank_seconds: float = 0

    @property
    def responsible(self) -> Blamed | None:
        """Return the party responsible for a failure: the recorded party, or the caller (4xx) or this service (5xx)."""
        if self.fault is not None or self.status is None or self.status < _CALLER_ERROR:
            return self.fault
        return "caller" if self.status < _OWN_ERROR else "hub"


def record_client(client_id: str) -> None:
    """Record the client that a request names, before the client is authenticated."""
    if (call := current().measured) is not None:
        call.client_id = client_id


def record_code(code: str) -> None:
    """Record the error code of a refusal."""
    if (call := current().measured) is not None:
        call.code = code


def record_concern(bic: str, service: Service) -> None:
    """Record the bank and service that a TPP's request concerns."""
    if (call := current().measured) is not None:
        call.concern = (bic, service)


def clear_concern() -> None:
    """Exclude a duplicate request's response from the counts, because the first response was already counted."""
    if (call := current().measured) is not None:
        call.concern = None


def record_bank_request(bic: str, service: Service, at: int, outcome: Outcome, seconds: float) -> None:
    if (call := current().measured) is not None:
        call.exchanges.append(BankRequest(bic, service, at, outcome, seconds))
        call.bank_seconds += seconds


def record_failure(fault: Blamed) -> None:
    """Record the cause of a failure. Only the first cause is recorded."""
    if (call := current().measured) is not None and call.fault is None:
        call.fault = fault


def record_end_of_downtime() -> None:
    """Record that a bank that was down has responded, so that the counters are written immediately."""
    if (call := current().measured) is not None:
        call.ends_downtime = True
