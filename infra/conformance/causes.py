"""Explains why a step failed, and identifies the check that fails for the same reason."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from chalicelib.openbanking.protocol.errors import Fault
from infra.conformance.hub import content_type
from infra.conformance.hub_state import Authorization, ReceivedCall

_BY_FAULT: Mapping[Fault, str] = {
    Fault.NOT_AUTHENTICATED: "bank-{call}.key",
    Fault.WRONG_CREDENTIALS: "bank-{call}.key",
    Fault.REQUEST_ID: "bank-{call}.request-id",
    Fault.WRONG_SIGNATURE: "bank-{call}.signature",
    Fault.SCOPES_NOT_CORRECT: "consent.scopes",
    Fault.WRONG_SCOPES: "consent.scopes",
    Fault.ACCOUNTS_MISSING: "consent.accounts",
    Fault.URL_NOT_VALID: "consent.request-url",
}
"""The check that reports a fault of the bank's call, if the members of the call are valid."""
ABOUT_THE_CALLER = (
    Fault.NOT_AUTHENTICATED,
    Fault.WRONG_CREDENTIALS,
    Fault.REQUEST_ID,
    Fault.WRONG_SIGNATURE,
    Fault.HEADERS,
)
"""Faults of a call's headers."""


def failing_check(call: ReceivedCall) -> str:
    """Return the id of the check that fails because the kit refused a call."""
    assert call.refusal is not None
    fault = call.refusal.fault
    if fault is Fault.HEADERS:
        wrong = "request-id" if content_type(call.headers) == "application/json" else "content-type"
        return f"bank-{call.name}.{wrong}"
    if fault not in ABOUT_THE_CALLER and call.request is None:
        return f"bank-{call.name}.members"
    return _BY_FAULT.get(fault, "bank-{call}.accepted").format(call=call.name)


def refused(call: ReceivedCall) -> str:
    """Explain why the kit refused a call, and which check fails for the same reason."""
    assert call.refusal is not None
    return f"the kit refused {call.path}: {call.refusal.message}: see {failing_check(call)}"


def not_initiated(authorization: Authorization, calls: Sequence[ReceivedCall]) -> str:
    """Explain why no ``init_authorization`` call for an authorization succeeded. Return "" after a success."""
    if any(call.refusal is None for call in authorization.initiated):
        return ""
    return _why_missing("initiate", authorization.initiated, calls, "init_authorization was not called", "initiated")


def no_consent(authorization: Authorization, calls: Sequence[ReceivedCall]) -> str:
    """Explain why an authorization has no consent."""
    said = not_initiated(authorization, calls)
    return said or _why_missing("save_consent", authorization.saved, calls, "consent was not called", "saved")


def _why_missing(
    name: str, about: Sequence[ReceivedCall], calls: Sequence[ReceivedCall], otherwise: str, check: str
) -> str:
    made = about or [call for call in calls if call.name == name]
    if made and made[-1].refusal is not None:
        return refused(made[-1])
    return f"{otherwise}: see consent.{check}"
