"""Version 2 messages about payments and funds: requests to banks, and models of their responses."""

from collections.abc import Mapping
from typing import Annotated, Any, Self

from pydantic import Field, WithJsonSchema, model_validator

from chalicelib.foundation.fields.decimal_rules import decimal
from chalicelib.foundation.fields.field_types import Message, OpenMessage
from chalicelib.foundation.fields.number_rules import DigitsRule
from chalicelib.foundation.fields.problems import fault
from chalicelib.openbanking.protocol.bank_identifiers import LONGEST_PAYMENT_ID, BankPaymentId
from chalicelib.openbanking.protocol.british_accounts import contradicts
from chalicelib.openbanking.protocol.currency_amounts import InCurrency
from chalicelib.openbanking.protocol.fields import AN, A, Amount, Country, Currency, Iban, Text, WebAddress
from chalicelib.openbanking.protocol.payment_enumerations import SCHEME, VERSION_2_SCHEMES, schemes_schema
from chalicelib.openbanking.protocol.payment_statuses import CODES
from chalicelib.openbanking.protocol.v1_payment_messages import BULK_ITEMS, sums_by_currency
from chalicelib.openbanking.protocol.webhooks import FundsConfirmation, UnusableAnswer


class PaymentAccount(Message):
    """An account in a payment: at least an IBAN, a BBAN, or an account number and sort code."""

    iban: Iban | None = None
    """The account's IBAN. Example: ``"DE61100999000004711001"``."""
    bban: AN[30] | None = None
    """The local identifier of the account (basic bank account number). Example if sent: ``"100999000004711001"``."""
    account_number: Annotated[str, DigitsRule(8, width=8)] | None = None
    """The local account number. Example if sent: ``"31926801"``."""
    sort_code: Annotated[str, DigitsRule(6, width=6)] | None = None
    """The sort code of the account. Example if sent: ``"040004"``."""

    @model_validator(mode="after")
    def check_names_account(self) -> Self:
        if self.iban is None and self.bban is None and (self.account_number is None or self.sort_code is None):
            fault("value", "must have iban, bban, or account_number with sort_code")
        if contradicts(self.iban, self.account_number, self.sort_code):
            fault("value", "iban is not the account of account_number and sort_code")
        return self


class StructuredRemittance(Message):
    """A structured reference and its type."""

    reference: AN[35]
    """The reference. Example: ``"RF18539007547034"``."""
    reference_type: A[35]
    """The type of reference. Example: ``"SCOR"``."""


class CreditorAddress(Message):
    """A creditor's address."""

    street_name: Text[70] | None = None
    """The street. Example: ``"Unter den Linden"``."""
    building_number: Text[35] | None = None
    """The building number. Example: ``"12a"``."""
    town_name: Text[140] | None = None
    """The town. Example: ``"Berlin"``."""
    postal_code: AN[35] | None = None
    """The postal code. Example: ``"10117"``."""
    country: Country[2]
    """The country. Example: ``"DE"``."""


class CreditorBank(Message):
    """The creditor's bank; mandatory for the SWIFT scheme."""

    name: Text[140]
    """The name of the creditor's bank. Example: ``"Nordea Bank Abp"``."""
    bic: AN[11] | None = None
    """The BIC of the creditor's bank. Example: ``"NDEAFIHH"``."""
    country: Country[2]
    """The country of the creditor's bank. Example: ``"FI"``."""


class InstructedAmount(InCurrency):
    """The amount to pay or to check."""

    amount: Amount[70]
    """The amount; it must not have more decimals than its currency, not counting trailing zeros."""
    currency: Currency
    """The currency."""


class Transfer(Message):
    """The amount and creditor of a payment; a bulk payment contains several transfers."""

    creditor_account: PaymentAccount
    """The payee's account. Example: ``{"iban": "DE12100999000005820011"}``."""
    creditor_name: Text[70] | None = None
    """The payee's name. Example: ``"Kaffeerösterei Lindgren"``."""
    remittance_information_unstructured: Text[140] | None = None
    """The purpose of the payment as text. Example: ``"Invoice 2026-117"``."""
    remittance_information_structured: StructuredRemittance | None = None
    """The purpose of the payment as a structured reference. No example."""
    creditor_address: CreditorAddress | None = None
    """The creditor's address."""
    instructed_amount: InstructedAmount
    """The amount."""


