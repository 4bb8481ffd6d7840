"""Error responses. Only this module selects the error format for a route."""

from __future__ import annotations

from collections.abc import Mapping

from chalice.app import Response

from chalicelib.foundation import log
from chalicelib.foundation.clock import Clock
from chalicelib.foundation.dynamodb.store import StoreError
from chalicelib.foundation.http.web import API_KEY_CHALLENGE, Incoming, UnreadableBody, WrongMethod, json_answer
from chalicelib.openbanking.api.credentials import scheme_of
from chalicelib.openbanking.protocol import refusals
from chalicelib.openbanking.protocol.errors import AnyOauthError, Challenge, Fault, Refusal
from chalicelib.openbanking.protocol.oauth_security import ENDPOINTS, SIGNING_ALGORITHMS
from chalicelib.openbanking.protocol.version import BANK_ROOT
from chalicelib.openbanking.protocol.versions import errors_of
from chalicelib.openbanking.unified.calls import NEEDING_TOKEN
from chalicelib.statistics import current_call

_ALGORITHMS = f'algs="{" ".join(SIGNING_ALGORITHMS)}"'
_CHALLENGES: Mapping[Challenge, str] = {
    "basic": 'Basic realm="causeway"',
    "bearer": 'Bearer realm="causeway"',
    "invalid_token": 'Bearer realm="causeway", error="invalid_token"',
    "insufficient_scope": 'Bearer realm="causeway", error="insufficient_scope"',
    "invalid_dpop_proof": 'DPoP realm="causeway", error="invalid_dpop_proof"',
    "use_dpop_nonce": 'DPoP realm="causeway", error="use_dpop_nonce"',
}
"""``WWW-Authenticate`` values, from RFC 7617 for clients, and from RFC 6750 §3 and RFC 9449 §7.1 for access tokens."""
_TRIED: Mapping[str, Challenge] = {"basic": "basic", "bearer": "bearer", "dpop": "bearer"}
"""The default challenge of a refusal, by the authentication scheme of the request."""
_CONTENT = {
    "type": Fault.HEADERS,
    "json": Fault.NOT_JSON,
    "form": Fault.CONTENT,
    "size": Fault.CONTENT,
    "repeated": Fault.PARAMETER,
    "header": Fault.HEADERS,
    "address": Fault.PARAMETER,
}


def log_refusal(refusal: Refusal) -> None:
    """Log an error response."""
    log.info("error response", **refusal.log_members)


def refusal_answer(route: str, refusal: Refusal, request_id: str, now: int) -> Response:
    """Log a refusal and return its error response, in the format of ``route``'s interface."""
    current_call.record_code(refusal.fault.v2)
    log_refusal(refusal)
    return error_response(route, refusal, request_id, now)


def error_response(route: str, refusal: Refusal, request_id: str, now: int) -> Response:
    """Return the error response for a refusal, in the format of ``route``'s interface."""
    status, body = errors_of(route)(refusal, *(refusal.first or (request_id, now)))
    if route in ENDPOINTS.values():
        status = _oauth_status(status)
        body = {**body, "error": oauth_error(refusal), "error_description": refusal.message}
    return json_answer(body, status, _headers(refusal) | (_challenge(refusal, route) if status == 401 else {}))


def _oauth_status(status: int) -> int:
    """Return the HTTP status of an OAuth error (RFC 6749 §5.2).

    The status is 401 if the client is refused, 429 if its call limit is exceeded, and otherwise 400.
    """
    return status if status in (401, 429) or status >= 500 else 400


def oauth_error(refusal: Refusal) -> AnyOauthError:
    """Return the RFC 6749 §5.2 error code: the refusal's ``oauth_error``, or a code derived from its fault."""
    if refusal.oauth_error is not None:
        return refusal.oauth_error
    if refusal.fault in (Fault.NOT_AUTHENTICATED, Fault.WRONG_CREDENTIALS):
        return "invalid_client"
    return "server_error" if refusal.fault in (Fault.INTERNAL, Fault.UNKNOWN) else "invalid_request"


def as_refusal(error: Exception) -> Refusal:
    """Convert a view's exception into a refusal. Unexpected errors are logged, and their details are not sent to the
    caller.
    """
    if isinstance(error, Refusal):
        return error
    if isinstance(error, UnreadableBody):
        return Refusal(_CONTENT[error.kind], str(error))
    if isinstance(error, WrongMethod):
        return Refusal(Fault.NO_SUCH_ACTION, str(error))
    log.exception("failed")
    if isinstance(error, StoreError):
        return refusals.STORAGE_FAILED()
    return refusals.SERVICE_FAILED()


def failure_answer(clock: Clock, incoming: Incoming, error: Exception) -> Response:
    """Return the error response for a view's exception."""
    refusal = as_refusal(error)
    if refusal.challenge is None and not _is_of_bank(incoming.route):
        refusal.challenge = _TRIED.get(scheme_of(incoming))
    answer = refusal_answer(incoming.route, refusal, incoming.request_id, clock.time())
    if challenge := answer.headers.get("WWW-Authenticate"):
        answer.headers["WWW-Authenticate"] = _in_scheme(str(challenge), incoming)
    return answer


def _in_scheme(challenge: str, incoming: Incoming) -> str:
    """Return the challenge in the scheme of the request, which is DPoP for a caller that uses DPoP (RFC 9449 §7.1)."""
    if scheme_of(incoming) == "dpop":
        challenge = challenge.replace("Bearer ", "DPoP ", 1)
    return f"{challenge}, {_ALGORITHMS}" if challenge.startswith("DPoP ") else challenge


def _is_of_bank(route: str) -> bool:
    return route == BANK_ROOT or route.startswith(f"{BANK_ROOT}/")


def _challenge(refusal: Refusal, route: str) -> dict[str, str]:
    """Return the challenge for a 401 response (RFC 9110 §15.5.2). The refusal's challenge takes precedence over the
    route's challenge.
    """
    if refusal.challenge is None and _is_of_bank(route):
        return {"WWW-Authenticate": API_KEY_CHALLENGE}
    usual: Challenge = "bearer" if route in NEEDING_TOKEN else "basic"
    return {"WWW-Authenticate": _CHALLENGES[refusal.challenge or usual]}


def _headers(refusal: Refusal) -> dict[str, str]:
    headers = {}
    if refusal.challenge == "insufficient_scope":  # the only challenge of another status than 401 (RFC 6750 §3.1)
        headers["WWW-Authenticate"] = _CHALLENGES[refusal.challenge]
    if refusal.bank_seconds is not None:
        headers["Server-Timing"] = f"bank;dur={refusal.bank_seconds * 1000:.1f}"
    if refusal.retry_after is not None:
        headers["Retry-After"] = str(refusal.retry_after)
    return headers
