"""Errors, and the recommended reaction to each.

All errors are subclasses of ``CausewayError``. A refusal by the hub is an ``ApiError``, whose subclasses are cases that
applications distinguish. No error contains a token, a secret or a key.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any


class CausewayError(Exception):
    """The base of all errors of this package. ``advice`` recommends a reaction in one sentence."""

    advice = "Read the message."
    """The recommended reaction to the error in one sentence."""


class ConfigurationError(CausewayError):
    """The application uses the package incorrectly: an invalid URL, a missing secret, or a float as amount."""

    advice = "Correct the program: nothing was sent."


class ConnectionLost(CausewayError):
    """The hub could not be reached, or its response was lost. A payment call that raises this error sent no payment."""

    advice = "Check the network and the hub's address, and repeat the call."

    def __init__(self, message: str, *, advice: str = "") -> None:
        super().__init__(message)
        self.advice = advice or self.advice


class UnexpectedAnswer(CausewayError):
    """A response that the hub never sends, because it is not JSON or lacks a mandatory member. It may come from a
    proxy.
    """

    advice = "Check what answers at the hub's address; if it is the hub, update this package."

    def __init__(self, message: str, *, status: int = 0, request_id: str = "") -> None:
        super().__init__(message)
        self.status = status
        self.request_id = request_id


class UnusablePages(UnexpectedAnswer):
    """The pages of a bank's list repeat or do not end. No entry of the page in question was returned.

    ``reason_code`` is the reason, named as in the hub's own errors: ``page_repeated``, ``pages_empty`` or
    ``pages_too_many``.
    """

    advice = "Ask for fewer days, and report the bank's pages to the hub's operator."

    def __init__(self, reason_code: str) -> None:
        super().__init__(f"{reason_code}: {PAGE_FAULTS[reason_code]}")
        self.reason_code = reason_code


PAGE_FAULTS: Mapping[str, str] = {
    "page_repeated": "the bank's response repeats a page, or the key of a page",
    "pages_empty": "the bank's pages have no entries, but further pages follow",
    "pages_too_many": "the list has more pages than the bank's version can number",
}
"""The sentence of each reason for which pages are unusable."""


class WaitTimeout(CausewayError):
    """An error that is raised when a wait has timed out.

    ``last`` is the last known status, or the error of the last attempt. If ``last`` is an error, the message of the
    timeout contains this error, and ``advice`` is the advice of this error.
    """

    advice = "Wait again: nothing has failed."

    def __init__(self, message: str, last: Any = None) -> None:
        failed = isinstance(last, CausewayError)
        super().__init__(f"{message}; the last answer was: {last}" if failed else message)
        self.last = last
        if failed:
            self.advice = last.advice


class InvalidEvent(CausewayError):
    """An event with an invalid signature, time or body. Refuse it with status 400."""

    advice = "Answer 400, and verify the body as it came with the secret of the client's Events URL."


class ConsentRefused(CausewayError):
    """The PSU returned from the bank without a consent.

    ``error`` is an OAuth code, such as ``access_denied``; ``description`` is a text for people.
    """

    advice = "Tell the PSU, and begin with authorize() if they want to try again."

    def __init__(self, error: str, description: str = "") -> None:
        super().__init__(f"{error}: {description}" if description else error)
        self.error = error
        self.description = description


class ForgedCallback(CausewayError):
    """The callback does not belong to this authorization, because its state or issuer differs."""

    advice = "Refuse the request: someone may be attacking the PSU."


class ApiError(CausewayError):
    """The hub refused a call, or a bank failed.

    ``status`` is the HTTP status, ``code`` the hub's error code (empty if a proxy answered), ``title`` its text for
    people, ``request_id`` the id for support requests, ``reason_code`` the reason of a failed payment or unified call,
    ``error`` the OAuth code of a token endpoint, ``additional`` the details (``code``, ``title``, ``details``),
    ``retry_after`` the seconds to wait, if the hub sends them.
    """

    def __init__(
        self,
        status: int,
        code: str = "",
        title: str = "",
        *,
        request_id: str = "",
        reason_code: str = "",
        error: str = "",
        additional: Sequence[Mapping[str, Any]] = (),
        retry_after: float | None = None,
    ) -> None:
        self.status = status
        self.code = code
        self.title = title
        self.request_id = request_id
        self.reason_code = reason_code
        self.error = error
        self.additional = tuple(additional)
        self.retry_after = retry_after
        self.advice = self.advice_for()
        super().__init__(status, code, title)

    def __str__(self) -> str:
        return f"{self.status} {self.code or 'without a code'}: {self.title} (request {self.request_id or 'unknown'})"

    def advice_for(self) -> str:
        """Return the advice for the most specific code for which there is an advice."""
        keys: tuple[Any, ...] = (self.reason_code, self.error, self.code, self.status)
        otherwise = CausewayError.advice if self.code or self.error else UnexpectedAnswer.advice
        return next((ADVICE[key] for key in keys if key in ADVICE), otherwise)


class AuthorizationEnded(ApiError):
    """The consent or the code is no longer valid and cannot be refreshed. The PSU must authorize again."""

    def advice_for(self) -> str:
        return "Ask the PSU to authorize again, with a new call of authorize()."


class RateLimited(ApiError):
    """The TPP made too many calls, or too many reads at a bank without the PSU. ``retry_after`` is the time to wait."""


class BankUnavailable(ApiError):
    """The bank did not respond, failed, or refused a read. A payment call that raises this error sent no payment."""


class OutcomeUnknown(ApiError):
    """It is unknown whether the bank has received the payment. Query its status before you pay again.

    ``order_id`` is the order's X-Request-Id, and ``idempotency_key`` is the Idempotency-Key. ``status`` is 0 if there
    was no response.
    """

    order_id: str = ""
    idempotency_key: str = ""

    def advice_for(self) -> str:
        return (
            "Do not pay again: ask payment_status(request_id=error.order_id), or repeat the same order with"
            " idempotency_key=error.idempotency_key within 24 hours."
        )


class HubError(CausewayError):
    """The hub refused a bank's call. ``code`` is the hub's error code: a number in version 1, a name in version 2.

    ``additional`` has the details in version 2 (``code``, ``title``, ``details``), ``request_id`` is the id for support
    requests, and ``retry_after`` is the number of seconds to wait, if the hub specifies it.
    """

    advice = "Check what answers at the hub's address, and repeat the call later."

    def __init__(
        self,
        status: int,
        code: str = "",
        title: str = "",
        *,
        request_id: str = "",
        additional: Sequence[Mapping[str, Any]] = (),
        retry_after: float | None = None,
    ) -> None:
        self.status = status
        self.code = code
        self.title = title
        self.request_id = request_id
        self.additional = tuple(additional)
        self.retry_after = retry_after
        self.advice = HUB_ADVICE.get(code, self.advice)
        super().__init__(status, code, title)

    def __str__(self) -> str:
        return f"{self.status} {self.code or 'without a code'}: {self.title} (request {self.request_id})"


_KEY = "Check the API key and the private key: the hub knows the bank by them."
_CONTENT = "Read title and additional, and correct the call."
_AGAIN = "Repeat the call later; if it fails again, quote request_id to the hub's operator."
HUB_ADVICE: Mapping[str, str] = {
    **dict.fromkeys(("4200", "4201", "WRONG_CREDENTIALS", "AUTHENTICATION_REQUIRED"), _KEY),
    **dict.fromkeys(("4001", "4003", "FORMAT_ERROR", "4300", "4301", "4302", "4303", "4305", "4306", "4307"), _CONTENT),
    **dict.fromkeys(("4000", "4002", "INTERNAL_SERVER_ERROR"), _AGAIN),
    **dict.fromkeys(("4202", "RESOURCE_UNKNOWN"), "Check the identifier: the hub has nothing of that name."),
    **dict.fromkeys(("4203", "SSL_CREDENTIALS_NOT_FOUND"), "Connect with the bank's client certificate."),
    **dict.fromkeys(("4204", "REQUEST_ID_NOT_UUID"), "Use a UUID as request_id, or none."),
    **dict.fromkeys(("4004", "SERVICE_BLOCKED"), "Check the bank's version at the hub, and that the TPP is active."),
    "HEADERS_ERROR": "Check the private key, and use a request_id for one body only.",
    "4005": "Tell the PSU that the TPP is no longer active.",
    "4205": "Send the PSU back to the TPP: this authorization has its consent.",
    "API_ACTION_DOES_NOT_EXIST": "Check the bank's version at the hub.",
}
"""The recommended reactions of a bank, by the hub's error code."""


