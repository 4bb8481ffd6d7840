"""Version 1 messages about payments and funds: requests to banks, and models of their responses."""

from collections.abc import Iterable, Mapping
from decimal import Decimal
from typing import Annotated, Any, Self

from pydantic import Field, WithJsonSchema, model_validator

from chalicelib.foundation.fields.decimal_rules import decimal, exact_sum
from chalicelib.foundation.fields.field_types import Message, OpenMessage
from chalicelib.foundation.fields.number_rules import IdRule
from chalicelib.foundation.fields.problems import InvalidMessage, fault
from chalicelib.openbanking.protocol.bank_identifiers import BankPaymentId
from chalicelib.openbanking.protocol.british_accounts import contradicts
from chalicelib.openbanking.protocol.currency_amounts import InCurrency
from chalicelib.openbanking.protocol.fields import (
    AN,
    A,
    Amount,
    Country,
    Currency,
    Digits,
    Iban,
    N,
    Name,
    PayeeName,
    Text,
    WebAddress,
)
from chalicelib.openbanking.protocol.payment_enumerations import SCHEME, VERSION_1_SCHEMES, schemes_schema
from chalicelib.openbanking.protocol.v1_account_messages import AccountRequest
from chalicelib.openbanking.protocol.webhooks import FundsConfirmation, UnusableAnswer

BULK_ITEMS = 1000


class Address(Message):
    """A receiver's address; country codes have three letters in single payments, two in bulk payments."""

    street_name: Text[50] | None = None
    """The street. Example: ``"Unter den Linden"``."""
    building_number: Text[5] | None = None
    """The building number. Example: ``"12a"``."""
    town_name: Name[50] | None = None
    """The town. Example: ``"Berlin"``."""
    post_code: AN[10] | None = None
    """The postal code. Example: ``"SW1A 1AA"``."""


class SingleAddress(Address):
    """A receiver's address in a single or direct payment."""

    country: Country[3] | None = None
    """The country. Example: ``"GBR"``."""


class BulkAddress(Address):
    """A receiver's address in a bulk payment."""

    country: Country[2]
    """The country. Example: ``"GB"``."""


_BRITISH_NUMBER = IdRule(8, width=8)
_MAY_BE_EMPTY = ("receiver_iban", "receiver_account_number", "receiver_sort_code")


class Receiver(InCurrency):
    """The payee: an IBAN, or an account number and sort code. Empty strings count as missing."""

    amount: Amount[10]
    """The amount; it must not have more decimals than its currency, not counting trailing zeros."""
    currency: Currency
    """The currency. Example: ``"GBP"``."""
    reference: Text[18] | None = None
    """The reference. Example: ``"INV 2026-117"``."""
    receiver_name: PayeeName[40]
    """The payee's name. Example: ``"Bilal Hussain"``."""
    receiver_iban: Iban | None = None
    """The receiver's IBAN. Example: ``"GB53DEMO04000440718204"``."""
    receiver_account_number: Digits[34] | None = None
    """The receiver's account number; together with the sort code, it replaces the IBAN.
    Example if sent: ``"40718204"``.
    """
    receiver_sort_code: AN[6] | None = None
    """The sort code of the receiver's account. Example if sent: ``"040004"``."""
    message_for_receiver: Text[35] | None = None
    """The message for the payee. Example: ``"Invoice 2026-117"``."""
    payment_scheme: Annotated[AN[SCHEME], WithJsonSchema(schemes_schema(VERSION_1_SCHEMES))] | None = None
    """The payment scheme."""

    @model_validator(mode="before")
    @classmethod
    def empty_is_absent(cls, members: Any) -> Any:
        if not isinstance(members, dict) or "" not in members.values():
            return members
        return {name: value for name, value in members.items() if value != "" or name not in _MAY_BE_EMPTY}

    @model_validator(mode="before")
    @classmethod
    def british_number_has_its_zeros(cls, members: Any) -> Any:
        number = members.get("receiver_account_number") if isinstance(members, dict) else None
        if number is None or not members.get("receiver_sort_code"):
            return members
        return {**members, "receiver_account_number": _BRITISH_NUMBER.text(number)}

    @model_validator(mode="after")
    def an_account(self) -> Self:
        if self.receiver_iban is None and (self.receiver_account_number is None or self.receiver_sort_code is None):
            fault("value", "receiver_iban, or receiver_account_number and receiver_sort_code, is required")
        if contradicts(self.receiver_iban, self.receiver_account_number, self.receiver_sort_code):
            fault("value", "receiver_iban is not the account of receiver_account_number and receiver_sort_code")
        return self


