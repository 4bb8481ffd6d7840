"""What the service calls at a bank, and the TPP calls that lead there (specification, Service to bank).

A row of ``RELAYED`` is a question about a PSU's data, a row of ``PAYMENTS`` a payment to be initiated. Per bank version
a row names the webhook, the scope it needs, the model of its request and the model that the bank's answer is held
against. Adding a call is adding a row and its models.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from chalicelib.foundation.fields.field_types import Message, OpenMessage
from chalicelib.openbanking.protocol import v1, v2
from chalicelib.openbanking.protocol.bank_calls import RevokeToken
from chalicelib.openbanking.protocol.payment_enumerations import Kind
from chalicelib.openbanking.protocol.scopes import SCOPES, Service, Version

CountedUnder = Service | Literal["authorization"]
"""Whose calls are counted together: those of a service, and those that give or end a PSU's consent."""
_SERVICES: Mapping[str, Service] = {scope.name: scope.service for rows in SCOPES.values() for scope in rows.values()}


class Nothing(Message):
    """A request without members."""


def unchanged(answer: dict[str, Any]) -> dict[str, Any]:
    return answer


def as_answered(request: Mapping[str, Any], answer: dict[str, Any]) -> dict[str, Any]:
    return answer


class TokenEnded(RevokeToken):
    """``/revoke_token``: the consent behind a token has ended, by the TPP, the operator or the service."""


PAYMENT_SERVICE: CountedUnder = "PISP"
"""What payments and their status are counted under."""


@dataclass(frozen=True, slots=True)
class Webhook:
    """One webhook of one bank version.

    Attributes:
        path: at the bank's own address.
        scope: that the consent must have; ``None`` where no scope is asked for.
        request: model of the body that is sent.
        answer: model that the bank's answer is held against; the answer itself is handed on.
        expected: the model that the answer to a request is held against, where that depends on the request.
        account_id: of an answer that lists accounts: the member that other calls name as ``account_id``.
        shape: brings the quirks that the specification admits into one shape.
        conclude: makes the TPP's answer of request and answer. Raises: v1.Unusable.
        sends_token: whether ``X-Auth-Token`` goes along.
        part_of: what it is counted under, where no scope is asked for that tells it.
    """

    path: str
    scope: str | None
    request: type[Message]
    answer: type[OpenMessage]
    shape: Callable[[dict[str, Any]], dict[str, Any]] = unchanged
    conclude: Callable[[Mapping[str, Any], dict[str, Any]], dict[str, Any]] = as_answered
    sends_token: bool = True
    part_of: CountedUnder | None = None
    expected: Callable[[Mapping[str, Any]], type[OpenMessage]] | None = None
    account_id: str | None = None

    def model_of_answer(self, request: Mapping[str, Any]) -> type[OpenMessage]:
        """The model that the answer to ``request`` is held against."""
        return self.expected(request) if self.expected else self.answer

    @property
    def service(self) -> CountedUnder:
        """What it is counted under. Raises: LookupError, for a row that does not say."""
        if self.scope is not None:
            return _SERVICES[self.scope]
        if self.part_of is None:
            raise LookupError(f"{self.path} has neither a scope nor what else it is counted under")
        return self.part_of


@dataclass(frozen=True, slots=True)
class RelayedCall:
    """One question of a TPP that is answered by a bank."""

    name: str
    method: Literal["GET", "POST"]
    path: str
    webhooks: Mapping[Version, Webhook]

    @property
    def service(self) -> CountedUnder:
        """What it is counted under: the same whichever version the bank has."""
        return next(iter(self.webhooks.values())).service


@dataclass(frozen=True, slots=True)
class PaymentCall:
    """One way to initiate a payment; ``body_bytes`` is the longest body that it takes."""

    kind: Kind
    path: str
    webhooks: Mapping[Version, Webhook]
    body_bytes: int = 65_536


