"""Banks' webhooks, and the TPP calls that trigger them (specification, Service to bank).

``RELAYED`` lists the calls that request PSU data, ``PAYMENTS`` the calls that initiate payments. Each version
(``v1_version``, ``v2_version``) declares the webhook for a call: path, scope, and the models of the request and the
bank's response. To add a call, add a row to one of these lists, and add the webhook and its models to the versions that
support the call.
"""

from collections.abc import Callable, Iterable, Mapping
from functools import cached_property
from typing import Any, ClassVar, Literal, TypedDict

from chalicelib.foundation.fields.field_types import Message, OpenMessage
from chalicelib.foundation.lazy_dataclasses import dataclass
from chalicelib.openbanking.protocol.bank_calls import RevokeToken
from chalicelib.openbanking.protocol.payment_enumerations import Kind
from chalicelib.openbanking.protocol.scopes import Scope, Service

CountedUnder = Service | Literal["authorization"]
"""The categories under which calls are counted: services, and authorization steps."""
PAYMENT_SERVICE: CountedUnder = "PISP"
"""The service under which payments and status queries are counted."""


class UnusableAnswer(ValueError):
    """A well-formed response that cannot be used; the message gives the reason."""


class FundsConfirmation(TypedDict):
    """Whether the account covers the amount."""

    funds_available: bool
    """Whether the account has sufficient funds."""


class Nothing(Message):
    """A request without members."""


class TokenEnded(RevokeToken):
    """``/revoke_token``: the TPP, the operator or the service has ended the consent of a token."""

    """Inherited ``access_token``: The token of the consent that has ended, as issued to the bank and as in
    X-Auth-Token.
    """


class Acknowledgement(OpenMessage):
    """A success response without further members."""


@dataclass(frozen=True, slots=True)
class AnswerForm:
    """The response format of a version's webhooks (specification, Events and Errors).

    Attributes:
        spell: converts a snake_case member to the alternative spelling accepted in responses.
        code, text: the members of an error that contain its code and its message.
        says_status: whether every response has ``status``, which is ``success`` or ``error``.
        unknown_service: error codes of a bank that rejects the service's API key or signing key.
        unknown_token: error codes of a bank that no longer accepts the PSU's token.
        bank_failed: error codes that indicate a failure of the bank itself, whatever the HTTP status.
    """

    spell: Callable[[str], str]
    code: str
    text: str
    says_status: bool
    unknown_service: frozenset[str]
    unknown_token: frozenset[str]
    bank_failed: frozenset[str]


@dataclass(frozen=True)
class Webhook:
    """A webhook in one version of the bank protocol.

    Attributes:
        path: the path relative to the bank's domain.
        scope: the scope required in the consent; ``None`` if none is required.
        request: the model of the body.
        answer: the model for validating the bank's response.
        expected: selects the response model if it depends on the request.
        account_id: in a response that lists accounts, the member that other calls use as ``account_id``.
        shape: normalises the variants that the specification allows.
        to_tpp_answer: builds the TPP's response from request and response. Raises: UnusableAnswer.
        sends_token: whether ``X-Auth-Token`` is sent.
        part_of: the category under which calls are counted, if there is no scope.
        scheme_places: the parts of a payment request that have a ``payment_scheme``, each with its currency.
        form: the response format, if it differs from the version's.
        is_later_page: whether a request is for a page after the first page of a list.
        unknown: the bank's error codes for an unknown account or payment. A response with HTTP status 404 has the same
            meaning, whatever its error code. Empty if the request names neither an account nor a payment.
    """

    path: str
    scope: Scope | None
    request: type[Message]
    answer: type[OpenMessage]
    shape: Callable[[dict[str, Any]], dict[str, Any]] = lambda answer: answer
    to_tpp_answer: Callable[[Mapping[str, Any], dict[str, Any]], Mapping[str, Any]] = lambda _, answer: answer
    sends_token: bool = True
    part_of: CountedUnder | None = None
    expected: Callable[[Mapping[str, Any]], type[OpenMessage]] | None = None
    account_id: str | None = None
    scheme_places: Callable[[dict[str, Any]], Iterable[tuple[dict[str, Any], str]]] = lambda _: ()
    form: AnswerForm | None = None
    is_later_page: Callable[[Mapping[str, Any]], bool] = lambda _: False
    unknown: frozenset[str] = frozenset()

    @cached_property
    def scope_name(self) -> str | None:
        """The name of the required scope, or ``None`` if no scope is required."""
        return self.scope.name if self.scope else None

    @cached_property
    def service(self) -> CountedUnder:
        """The category under which calls are counted. Raises: LookupError, if there is none."""
        if self.scope is not None:
            return self.scope.service
        if self.part_of is None:
            raise LookupError(f"{self.path} has neither a scope nor another category to be counted under")
        return self.part_of


