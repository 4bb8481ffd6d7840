"""A request to the hub, with its attempts and errors."""

from __future__ import annotations

import datetime
import uuid
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import quote

from causeway import _json, errors
from causeway._records import RecordError
from causeway._retries import LOST, REPEATED, SERVER_FAILED, Kind

if TYPE_CHECKING:
    from causeway._records import Record
    from causeway.tpp._call import Call
    from causeway.tpp._generated.psu import Psu

Day = datetime.date | str
Error = TypeVar("Error", bound=errors.ApiError)
STILL_RUNNING = 409
"""The status if the first payment request with an Idempotency-Key has no outcome yet."""
NOT_EXECUTED = frozenset({"not_sent", "refused_by_bank"})
"""The reason codes of payments that the bank has not received or has refused. With any other code, including future
codes, the bank may have the payment.
"""
PSU_MUST_RETURN = "must authorize again"
"""The text in the error title that means that the bank no longer accepts the consent."""


@dataclass(frozen=True, slots=True)
class Request:
    """A call with its arguments. All attempts at a request have the same ids and the same body."""

    call: Call
    kind: Kind
    path: str
    query: Mapping[str, str]
    body: str | None = field(repr=False)
    form: Mapping[str, str] = field(repr=False)
    headers: Mapping[str, str] = field(repr=False)

    @property
    def request_id(self) -> str:
        """The X-Request-Id of the request."""
        return self.headers["X-Request-Id"]

    @property
    def is_unattended(self) -> bool:
        """Return whether the request is a read without the PSU. A bank may limit such reads to four per day."""
        return self.call.psu and self.call.method == "GET" and "PSU-IP-Address" not in self.headers


def build_request(
    call: Call,
    *,
    kind: Kind = "read",
    path: Mapping[str, str] | None = None,
    query: Mapping[str, object] | None = None,
    body: Record | Mapping[str, Any] | None = None,
    form: Mapping[str, str | None] | None = None,
    psu: Psu | None = None,
    prefer_async: bool = False,
    request_id: str | None = None,
    idempotency_key: str | None = None,
) -> Request:
    """Build a request. ``None`` arguments are omitted. Raises ``ConfigurationError`` if the body cannot be represented
    exactly in JSON.
    """
    headers = {"X-Request-Id": str(uuid.uuid4()) if request_id is None else request_id, "Accept": "application/json"}
    if psu is not None:
        headers |= psu_headers(psu)
    if prefer_async:
        headers["Prefer"] = "respond-async"
    if call.idempotency_key:
        headers["Idempotency-Key"] = str(uuid.uuid4()) if idempotency_key is None else idempotency_key
    if body is not None:
        headers["Content-Type"] = "application/json"
    for name, value in headers.items():
        if not (value.isascii() and value.isprintable() and value.strip()):
            raise errors.ConfigurationError(f"{name} must be printable ASCII, not {value!r}")
    return Request(
        call,
        kind,
        call.path.format(**{name: quote(value, safe="") for name, value in (path or {}).items()}),
        {name: str(value) for name, value in _without_none(query or {}).items()},
        None if body is None else body_text(body),
        _without_none(form or {}),
        headers,
    )


