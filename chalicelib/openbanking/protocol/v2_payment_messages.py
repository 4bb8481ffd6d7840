"""Version 2 messages about payments and funds: requests to banks, and models of their responses."""

from collections.abc import Mapping
from typing import Annotated, Any, Self

from pydantic import Field, WithJsonSchema, model_validator

from chalicelib.foundation.fields.field_rules import DigitsRule
from chalicelib.foundation.fields.field_types import (
    AN,
    A,
    Amount,
    Country,
    Currency,
    Iban,
    Message,
    OpenMessage,
    Text,
    WebAddress,
    decimal,
)
from chalicelib.foundation.fields.problems import fault
from chalicelib.openbanking.protocol.bank_identifiers import LONGEST_PAYMENT_ID, BankPaymentId
from chalicelib.openbanking.protocol.british_accounts import contradicts
from chalicelib.openbanking.protocol.currency_amounts import InCurrency
from chalicelib.openbanking.protocol.payment_enumerations import SCHEME, VERSION_2_SCHEMES, schemes_schema
from chalicelib.openbanking.protocol.payment_statuses import CODES
from chalicelib.openbanking.protocol.v1_payment_messages import BULK_ITEMS, sums_by_currency
from chalicelib.openbanking.protocol.webhooks import FundsConfirmation, UnusableAnswer


class PaymentAccount(Message):
    """An account in a payment: at least an IBAN, a BBAN, or an account number and sort code."""

    iban: Iban | None = None
    bban: AN[30] | None = None
    account_number: Annotated[str, DigitsRule(8, width=8)] | None = None
    sort_code: Annotated[str, DigitsRule(6, width=6)] | None = None

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
    reference_type: A[35]


class CreditorAddress(Message):
    """A creditor's address."""

    street_name: Text[70] | None = None
    building_number: Text[35] | None = None
    town_name: Text[140] | None = None
    postal_code: AN[35] | None = None
    country: Country[2]


class CreditorBank(Message):
    """The creditor's bank; mandatory for the SWIFT scheme."""

    name: Text[140]
    bic: AN[11] | None = None
    country: Country[2]


class InstructedAmount(InCurrency):
    """The amount to pay or to check."""

    amount: Amount[70]
    currency: Currency


class Transfer(Message):
    """The amount and creditor of a payment; a bulk payment contains several transfers."""

    creditor_account: PaymentAccount
    creditor_name: Text[70] | None = None
    remittance_information_unstructured: Text[140] | None = None
    remittance_information_structured: StructuredRemittance | None = None
    creditor_address: CreditorAddress | None = None
    instructed_amount: InstructedAmount


class DirectPayment(Transfer):
    """``/v2_payment_direct_single``."""

    payment_scheme: Annotated[AN[SCHEME], WithJsonSchema(schemes_schema(VERSION_2_SCHEMES))] | None = None
    debtor_account: PaymentAccount | None = None
    debtor_name: Text[70] | None = None
    callback_url: WebAddress


class SinglePayment(DirectPayment):
    """``/v2_payment_single``; without ``debtor_account``, the PSU selects an account at the bank."""

    creditor_bank: CreditorBank | None = None

    @model_validator(mode="after")
    def swift_names_the_bank(self) -> Self:
        if self.payment_scheme == "SWIFT" and self.creditor_bank is None:
            fault("value", "creditor_bank is required with payment_scheme SWIFT")
        return self


class BulkTotal(InCurrency):
    """The total of all payments."""

    currency: Currency
    amount: Amount[10]


class BulkPayment(Message):
    """``/v2_payment_bulk``: up to 1000 payments in one currency."""

    payment_scheme: Annotated[AN[SCHEME], WithJsonSchema(schemes_schema(VERSION_2_SCHEMES))] | None = None
    debtor_account: PaymentAccount | None = None
    debtor_name: Text[70] | None = None
    callback_url: WebAddress
    instructed_totals: BulkTotal
    payments: Annotated[list[Transfer], Field(min_length=1, max_length=BULK_ITEMS)]

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
    confirmation_url: AN[16384]
    payment_id: BankPaymentId


def to_initiation_answer(request: Mapping[str, Any], answer: dict[str, Any]) -> dict[str, Any]:
    """The response, with its status validated. Raises: UnusableAnswer."""
    if answer["status"] not in CODES.meanings:
        raise UnusableAnswer("the bank's response has an unknown payment status")
    return answer


class StatusRequest(Message):
    """``/v2_payment_single_status``, ``/v2_payment_bulk_status``."""

    payment_id: AN[LONGEST_PAYMENT_ID]


class StatusAnswer(OpenMessage):
    """The payment's status."""

    transaction_status: AN[255]


class FundsRequest(Message):
    """``/v2_funds_confirmations``: whether the account covers an amount."""

    account: PaymentAccount
    instructed_amount: InstructedAmount


class FundsAnswer(OpenMessage):
    """Whether the account covers the amount."""

    funds_available: Annotated[bool, Field(strict=True)]


def funds_available(request: Mapping[str, Any], answer: Mapping[str, Any]) -> FundsConfirmation:
    """Reduce the response to ``{"funds_available"}``."""
    return {"funds_available": answer["funds_available"]}
