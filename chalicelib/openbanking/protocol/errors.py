"""The error tables of both bank versions, and the faults that combine their codes (specification, Errors).

Flows raise a ``Refusal`` with a fault, which has the code and the HTTP status of each interface.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from enum import Enum
from typing import Annotated, Literal, NotRequired, TypedDict

from pydantic import Field

from chalicelib.foundation.clock import timestamp
from chalicelib.foundation.fields.problems import InvalidMessage, Problem, loggable_problems
from chalicelib.foundation.lazy_dataclasses import dataclass
from chalicelib.openbanking.protocol.fields import AN, Text, Timestamp, Uuid


@dataclass(frozen=True, slots=True)
class CodeRow:
    """A row of an error table: a code's HTTP status and meaning."""

    status: int
    meaning: str


VERSION_1: Mapping[int, CodeRow] = {
    4000: CodeRow(500, "Unknown error"),
    4001: CodeRow(400, "Wrong request content"),
    4002: CodeRow(500, "Internal server error"),
    4003: CodeRow(400, "Request body is not valid JSON"),
    4004: CodeRow(403, "Unknown bank"),
    4005: CodeRow(502, "Unreachable TPP"),
    4200: CodeRow(401, "Wrong credentials"),
    4201: CodeRow(401, "Authentication required"),
    4202: CodeRow(401, "Access token not found, or this API action does not exist"),
    4203: CodeRow(401, "SSL credentials not found (SSL_CLIENT_S_DN_Email, SSL_CLIENT_S_DN)"),
    4204: CodeRow(401, "Header X-Request-Id is not a valid UUID"),
    4205: CodeRow(409, "Consent is not unique (duplicate state)"),
    4300: CodeRow(400, "Parameter request_url missing"),
    4301: CodeRow(400, "Parameter request_url not correct"),
    4302: CodeRow(400, "Parameter scope missing"),
    4303: CodeRow(400, "Parameter scope not correct"),
    4305: CodeRow(400, "Parameter iban not correct"),
    4306: CodeRow(400, "Selected scope not valid for this request"),
    4307: CodeRow(400, "Account identifiers missing"),
}

VERSION_2: Mapping[str, CodeRow] = {
    "INTERNAL_SERVER_ERROR": CodeRow(500, "Internal error"),
    "PAYMENT_SCHEME_INVALID": CodeRow(400, "The payment scheme is invalid for the bank"),
    "ASPSP_UNKNOWN_ERROR": CodeRow(502, "The request to the bank failed"),
    "PARAMETER_NOT_CONSISTENT": CodeRow(400, "A path or query parameter is invalid"),
    "FORMAT_ERROR": CodeRow(400, "Wrong request content"),
    "HEADERS_ERROR": CodeRow(400, "A header is missing or invalid"),
    "SERVICE_BLOCKED": CodeRow(403, "Access denied"),
    "RESOURCE_UNKNOWN": CodeRow(404, "The resource is unknown"),
    "WRONG_CREDENTIALS": CodeRow(401, "Wrong credentials"),
    "AUTHENTICATION_REQUIRED": CodeRow(401, "Authentication required"),
    "API_ACTION_DOES_NOT_EXIST": CodeRow(401, "This API action does not exist"),
    "SSL_CREDENTIALS_NOT_FOUND": CodeRow(401, "The client certificate is missing or not accepted"),
    "REQUEST_ID_NOT_UUID": CodeRow(401, "Header X-Request-Id is not a UUID"),
    "ACCESS_EXCEEDED": CodeRow(
        429, "The client made too many calls, or read an account too often in a day without its PSU"
    ),
}
ADDED_CODES = frozenset({"ACCESS_EXCEEDED"})
"""Codes from the Berlin Group's NextGenPSD2 that this service adds to the version 2 codes. Only TPPs receive them."""

