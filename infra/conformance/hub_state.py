"""The state of the kit's hub: the bank's calls, authorization requests and status reports."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from chalicelib.openbanking.protocol.bank_calls import BankCall
from chalicelib.openbanking.protocol.errors import Refusal
from chalicelib.openbanking.records.authorization_requests import AuthorizationRequest
from infra.conformance.caller import HIDDEN_HEADERS, shorten
from infra.conformance.evidence import Evidence


@dataclass(frozen=True, slots=True)
class HttpAnswer:
    """A response of the kit's server."""

    status: int
    content_type: str
    body: str
    location: str = ""


@dataclass(frozen=True, slots=True)
class ReceivedCall:
    """A call from the bank.

    Attributes:
        call: the row of ``BANK_CALLS``; ``None`` if the version has no such action.
        members: the parsed body; ``None`` if the body is not a JSON object.
        request: the validated request; ``None`` if the request is invalid.
        field_problem: the reason why the request is invalid.
        refusal: the reason for the kit's refusal; ``None`` after a success.
    """

    path: str
    call: BankCall | None
    headers: Mapping[str, str]
    body: bytes
    members: Any
    request: Any
    field_problem: str
    refusal: Refusal | None
    status: int
    answer: str
    at: float

    @property
    def name(self) -> str:
        return self.call.name if self.call else ""

    @property
    def evidence(self) -> Evidence:
        """Return the exchange: the bank's call as ``received``, and the kit's response as ``sent``."""
        lines = [f"{name}: {'***' if name in HIDDEN_HEADERS else value}" for name, value in self.headers.items()]
        text = shorten(self.body.decode("utf-8", "replace"))
        return Evidence(
            f"{self.status}\n\n{self.answer}", "\n".join([f"POST {self.path}", *lines, "", text]), by_bank=True
        )


@dataclass(slots=True)
class Authorization:
    """An authorization request and its outcome.

    Attributes:
        initiated, saved: the bank's calls in chronological order.
        cancelled: the query of the cancel URL that the PSU's browser opened; ``None`` if the browser did not open it.
        callback_url: the URL in the kit's response to ``consent``; empty before this response.
        arrivals: the queries of the callback URLs that the PSU's browser opened.
    """

    request: AuthorizationRequest
    cancel_secret: str
    initiated: list[ReceivedCall] = field(default_factory=list)
    saved: list[ReceivedCall] = field(default_factory=list)
    cancelled: Mapping[str, str] | None = None
    callback_url: str = ""
    token: str = ""
    valid_until: int = 0
    arrivals: list[Mapping[str, str]] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class StatusReport:
    """A status that the bank has reported for a payment, in the version's format."""

    status: Any
    received: ReceivedCall
