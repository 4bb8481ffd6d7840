"""Version 2 messages: requests to banks, and models of their responses (specification, Version 2)."""

from collections.abc import Mapping
from typing import Annotated, Any, Literal, Self

from pydantic import Field, WithJsonSchema, model_validator

from chalicelib.foundation.fields.field_rules import DigitsRule, IdRule
from chalicelib.foundation.fields.field_types import (
    AN,
    A,
    Amount,
    Country,
    Currency,
    Day,
    Iban,
    Id,
    Message,
    N,
    OpenMessage,
    Text,
    WebAddress,
    Whole,
    decimal,
)
from chalicelib.foundation.fields.problems import fault
from chalicelib.openbanking.protocol.bank_identifiers import (
    LONGEST_ID,
    LONGEST_PAGE_KEY,
    LONGEST_PAYMENT_ID,
    BankId,
    BankPageKey,
    BankPaymentId,
)
from chalicelib.openbanking.protocol.british_accounts import contradicts
from chalicelib.openbanking.protocol.currency_amounts import InCurrency
from chalicelib.openbanking.protocol.payment_enumerations import SCHEME, VERSION_2_SCHEMES, schemes_schema
from chalicelib.openbanking.protocol.payment_statuses import CODES
from chalicelib.openbanking.protocol.v1_messages import BULK_ITEMS, sums_by_currency
from chalicelib.openbanking.protocol.webhooks import FundsConfirmation, UnusableAnswer


class AccountRequest(Message):
    """``/v2_account``, ``/v2_account_balances``; ``account_id`` is an account's ``resource_id``."""

    account_id: AN[LONGEST_ID]


AccountNumber = Annotated[str, IdRule(8, digits=True, width=8)]
"""A British account number in a response."""
SortCode = Annotated[str, IdRule(6, digits=True, width=6)]


class AccountReference(OpenMessage):
    """An account of the PSU; a multicurrency account has one entry per currency."""

    resource_id: BankId[255]
    iban: AN[34] | None = None
    bban: Id[30] | None = None
    account_number: AccountNumber | None = None
    sort_code: SortCode | None = None
    currency: A[3]
    name: Text[255] | None = None
    payment_schemes: list[AN[5]] | None = None


class AccountsAnswer(OpenMessage):
    """The PSU's accounts."""

    accounts: list[AccountReference]


class AccountAnswer(OpenMessage):
    """One of the PSU's accounts."""

    account: AccountReference


def account_as_object(answer: dict[str, Any]) -> dict[str, Any]:
    """Convert ``account`` to an object if the bank sends a list of one."""
    account = answer.get("account")
    return {**answer, "account": account[0]} if isinstance(account, list) and len(account) == 1 else answer


class BalanceAmount(OpenMessage):
    """An amount and its currency."""

    amount: N[70]
    currency: A[3]


class Balance(OpenMessage):
    """``balance_type`` is one of ``BALANCE_TYPES``."""

    balance_amount: BalanceAmount
    balance_type: A[32]


BALANCE_TYPES: Mapping[str, str] = {
    "openingBooked": "booked, at the start of the day",
    "interimAvailable": "available now",
    "interimBooked": "booked now",
    "forwardAvailable": "available on a future date",
    "nonInvoiced": "not invoiced yet; card accounts only",
}


class BalancesAnswer(OpenMessage):
    """An account's balances."""

    balances: list[Balance]


class TransactionsRequest(Message):
    """``/v2_account_transactions``: a page of an account's transactions."""

    account_id: AN[LONGEST_ID]
    booking_status: Literal["booked", "pending", "both"]
    page_key: AN[LONGEST_PAGE_KEY] | None = None
    page_size: Whole[999] = 100
    date_from: Day | None = None
    date_to: Day | None = None

    @model_validator(mode="after")
    def from_before_to(self) -> Self:
        if self.date_from is not None and self.date_to is not None and self.date_from > self.date_to:
            fault("value", "date_from must not be after date_to")
        return self


class TransactionAccount(OpenMessage):
    """The account of a party to a transaction."""

    iban: AN[34] | None = None
    bban: Id[30] | None = None
    account_number: AccountNumber | None = None
    sort_code: SortCode | None = None


class TransactionReference(OpenMessage):
    """A structured reference and its type."""

    reference: AN[35]
    reference_type: AN[35]


class TransactionAmount(OpenMessage):
    """An amount with its currency, value date and booking date."""

    amount: N[70]
    currency: A[3]
    value_date: AN[10] | None = None
    booking_date: AN[10] | None = None


class Transaction(OpenMessage):
    """A transaction."""

    transaction_id: BankId[255] | None = None
    creditor_name: Text[255] | None = None
    creditor_account: TransactionAccount | None = None
    debtor_name: Text[255] | None = None
    debtor_account: TransactionAccount | None = None
    remittance_information_unstructured: Text[140] | None = None
    remittance_information_structured: TransactionReference | None = None
    transaction_amount: TransactionAmount


class Transactions(OpenMessage):
    """Booked and pending transactions; a list that was not requested may be missing."""

    booked: list[Transaction] | None = None
    pending: list[Transaction] | None = None


class BookedTransactions(Transactions):
    """The transactions if the booked ones were requested."""

    booked: list[Transaction]


class PendingTransactions(Transactions):
    """The transactions if the pending ones were requested."""

    pending: list[Transaction]


class AllTransactions(Transactions):
    """The transactions if both kinds were requested."""

    booked: list[Transaction]
    pending: list[Transaction]


class TransactionsAnswer(OpenMessage):
    """A page of an account's transactions."""

    transactions: Transactions
    page_key: BankPageKey | None = None


class BookedAnswer(TransactionsAnswer):
    """The response to ``booking_status`` ``booked``."""

    transactions: BookedTransactions


class PendingAnswer(TransactionsAnswer):
    """The response to ``booking_status`` ``pending``."""

    transactions: PendingTransactions


class AllAnswer(TransactionsAnswer):
    """The response to ``booking_status`` ``both``."""

    transactions: AllTransactions


_ANSWERS: Mapping[str, type[OpenMessage]] = {"booked": BookedAnswer, "pending": PendingAnswer, "both": AllAnswer}


def transactions_model(request: Mapping[str, Any]) -> type[OpenMessage]:
    """The model of the response to ``request``."""
    return _ANSWERS[request["booking_status"]]


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