ADDITIONAL: Mapping[str, str] = {
    "ASPSP_ERROR_DESC": "The bank's own description of the error",
    "EXTRA_FIELDS_PROVIDED": "Unknown field in the content",
    "INVALID_DATE_FORMAT": "Invalid date",
    "INVALID_MODEL_TYPE": "A field is missing or has the wrong type",
    "INVALID_PAYMENT_ID_FORMAT": "Invalid payment id",
    "INVALID_PAYMENT_STATUS_FORMAT": "Invalid payment status",
    "AUTHORIZATION_REQUEST_URL_DOES_NOT_EXIST": "The request URL is missing",
    "AUTHORIZATION_REQUEST_URL_NOT_VALID": "The request URL is not valid",
    "AUTHORIZATION_SCOPE_DOES_NOT_EXIST": "The scopes are missing",
    "AUTHORIZATION_SCOPE_NOT_CORRECT": "The scopes are not correct",
    "AUTHORIZATION_IBAN_NOT_VALID": "An IBAN is not valid",
    "AUTHORIZATION_SELECTED_WRONG_SCOPE": "The approved scopes differ from the requested ones",
    "AUTHORIZATION_ACCOUNT_IDENTIFIERS_MISSING": "Account identifiers are missing",
    "AUTHORIZATION_TOKEN_NOT_VALID": "The access token is malformed",
}