def _without_none(arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Return the arguments that are not ``None``."""
    return {name: value for name, value in arguments.items() if value is not None}


def psu_headers(psu: Psu) -> dict[str, str]:
    """Return the headers about the PSU's request."""
    from causeway.tpp._generated.psu import HEADERS

    return _without_none({header: getattr(psu, name) for name, header in HEADERS.items()})


def body_text(body: Record | Mapping[str, Any]) -> str:
    """Serialise a body to JSON. Raises ``ConfigurationError`` for a float, ``NaN``, or an unpaired surrogate."""
    try:
        members = _without_none(body) if isinstance(body, Mapping) else body.to_json()
        text = _json.dumps(members)
        text.encode()
        return text
    except (TypeError, ValueError) as error:
        raise errors.ConfigurationError(f"{type(body).__name__}: {error}") from error


@dataclass(frozen=True, slots=True)
class Attempt:
    """The result of one attempt."""

    outcome: int | str
    """The HTTP status, or ``not_sent`` or ``lost``."""
    data: Any = field(default=None, repr=False)
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    retry_after: float | None = None
    reason: str = ""
    """The reason why the attempt got no usable response."""

    @property
    def succeeded(self) -> bool:
        """Return whether the hub executed the request."""
        return isinstance(self.outcome, int) and 200 <= self.outcome < 300

    @property
    def is_lost(self) -> bool:
        """Return whether the hub may have executed the request, although no response confirms it."""
        return self.outcome == LOST or (self.server_failed and self.member("reason_code") not in NOT_EXECUTED)

    @property
    def server_failed(self) -> bool:
        """Return whether the hub, or a proxy in front of the hub, has failed."""
        return isinstance(self.outcome, int) and self.outcome >= 500

    def member(self, name: str) -> str:
        """Return a string member of the response body. Return an empty text if the member is missing."""
        value = self.data.get(name) if isinstance(self.data, dict) else None
        return value if isinstance(value, str) else ""

    @property
    def is_failed_bank(self) -> bool:
        """Return whether the bank failed and the hub specifies no time for a retry."""
        return self.outcome == 502 and self.member("code") != "" and self.retry_after is None

    def may_be_repeated(self, kind: Kind) -> bool:
        """Return whether the same request may be sent again, because it may get a different response."""
        if (SERVER_FAILED if self.server_failed else self.outcome) not in REPEATED[kind]:
            return False
        return not (self.member("reason_code") or PSU_MUST_RETURN in self.member("title"))


def read_answer(request: Request, attempt: Attempt, version: int | None = None) -> Any:
    """Create the record of a response. Raises an error if the response does not match the API document."""
    try:
        return request.call.read(attempt.data, version)
    except RecordError as error:
        raise error_of(request, replace(attempt, reason=str(error)), lost=True) from error


def error_of(request: Request, attempt: Attempt, *, lost: bool) -> errors.CausewayError:
    """Return the error for the last attempt at a request. ``lost`` means that the hub may have executed an earlier
    attempt.
    """
    if request.kind == "payment" and payment_is_unknown(attempt, lost=lost):
        return unknown_outcome(request, attempt)
    if isinstance(attempt.outcome, str):
        return connection_error(request, attempt)
    if attempt.succeeded or 300 <= attempt.outcome < 400:
        return errors.UnexpectedAnswer(
            f"{request.call.operation}: {attempt.outcome}, but {attempt.reason or 'no answer of the hub'}",
            status=attempt.outcome,
            request_id=request.request_id,
        )
    return api_error(error_class(request.kind, attempt), request, attempt)


def payment_is_unknown(attempt: Attempt, *, lost: bool) -> bool:
    """Return whether the bank may have a payment, although the TPP has no usable response.

    After a lost response, 401 and 403 are inconclusive, because the hub checks the access token before the
    Idempotency-Key. A response without an error code of the hub comes from a proxy, and is also inconclusive.
    """
    if attempt.succeeded or attempt.is_lost or attempt.outcome == STILL_RUNNING:
        return True
    return lost and (attempt.outcome in (401, 403, 429) or not attempt.member("code"))


def unknown_outcome(request: Request, attempt: Attempt) -> errors.OutcomeUnknown:
    """Return the error for a payment with an unknown outcome. The error has all data needed to query the outcome."""
    error = api_error(errors.OutcomeUnknown, request, attempt)
    error.order_id = request.request_id
    error.idempotency_key = request.headers["Idempotency-Key"]
    return error


def connection_error(request: Request, attempt: Attempt) -> errors.CausewayError:
    """Return the error for a request that got no response."""
    message = f"{request.call.operation}: {attempt.reason} (request {request.request_id})"
    if request.kind == "code" and attempt.outcome == LOST:
        return errors.ConnectionLost(message, advice="Ask the PSU to authorize again: the code may be used up.")
    if request.kind == "once" and attempt.outcome == LOST:
        return errors.ConnectionLost(message, advice="Repeat the call with a new state: the hub may know the old one.")
    return errors.ConnectionLost(message)


def error_class(kind: Kind, attempt: Attempt) -> type[errors.ApiError]:
    """Return the error class for a refusal or a failure."""
    if PSU_MUST_RETURN in attempt.member("title") or attempt.member("error") == "invalid_grant":
        return errors.AuthorizationEnded
    if attempt.outcome == 401 and attempt.member("code") == "AUTHENTICATION_REQUIRED" and not proof_refused(attempt):
        return errors.AuthorizationEnded
    if attempt.outcome == 429:
        return errors.RateLimited
    if attempt.server_failed and attempt.outcome != 500 and attempt.member("reason_code") != "refused_by_bank":
        return errors.BankUnavailable
    return errors.ApiError


def is_temporary(error: errors.CausewayError) -> bool:
    """Return whether a failure of the network, a bank, the hub or a proxy may end without action by the application."""
    return not isinstance(error, errors.ApiError) or error.status >= 500 or error.status == 429


def proof_refused(attempt: Attempt) -> bool:
    """Return whether the hub refused the DPoP proof and not the token."""
    return "dpop" in challenge_of(attempt).partition("error=")[2].lower()


def challenge_of(attempt: Attempt) -> str:
    """Return the authentication challenge of a refusal. Behind API Gateway, the header has a different name."""
    headers = attempt.headers
    return headers.get("www-authenticate") or headers.get("x-amzn-remapped-www-authenticate", "")


def nonce_demanded(attempt: Attempt) -> bool:
    """Return whether the hub requires a proof with the nonce in this response (RFC 9449 section 8)."""
    return (
        attempt.member("error") == "use_dpop_nonce"
        or "use_dpop_nonce" in challenge_of(attempt)
        or (attempt.outcome == 400 and "DPoP-Nonce" in attempt.member("title"))
    )


def api_error(kind: type[Error], request: Request, attempt: Attempt) -> Error:
    """Create an error with all members of the hub's response."""
    data = attempt.data if isinstance(attempt.data, dict) else {}
    additional = data.get("additionalErrors")
    return kind(
        attempt.outcome if isinstance(attempt.outcome, int) else 0,
        attempt.member("code"),
        attempt.member("title") or attempt.reason or "no answer of the hub",
        request_id=attempt.member("requestId") or attempt.headers.get("x-request-id", "") or request.request_id,
        reason_code=attempt.member("reason_code"),
        error=attempt.member("error"),
        additional=[item for item in additional if isinstance(item, dict)] if isinstance(additional, list) else (),
        retry_after=attempt.retry_after,
    )