ADVICE: Mapping[Any, str] = {
    "not_sent": "Initiate the payment again with a new Idempotency-Key, after retry_after seconds if it is set.",
    "refused_by_bank": "Read additional, correct the order, and initiate a new payment.",
    "not_at_this_bank": "Read additional, and leave out or replace the members that this bank's version cannot carry.",
    **dict.fromkeys(
        ("page_repeated", "pages_empty", "pages_too_many", "page_key_too_long"),
        "Ask for fewer days with since and until, and report the bank's pages to the hub's operator.",
    ),
    "invalid_client": "Check client_id and the client's secret, key or certificate.",
    "invalid_grant": "Ask the PSU to authorize again.",
    "invalid_request": "Read title, and correct the call.",
    "invalid_scope": "Ask for scopes that scopes(bic) lists.",
    "unsupported_grant_type": "Use exchange(), which sends the grant types that the hub knows.",
    "unsupported_response_type": "Use push_authorization(), which asks for a code.",
    "request_not_supported": "Leave out request: the hub takes pushed requests instead.",
    "request_uri_not_supported": "Use the request_uri of push_authorization().",
    "registration_not_supported": "Leave out registration: the hub's operator registers clients.",
    "server_error": "Repeat the call later; if it fails again, quote request_id to the hub's operator.",
    "temporarily_unavailable": "Wait retry_after seconds, and call less often.",
    "invalid_dpop_proof": "Check the DPoP key and this machine's clock.",
    "use_dpop_nonce": "Repeat the call: the package sends the new nonce.",
    "AUTHENTICATION_REQUIRED": "Call it with a consent's valid access token.",
    "WRONG_CREDENTIALS": "Check client_id and the client's secret, key or certificate.",
    "SSL_CREDENTIALS_NOT_FOUND": "Connect with the client's certificate.",
    "API_ACTION_DOES_NOT_EXIST": "Use the call of the bank's version: bank(bic).api_version tells it.",
    "SERVICE_BLOCKED": "Ask for a consent with this scope and account, or leave out what it does not contain.",
    "RESOURCE_UNKNOWN": "Check the identifier and the BIC: this client has nothing of that name there.",
    "PAYMENT_SCHEME_INVALID": "Use one of the bank's payment_schemes, or none.",
    "PARAMETER_NOT_CONSISTENT": "Read title, and correct the parameters.",
    "FORMAT_ERROR": "Read title and additional, and correct the call.",
    "HEADERS_ERROR": "Read title, and correct the headers or the Idempotency-Key.",
    "REQUEST_ID_NOT_UUID": "Use a UUID as request_id, or none.",
    "ACCESS_EXCEEDED": "Wait retry_after seconds; a read at its bank's limit may pass psu=Psu(ip_address=…) instead.",
    "ASPSP_UNKNOWN_ERROR": "Read additional: the bank refused or failed; repeat a read later.",
    "INTERNAL_SERVER_ERROR": "Repeat the call later; if it fails again, quote request_id to the hub's operator.",
    429: "Wait retry_after seconds, and call less often.",
    502: "Repeat the call later.",
    503: "Repeat the call later.",
    504: "Repeat the call later.",
}
"""The recommended reactions, by reason code, OAuth error code, error code, and status."""