class Fault(Enum):
    """All reasons for refusing a request. Each combines a code of version 1 with a code of version 2, as this project
    chose. A docstring names the cause in a bank's call; faults without one occur in TPPs' calls only.

    Attributes:
        v1, v2: the codes in version 1 and version 2.
        additional: the code of the additional error in version 2, if any.
        status: the HTTP status in version 2, and for TPPs.
    """

    INTERNAL = (4002, "INTERNAL_SERVER_ERROR")
    """Internal error in the hub."""
    UNKNOWN = (4000, "INTERNAL_SERVER_ERROR")
    """The hub's storage is unavailable."""
    CONTENT = (4001, "FORMAT_ERROR")
    """Body too large."""
    FIELD = (4001, "FORMAT_ERROR", "INVALID_MODEL_TYPE")
    """Missing or invalid member without a specific code."""
    DATE = (4001, "FORMAT_ERROR", "INVALID_DATE_FORMAT")
    """Date invalid or out of range."""
    PAYMENT_ID = (4001, "FORMAT_ERROR", "INVALID_PAYMENT_ID_FORMAT")
    """Unknown payment."""
    PAYMENT_STATUS = (4001, "FORMAT_ERROR", "INVALID_PAYMENT_STATUS_FORMAT")
    """Unknown payment status."""
    SCHEME = (4001, "PAYMENT_SCHEME_INVALID")
    NOT_JSON = (4003, "FORMAT_ERROR")
    """Not JSON, not UTF-8, or nested too deeply."""
    UNKNOWN_FIELD = (4001, "FORMAT_ERROR", "EXTRA_FIELDS_PROVIDED")
    """Unknown member."""
    HEADERS = (4001, "HEADERS_ERROR")
    """Wrong ``Content-Type``; a header that is not UTF-8; request id used with a different body."""
    STILL_RUNNING = (4001, "HEADERS_ERROR", None, 409)
    PARAMETER = (4001, "PARAMETER_NOT_CONSISTENT")
    OTHER_VERSION = (4004, "SERVICE_BLOCKED")
    """Bank registered for the other version."""
    TPP_GONE = (4005, "SERVICE_BLOCKED")
    """TPP removed or inactive."""
    FORBIDDEN = (4200, "SERVICE_BLOCKED")
    WRONG_CREDENTIALS = (4200, "WRONG_CREDENTIALS")
    """API key wrong."""
    WRONG_SIGNATURE = (4200, "HEADERS_ERROR")
    """Signature missing or invalid."""
    NOT_AUTHENTICATED = (4201, "AUTHENTICATION_REQUIRED")
    """API key missing."""
    NO_SUCH_ACTION = (4202, "API_ACTION_DOES_NOT_EXIST")
    """No such action."""
    UNKNOWN_TOKEN = (4202, "RESOURCE_UNKNOWN")
    """Unknown token."""
    MALFORMED_TOKEN = (4001, "FORMAT_ERROR", "AUTHORIZATION_TOKEN_NOT_VALID")
    """Malformed token."""
    UNKNOWN_RESOURCE = (4001, "RESOURCE_UNKNOWN")
    NO_CERTIFICATE = (4203, "SSL_CREDENTIALS_NOT_FOUND")
    """Certificate missing or wrong."""
    REQUEST_ID = (4204, "REQUEST_ID_NOT_UUID")
    """Request id missing or invalid."""
    DUPLICATE_STATE = (4205, "FORMAT_ERROR", "AUTHORIZATION_REQUEST_URL_NOT_VALID")
    """Second consent."""
    URL_MISSING = (4300, "FORMAT_ERROR", "AUTHORIZATION_REQUEST_URL_DOES_NOT_EXIST")
    """Authorization URL missing."""
    URL_NOT_VALID = (4301, "FORMAT_ERROR", "AUTHORIZATION_REQUEST_URL_NOT_VALID")
    """Authorization URL invalid."""
    SCOPES_MISSING = (4302, "FORMAT_ERROR", "AUTHORIZATION_SCOPE_DOES_NOT_EXIST")
    """Scopes missing."""
    SCOPES_NOT_CORRECT = (4303, "FORMAT_ERROR", "AUTHORIZATION_SCOPE_NOT_CORRECT")
    """Scopes invalid."""
    IBAN_NOT_VALID = (4305, "FORMAT_ERROR", "AUTHORIZATION_IBAN_NOT_VALID")
    """IBAN invalid."""
    WRONG_SCOPES = (4306, "FORMAT_ERROR", "AUTHORIZATION_SELECTED_WRONG_SCOPE")
    """Scopes differ from the request's."""
    ACCOUNTS_MISSING = (4307, "FORMAT_ERROR", "AUTHORIZATION_ACCOUNT_IDENTIFIERS_MISSING")
    """No account identifiers."""
    ACCESS_EXCEEDED = (4001, "ACCESS_EXCEEDED")
    BANK_FAILED = (4000, "ASPSP_UNKNOWN_ERROR", "ASPSP_ERROR_DESC")

    def __init__(self, v1: int, v2: str, additional: str | None = None, status: int | None = None) -> None:
        self.v1 = v1
        self.v2 = v2
        self.additional = additional
        self.status = status or VERSION_2[v2].status


OauthError = Literal[
    "invalid_client",
    "invalid_grant",
    "invalid_request",
    "invalid_scope",
    "unsupported_grant_type",
    "invalid_dpop_proof",
    "use_dpop_nonce",
    "server_error",
    "temporarily_unavailable",
]
"""The ``error`` values of token requests (RFC 6749 §4.1.2.1 and §5.2, RFC 9449 §5 and §8)."""
FrontDoorError = Literal[
    "unsupported_response_type", "request_not_supported", "request_uri_not_supported", "registration_not_supported"
]
"""Additional ``error`` values of authorization requests (RFC 6749 §4.1.2.1, OpenID Connect Core §3.1.2.6)."""
AnyOauthError = Literal[OauthError, FrontDoorError]
PaymentReason = Literal["outcome_unknown", "not_sent", "refused_by_bank", "bad_answer"]
"""The reason why a payment failed: the outcome is unknown, the payment was not sent, the bank refused it, or the bank's
response cannot be used, so that the outcome is unknown as well.
"""
UnifiedReason = Literal["not_at_this_bank", "page_repeated", "pages_empty", "pages_too_many", "page_key_too_long"]
"""The reason why a unified call failed: the bank's version cannot carry a member, or the bank's pages do not end."""
ReasonCode = Literal[PaymentReason, UnifiedReason]
Challenge = Literal["basic", "bearer", "invalid_token", "insufficient_scope", "invalid_dpop_proof", "use_dpop_nonce"]
"""The credential that a refusal requires: a client secret, or an access token, possibly with an error (RFC 6750 §3.1,
RFC 9449 §7).
"""