class DirectPayment(Transfer):
    """The request of ``/v2_payment_direct_single``."""

    payment_scheme: Annotated[AN[SCHEME], WithJsonSchema(schemes_schema(VERSION_2_SCHEMES))] | None = None
    """The payment scheme. Example: ``"SCT"``."""
    debtor_account: PaymentAccount | None = None
    """The payer's account; if absent, the PSU chooses one at the bank."""
    debtor_name: Text[70] | None = None
    """The payer's name. Example: ``"Lena Brandt"``."""
    callback_url: WebAddress
    """The URL that the PSU returns to; it must have the scheme, host and port of one of the client's Callback URLs.
    Example: ``"http://127.0.0.1:8000/payments/callback"``.
    """


class SinglePayment(DirectPayment):
    """The request of ``/v2_payment_single``; without ``debtor_account``, the PSU selects an account at the bank."""

    creditor_bank: CreditorBank | None = None
    """The creditor's bank; mandatory for the SWIFT scheme. No example."""

    @model_validator(mode="after")
    def swift_names_the_bank(self) -> Self:
        if self.payment_scheme == "SWIFT" and self.creditor_bank is None:
            fault("value", "creditor_bank is required with payment_scheme SWIFT")
        return self


class BulkTotal(InCurrency):
    """The total of all payments."""

    currency: Currency
    """The currency."""
    amount: Amount[10]
    """The amount; it must not have more decimals than its currency, not counting trailing zeros."""


class BulkPayment(Message):
    """The request of ``/v2_payment_bulk``: up to 1000 payments in one currency."""

    payment_scheme: Annotated[AN[SCHEME], WithJsonSchema(schemes_schema(VERSION_2_SCHEMES))] | None = None
    debtor_account: PaymentAccount | None = None
    debtor_name: Text[70] | None = None
    callback_url: WebAddress
    instructed_totals: BulkTotal
    """The exact sum of all payments."""
    payments: Annotated[list[Transfer], Field(min_length=1, max_length=BULK_ITEMS)]
    """The payments."""

    @model_validator(mode="after")
    def adds_up(self) -> Self:
        stated = {self.instructed_totals.currency: decimal(self.instructed_totals.amount)}
        amounts = (item.instructed_amount for item in self.payments)
        if sums_by_currency((each.currency, each.amount) for each in amounts) != stated:
            fault("value", "instructed_totals must contain the currency and the sum of all payments")
        return self


class InitiationAnswer(OpenMessage):
    """The bank has accepted the payment; the PSU confirms it at ``confirmation_url``."""

    status: A[4]
    """The payment's status. Example: ``"RCVD"``."""
    confirmation_url: AN[16384]
    """The URL where the PSU confirms the payment: https, or also http in the local stage.
    Example: ``"https://bank.example/confirm/9f3c1b"``.
    """
    payment_id: BankPaymentId
    """The payment's identifier at the bank. Example: ``"P2026112100017"``."""


def to_initiation_answer(request: Mapping[str, Any], answer: dict[str, Any]) -> dict[str, Any]:
    """Return the response after validating its status. Raises: UnusableAnswer."""
    if answer["status"] not in CODES.meanings:
        raise UnusableAnswer("the bank's response has an unknown payment status")
    return answer


class StatusRequest(Message):
    """The request of ``/v2_payment_single_status`` and ``/v2_payment_bulk_status``."""

    payment_id: AN[LONGEST_PAYMENT_ID]
    """The payment's identifier at the bank."""


class StatusAnswer(OpenMessage):
    """The payment's status."""

    transaction_status: AN[255]
    """The payment's status. Example: ``"ACSC"``."""


class FundsRequest(Message):
    """The request of ``/v2_funds_confirmations`` to check whether the account covers an amount."""

    account: PaymentAccount
    """The account."""
    instructed_amount: InstructedAmount


class FundsAnswer(OpenMessage):
    """Whether the account covers the amount."""

    funds_available: Annotated[bool, Field(strict=True)]
    """Whether the account has sufficient funds."""


def funds_available(request: Mapping[str, Any], answer: Mapping[str, Any]) -> FundsConfirmation:
    """Reduce the response to ``{"funds_available"}``."""
    return {"funds_available": answer["funds_available"]}