RELAYED: tuple[RelayedCall, ...] = (
    RelayedCall(
        "accounts",
        "GET",
        "/tpp/accounts",
        {
            1: Webhook("/accounts", "account.list", Nothing, v1.AccountsAnswer, account_id="id"),
            2: Webhook("/v2_accounts", "accounts", Nothing, v2.AccountsAnswer, account_id="resource_id"),
        },
    ),
    RelayedCall(
        "account",
        "GET",
        "/tpp/account",
        {
            1: Webhook("/account", "account.details", v1.AccountRequest, v1.AccountAnswer),
            2: Webhook("/v2_account", "accounts", v2.AccountRequest, v2.AccountAnswer, v2.account_as_object),
        },
    ),
    RelayedCall(
        "account_balance",
        "GET",
        "/tpp/account_balance",
        {
            1: Webhook(
                "/account_balance", "account.balance", v1.AccountRequest, v1.BalancesAnswer, v1.balances_as_list
            ),
            2: Webhook("/v2_account_balances", "accounts.balances", v2.AccountRequest, v2.BalancesAnswer),
        },
    ),
    RelayedCall(
        "account_payments",
        "GET",
        "/tpp/account_payments",
        {
            1: Webhook(
                "/account_payments", "account.payments", v1.PaymentsRequest, v1.PaymentsAnswer, v1.paginator_as_object
            ),
        },
    ),
    RelayedCall(
        "account_payment",
        "GET",
        "/tpp/account_payment",
        {1: Webhook("/account_payment", "account.payment", v1.PaymentRequest, v1.PaymentAnswer)},
    ),
    RelayedCall(
        "account_transactions",
        "GET",
        "/tpp/account_transactions",
        {
            2: Webhook(
                "/v2_account_transactions",
                "accounts.transactions",
                v2.TransactionsRequest,
                v2.TransactionsAnswer,
                expected=v2.transactions_expected,
            ),
        },
    ),
    RelayedCall(
        "funds_confirmations",
        "POST",
        "/tpp/funds_confirmations",
        {
            1: Webhook(
                "/funds_confirmations",
                "card_based.funds_confirmations",
                v1.FundsRequest,
                v1.FundsAnswer,
                conclude=v1.funds_available,
            ),
            2: Webhook(
                "/v2_funds_confirmations",
                "funds_confirmations",
                v2.FundsRequest,
                v2.FundsAnswer,
                conclude=v2.funds_available,
            ),
        },
    ),
)

PAYMENTS: tuple[PaymentCall, ...] = (
    PaymentCall(
        "single",
        "/tpp/payment_initiation",
        {
            1: Webhook("/payment_initiation", "payment.init", v1.SinglePayment, v1.InitiationAnswer),
            2: Webhook(
                "/v2_payment_single",
                "payments.single",
                v2.SinglePayment,
                v2.InitiationAnswer,
                conclude=v2.initiated,
            ),
        },
    ),
    PaymentCall(
        "bulk",
        "/tpp/bulk_payment_initiation",
        {
            1: Webhook("/bulk_payment_initiation", "payment.init", v1.BulkPayment, v1.InitiationAnswer),
            2: Webhook("/v2_payment_bulk", "payments.bulk", v2.BulkPayment, v2.InitiationAnswer, conclude=v2.initiated),
        },
        body_bytes=4_000_000,
    ),
    PaymentCall(
        "direct",
        "/tpp/direct_payment_initiation",
        {
            1: Webhook(
                "/direct_payment_initiation",
                None,
                v1.DirectPayment,
                v1.InitiationAnswer,
                sends_token=False,
                part_of=PAYMENT_SERVICE,
            ),
            2: Webhook(
                "/v2_payment_direct_single",
                None,
                v2.DirectPayment,
                v2.InitiationAnswer,
                conclude=v2.initiated,
                sends_token=False,
                part_of=PAYMENT_SERVICE,
            ),
        },
    ),
)

_SINGLE_STATUS = Webhook("/v2_payment_single_status", None, v2.StatusRequest, v2.StatusAnswer, part_of=PAYMENT_SERVICE)
STATUS_PATH = "/tpp/payment_status"
STATUS: Mapping[Kind, Webhook] = {
    "single": _SINGLE_STATUS,
    "bulk": Webhook("/v2_payment_bulk_status", None, v2.StatusRequest, v2.StatusAnswer, part_of=PAYMENT_SERVICE),
    "direct": _SINGLE_STATUS,
}
"""Where a version 2 bank is asked for a payment's status; version 1 banks report it and are not asked."""

REVOKE_TOKEN = Webhook("/revoke_token", None, TokenEnded, v1.Acknowledgement, part_of="authorization")
"""Both versions: the consent behind a token has ended."""


def _webhooks(version: Version) -> tuple[Webhook, ...]:
    tables = [call.webhooks for call in RELAYED] + [call.webhooks for call in PAYMENTS]
    rows = [webhooks[version] for webhooks in tables if version in webhooks]
    asked = dict.fromkeys(STATUS.values()) if version == 2 else ()
    return (*rows, *asked, REVOKE_TOKEN)


WEBHOOKS: Mapping[Version, tuple[Webhook, ...]] = {1: _webhooks(1), 2: _webhooks(2)}
"""Every webhook of a version."""