@dataclass(frozen=True, slots=True)
class Detail:
    """A single fault in a refused request, and the member or circumstance that caused it."""

    fault: Fault
    details: str


class Refusal(Exception):
    """A refused request.

    Attributes:
        fault: determines the code and the HTTP status.
        message: a sentence for the caller; never quotes a value from the request.
        details: the individual faults; in version 2 they become ``additionalErrors``.
        oauth_error: the RFC 6749 ``error`` at the token endpoints.
        retry_after: seconds after which a retry may succeed.
        challenge: the challenge in ``WWW-Authenticate``, if any.
        reason_code: why a payment or a unified call failed, for programs.
        bank_seconds: the bank's response time in seconds, if the bank was called.
        first: id and time (Unix seconds) of the request that was first refused; retries get the same values.
        problems: the problems with invalid fields that the log may contain.
    """

    problems: Sequence[Problem] | None = None

    def __init__(
        self,
        fault: Fault,
        message: str,
        details: Sequence[Detail] = (),
        *,
        oauth_error: OauthError | FrontDoorError | None = None,
        retry_after: int | None = None,
        challenge: Challenge | None = None,
        first: tuple[str, int] | None = None,
        reason_code: ReasonCode | None = None,
        bank_seconds: float | None = None,
    ) -> None:
        self.fault = fault
        self.message = message
        self.details = tuple(details)
        self.oauth_error = oauth_error
        self.retry_after = retry_after
        self.challenge = challenge
        self.first = first
        self.reason_code = reason_code
        self.bank_seconds = bank_seconds
        super().__init__(f"{fault.name}: {message}")

    @property
    def log_members(self) -> dict[str, object]:
        """The members of a log line about the error response. They quote neither the request nor a bank."""
        fields = [problem.field for problem in self.problems or ()]
        return {"code": self.fault.v2, "title": self._title, "fields": fields or None}

    @property
    def _title(self) -> str:
        """The message for the log. If fields are invalid, the message has only the problems that may be logged."""
        if self.problems is None:
            return self.message
        return "; ".join(map(str, self.problems)) or "the request has unknown fields"


def refuse_fields(
    error: InvalidMessage,
    special: Mapping[str, tuple[Fault, Fault]] | None = None,
    reason_code: ReasonCode | None = None,
) -> Refusal:
    """Return the refusal for a body that does not match its model.

    ``special`` maps members to the fault for a missing value and the fault for an invalid value.
    """
    details = [Detail(_fault_of(problem, special or {}), str(problem)) for problem in error.problems]
    refusal = _of_problems(details[0].fault, error, details)
    refusal.reason_code = reason_code
    return refusal


def refuse_parameters(error: InvalidMessage) -> Refusal:
    """Return the refusal for path or query parameters that do not match their model."""
    details = [Detail(_fault_of(problem, {}), str(problem)) for problem in error.problems]
    return _of_problems(Fault.PARAMETER, error, details)


def _of_problems(fault: Fault, error: InvalidMessage, details: Sequence[Detail]) -> Refusal:
    refusal = Refusal(fault, _sentence(error.problems), details)
    refusal.problems = loggable_problems(error.problems)
    return refusal


def _fault_of(problem: Problem, special: Mapping[str, tuple[Fault, Fault]]) -> Fault:
    if problem.kind == "unknown":
        return Fault.UNKNOWN_FIELD
    if problem.kind == "date":
        return Fault.DATE
    named = (special[part] for part in problem.field.split(".") if part in special)
    missing, wrong = next(named, (Fault.FIELD, Fault.FIELD))
    return missing if problem.kind == "missing" else wrong


