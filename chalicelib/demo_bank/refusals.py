"""Refusals of the demonstration banks: faults defined by the protocol, and codes of the banks themselves."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial

from chalicelib.openbanking.protocol.errors import Fault, Refusal
from chalicelib.openbanking.protocol.refusals import RefusalRow


class UnknownToken(Refusal):
    """The bank never issued the token. A retry cannot succeed, so banks of all versions respond with HTTP 404."""

    def __init__(self) -> None:
        super().__init__(Fault.UNKNOWN_TOKEN, "this bank has no such token")


class OwnRefusal(Refusal):
    """A refusal not defined by the protocol, with the bank's own code: a number in version 1, a name in version 2.

    ``status`` is the HTTP status. ``None`` selects the version's default status.
    """

    def __init__(
        self,
        number: int,
        name: str,
        message: str,
        *,
        status: int | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        self.number = number
        self.name = name
        self.status = status
        self.headers = headers or {}
        super().__init__(Fault.CONTENT, message)


RETRY_AFTER_SECONDS = 30
INSUFFICIENT_FUNDS = partial(
    OwnRefusal, 5101, "INSUFFICIENT_FUNDS", "There is not enough money in the account for this payment."
)
PAYMENT_REFUSED = partial(
    OwnRefusal, 5102, "PAYMENT_REFUSED", "This bank declined the payment. Please ask the bank why."
)
OUT_OF_SERVICE = partial(
    OwnRefusal, 5103, "OUT_OF_SERVICE", "This bank is out of service. Please try again later.", status=503
)
TOO_MANY_REQUESTS = partial(
    OwnRefusal,
    5104,
    "TOO_MANY_REQUESTS",
    "This bank got too many requests. Please wait.",
    status=429,
    headers={"Retry-After": str(RETRY_AFTER_SECONDS)},
)
ACTION_UNKNOWN = RefusalRow(Fault.NO_SUCH_ACTION, "this bank has no such webhook")
BANK_FAILED = RefusalRow(Fault.INTERNAL, "the bank failed")
KEY_WRONG = RefusalRow(Fault.WRONG_CREDENTIALS, "X-Api-Key is not the agreed key")
SIGNATURE_WRONG = RefusalRow(Fault.WRONG_SIGNATURE, "X-Signature is not the service's signature of this body")
BODY_TOO_LARGE = RefusalRow(Fault.CONTENT, "the body is larger than {most} bytes")
NOT_JSON = RefusalRow(Fault.NOT_JSON, "the body is not valid JSON: {problem}")
TOKEN_MISSING = RefusalRow(Fault.NOT_AUTHENTICATED, "header X-Auth-Token is required")
TOKEN_NOT_IN_FORCE = RefusalRow(Fault.NOT_AUTHENTICATED, "X-Auth-Token is not the token of a valid consent")
TOKEN_SPENT = RefusalRow(Fault.NOT_AUTHENTICATED, "X-Auth-Token belongs to a one-time consent that has been used")
SCOPE_NOT_APPROVED = RefusalRow(Fault.FORBIDDEN, "the customer did not approve the scope {scope}")
ACCOUNT_UNKNOWN = RefusalRow(Fault.UNKNOWN_RESOURCE, "the customer approved no such account")
PAYMENT_UNKNOWN = RefusalRow(Fault.UNKNOWN_RESOURCE, "there is no such payment")
PAGE_KEY_FOREIGN = RefusalRow(Fault.FIELD, "page_key was not issued by this bank for the same request")
PAGE_KEY_STALE = RefusalRow(Fault.FIELD, "page_key is no longer valid: start with the first page")
REQUEST_ID_USED = RefusalRow(Fault.HEADERS, "this X-Request-Id was used for a different payment")
CREDITOR_MISSING = RefusalRow(Fault.FIELD, "creditor_account is required: this bank needs to know the destination")
SCHEME_OF_ANOTHER_CURRENCY = RefusalRow(Fault.SCHEME, "payment_scheme {scheme} is only for payments in {currency}")
NO_ACCOUNT_IN_CURRENCY = RefusalRow(Fault.CONTENT, "the customer has no account in this currency to pay from")
CURRENCY_OF_ANOTHER_ACCOUNT = RefusalRow(Fault.CONTENT, "the payment's currency differs from the debtor account's")
ACCOUNT_CANNOT_PAY = RefusalRow(Fault.CONTENT, "no payments can be made from this account")
ONE_ACCOUNT_TWICE = RefusalRow(Fault.CONTENT, "debtor and creditor are the same account")


def refuse_token(row: RefusalRow, fault: Fault) -> Refusal:
    """Return the refusal of an ended or expired token, with the fault defined by the bank's version."""
    return replace(row, fault=fault)()