@dataclass(frozen=True)
class RelayedCall:
    """A TPP's call that is passed to the bank; counted under ``service``."""

    name: str
    method: Literal["GET", "POST"]
    path: str
    service: CountedUnder

    @cached_property
    def reads_accounts(self) -> bool:
        """Whether the call reads account information, which is allowed without the PSU (RTS on SCA, Article 36(5))."""
        return self.service == "AISP"


@dataclass(frozen=True, slots=True)
class PaymentCall:
    """A kind of payment initiation. ``scheme_member`` is the name of the payment scheme in the TPP's body.

    Attributes:
        body_bytes: the maximum size of the TPP's body.
    """

    scheme_member: ClassVar[str] = "payment_scheme"

    kind: Kind
    path: str
    body_bytes: int = 65_536


ACCOUNTS = RelayedCall("accounts", "GET", "/tpp/accounts", "AISP")
"""List the PSU's accounts. Returns the bank's list of the accounts that the PSU approved."""
ACCOUNT = RelayedCall("account", "GET", "/tpp/account", "AISP")
"""Read one account. Returns the details of an account. For version 1 banks, pass ``iban`` or ``account_id``; for
version 2
banks, pass ``account_id`` (the account's ``resource_id``).
"""
ACCOUNT_BALANCE = RelayedCall("account_balance", "GET", "/tpp/account_balance", "AISP")
"""Read an account's balances. Version 1 banks return ``accounts`` (one entry with its balance), version 2 banks
``balances``.
"""
ACCOUNT_PAYMENTS = RelayedCall("account_payments", "GET", "/tpp/account_payments", "AISP")
"""List an account's payments. Available for version 1 banks only. Returns a page of the account's payments, newest
first. ``amount`` is negative when money left the account. For version 2 banks, use ``GET /tpp/account_transactions``.
"""
ACCOUNT_PAYMENT = RelayedCall("account_payment", "GET", "/tpp/account_payment", "AISP")
"""Read one payment of an account. Available for version 1 banks only."""
ACCOUNT_TRANSACTIONS = RelayedCall("account_transactions", "GET", "/tpp/account_transactions", "AISP")
"""List an account's transactions. Available for version 2 banks only. Returns booked and pending transactions, page by
page, newest first. ``amount`` is negative when money left the account. For version 1 banks, use ``GET
/tpp/account_payments``.
"""
FUNDS_CONFIRMATIONS = RelayedCall("funds_confirmations", "POST", "/tpp/funds_confirmations", "CBPII")
"""Confirm the availability of funds. Returns yes or no for banks of both versions. If a version 1 bank returns its
balance instead, the service compares the amounts.
"""
RELAYED: tuple[RelayedCall, ...] = (
    ACCOUNTS,
    ACCOUNT,
    ACCOUNT_BALANCE,
    ACCOUNT_PAYMENTS,
    ACCOUNT_PAYMENT,
    ACCOUNT_TRANSACTIONS,
    FUNDS_CONFIRMATIONS,
)
SINGLE_PAYMENT = PaymentCall("single", "/tpp/payment_initiation")
"""Initiate a payment. Returns the bank's URL where the PSU confirms the payment; open it in the PSU's browser. The PSU
returns to ``callback_url`` with ``status``, ``payment_id`` and, after a failure, ``message``. A redirect can be forged,
so check the status with ``GET /tpp/payment_status``. A one-time consent is used up by the first payment that the bank
may have received.
"""
BULK_PAYMENT = PaymentCall("bulk", "/tpp/bulk_payment_initiation", body_bytes=4_000_000)
"""Initiate a bulk payment. A bulk payment has up to 1000 payments, which the PSU confirms together. The totals must be
the exact sums of the payments per currency.
"""
DIRECT_PAYMENT = PaymentCall("direct", "/tpp/direct_payment_initiation")
"""Initiate a payment without a consent. The call works like a single payment at the bank identified by ``bic``. No
bearer is needed, because the PSU authorizes the payment directly at the bank.
"""
PAYMENTS: tuple[PaymentCall, ...] = (SINGLE_PAYMENT, BULK_PAYMENT, DIRECT_PAYMENT)
STATUS_PATH = "/tpp/payment_status"
"""Read a payment's status. For version 1 banks, returns the statuses reported by the bank, with their history. For
version 2 banks, returns the current status, requested from the bank. For a direct payment, pass ``bic`` and no bearer
token. The bearer token of a spent one-time consent can still read the status of its own payment. With ``request_id``
instead of ``payment_id``, the payment is found by the X-Request-Id of its order, for 90 days; if the bank returned no
payment id, the response has the order's ``outcome``.
"""
NEEDING_TOKEN = frozenset(
    {"/tpp/consent", "/tpp/requests/{request_id}", STATUS_PATH}
    | {call.path for call in RELAYED}
    | {call.path for call in PAYMENTS if call.kind != "direct"}
)
"""The paths of calls that need an access token. The status of a direct payment can be read without a token."""