def _sentence(problems: Iterable[Problem]) -> str:
    return ("; ".join(map(str, problems)))[:1000]


class ErrorV1(TypedDict):
    """The reason why a request was refused."""

    error_code: Annotated[int, Field(json_schema_extra={"enum": list(VERSION_1)})]
    """The error code. Example: ``4301``."""
    message: AN[4096]
    """A description of the error for people.
    Example: ``"Parameter request_url not correct: the request URL is unknown"``.
    """


class AdditionalError(TypedDict):
    """A single fault in the request."""

    code: Annotated[AN[255], Field(json_schema_extra={"enum": [*ADDITIONAL, *VERSION_2]})]
    """The error code. Example: ``"INVALID_MODEL_TYPE"``."""
    title: NotRequired[AN[1024]]
    """A description of the error for people; its wording may change. Example: ``"currency is required"``."""
    details: NotRequired[Text[1024]]
    """The location of the error, for people; its wording may change. Example: ``"currency is required"``."""


class Error(TypedDict):
    """The reason why a request was refused."""

    code: Annotated[AN[255], Field(json_schema_extra={"enum": list(VERSION_2)})]
    """The error code. Example: ``"FORMAT_ERROR"``."""
    title: AN[2048]
    """A description of the error for people; its wording may change."""
    timestamp: Timestamp
    """When the error occurred. Example: ``"2026-11-21T09:30:00+00:00"``."""
    requestId: Uuid
    """The request's X-Request-Id, or a generated one. Example: ``"fdfd4e95-a65f-44f4-8807-2ce2f6b89e89"``."""
    reason_code: NotRequired[ReasonCode]
    """Why a payment failed: ``outcome_unknown`` (the bank may have it), ``not_sent``, ``refused_by_bank``, or
    ``bad_answer`` (the bank's response cannot be used, and it may have the payment). Why a unified call failed:
    ``not_at_this_bank`` (a member that the bank's version cannot carry), or ``page_repeated``, ``pages_empty``,
    ``pages_too_many`` and ``page_key_too_long`` (the bank's pages do not end). Absent from other errors.
    Example if sent: ``"outcome_unknown"``.
    """
    additionalErrors: NotRequired[Annotated[list[AdditionalError], Field(min_length=1)]]
    """The individual errors, at most 50."""


class TokenError(Error):
    """The reason why a token request was refused, including the RFC 6749 members."""

    error: AnyOauthError
    """The RFC 6749 error code. Example: ``"invalid_grant"``."""
    error_description: AN[2048]
    """A description of the error for people. Example: ``"the authorization code has expired"``."""


def version_1_error(refusal: Refusal, _request_id: str, _now: int) -> tuple[int, ErrorV1]:
    """Return the HTTP status and the members of a version 1 error response."""
    code = refusal.fault.v1
    row = VERSION_1[code]
    return row.status, {"error_code": code, "message": f"{row.meaning}: {refusal.message}"}


def version_2_error(refusal: Refusal, request_id: str, now: int) -> tuple[int, Error]:
    """Return the HTTP status and the members of a version 2 error response. TPPs receive the same format."""
    fault = refusal.fault
    details = refusal.details or ((Detail(fault, refusal.message),) if fault.additional else ())
    body: Error = {"code": fault.v2, "title": refusal.message, "timestamp": timestamp(now), "requestId": request_id}
    if refusal.reason_code is not None:
        body["reason_code"] = refusal.reason_code
    if details:
        body["additionalErrors"] = [_additional(detail) for detail in details]
    return fault.status, body


def _additional(detail: Detail) -> AdditionalError:
    code = detail.fault.additional or detail.fault.v2
    title = ADDITIONAL[code] if code in ADDITIONAL else VERSION_2[code].meaning
    return {"code": code, "title": title, "details": detail.details}