class DirectPayment(Receiver):
    """The request of ``/direct_payment_initiation``."""

    callback_url: WebAddress
    """The URL that the PSU returns to; it must have the scheme, host and port of one of the client's Callback URLs.
    Example: ``"http://127.0.0.1:8000/payments/callback"``.
    """
    receiver_address: SingleAddress | None = None
    """The receiver's address."""


class SinglePayment(DirectPayment):
    """The request of ``/payment_initiation``; without ``sender_iban``, the PSU selects an account at the bank."""

    sender_iban: Iban | None = None
    """The payer's account; if absent, the PSU chooses one at the bank. Example: ``"GB10DEMO04000431926801"``."""


class BulkItem(Receiver):
    """One payment in a bulk payment."""

    receiver_address: BulkAddress | None = None
    """The receiver's address."""


class Total(InCurrency):
    """The total of the payments in one currency."""

    currency: Currency
    """The currency."""
    amount: Amount[10]
    """The amount; it must not have more decimals than its currency, not counting trailing zeros."""


class BulkPayment(Message):
    """The request of ``/bulk_payment_initiation``: up to 1000 payments in the currency of the sender's account."""

    sender_iban: Iban
    """The payer's account."""
    callback_url: WebAddress
    totals: Annotated[list[Total], Field(min_length=1, max_length=10)]
    """The exact sums of the payments, one entry per currency."""
    payments: Annotated[list[BulkItem], Field(min_length=1, max_length=BULK_ITEMS)]
    """The payments."""

    @model_validator(mode="after")
    def adds_up(self) -> Self:
        stated = {total.currency: decimal(total.amount) for total in self.totals}
        found = sums_by_currency((item.currency, item.amount) for item in self.payments)
        if len(found) > 1:
            fault("value", "all payments must be in the currency of the sender's account")
        if len(stated) < len(self.totals) or stated != found:
            fault("value", "totals must contain the sum of the payments' amounts, once per currency")
        return self


def sums_by_currency(amounts: Iterable[tuple[str, object]]) -> dict[str, Decimal]:
    """The exact total per currency."""
    found: dict[str, list[object]] = {}
    for currency, amount in amounts:
        found.setdefault(currency, []).append(amount)
    return {currency: exact_sum(values) for currency, values in found.items()}


class InitiationAnswer(OpenMessage):
    """The bank has accepted the payment; the PSU confirms it at ``confirmation_url``."""

    confirmation_url: AN[16384]
    """The URL where the PSU confirms the payment: https, or also http in the local stage.
    Example: ``"https://bank.example/confirm/9f3c1b"``.
    """
    payment_id: BankPaymentId
    """The payment's identifier at the bank. Example: ``"P2026112100017"``."""


class FundsAccount(AccountRequest):
    """The account to check."""

    """Inherited ``iban``: Example: ``"GB10DEMO04000431926801"``."""
    """Inherited ``account_id``: Example if sent: ``"1031926801"``."""


class FundsAmount(InCurrency):
    """The amount to check."""

    amount: Amount[10]
    """The amount; it must not have more decimals than its currency, not counting trailing zeros."""
    currency: Currency
    """The currency."""


class FundsRequest(Message):
    """The request of ``/funds_confirmations`` to check whether the account covers an amount."""

    account: FundsAccount
    """The account."""
    instructed_amount: FundsAmount
    """The amount."""


class FundsAnswer(OpenMessage):
    """The bank's decision, or the balance, which the service compares with the amount."""

    funds_available: Annotated[bool, Field(strict=True)] | None = None
    """Whether the account has sufficient funds."""
    currency: A[3] | None = None
    """The currency of the balance: the requested one. Example if sent: ``"GBP"``."""
    balance: N[10] | None = None
    """The balance, with a dot as decimal separator. Example if sent: ``"1250.75"``."""


def funds_available(request: Mapping[str, Any], answer: Mapping[str, Any]) -> FundsConfirmation:
    """Convert the bank's response, a decision or a balance, to ``{"funds_available"}``. Raises: UnusableAnswer."""
    said = answer.get("funds_available")
    if said is not None:
        if not isinstance(said, bool):
            raise UnusableAnswer("funds_available is neither true nor false")
        return {"funds_available": said}
    asked = request["instructed_amount"]
    if answer.get("balance") is None or answer.get("currency") is None:
        raise UnusableAnswer("the bank's response has neither funds_available nor balance and currency")
    if answer["currency"] != asked["currency"]:
        raise UnusableAnswer("the bank's balance is not in the requested currency")
    try:
        held = _FundsAmounts.read({"balance": answer["balance"]})
    except InvalidMessage as error:
        raise UnusableAnswer(f"the bank's {error}") from None
    return {"funds_available": decimal(held.balance) >= decimal(asked["amount"])}


class _FundsAmounts(Message):
    """A balance to compare, which must be a number."""

    balance: N[200]
    """The balance, with a dot as decimal separator."""
