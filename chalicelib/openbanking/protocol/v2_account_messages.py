"""Version 2 messages about accounts: requests to banks, and models of their responses (specification, Version 2)."""

from collections.abc import Mapping
from typing import Annotated, Any, Literal, Self

from pydantic import model_validator

from chalicelib.foundation.fields.field_types import Message, OpenMessage
from chalicelib.foundation.fields.number_rules import IdRule
from chalicelib.foundation.fields.problems import fault
from chalicelib.openbanking.protocol.bank_identifiers import LONGEST_ID, LONGEST_PAGE_KEY, BankId, BankPageKey
from chalicelib.openbanking.protocol.fields import AN, A, Day, Id, N, Text, Whole


class AccountRequest(Message):
    """The request of ``/v2_account`` and ``/v2_account_balances``; ``account_id`` is an account's ``resource_id``."""

    account_id: AN[LONGEST_ID]
    """The bank's own identifier of the account. Example: ``"65e1d84d-bbff-5020-8a18-fa562a050c8d"``."""


AccountNumber = Annotated[str, IdRule(8, digits=True, width=8)]
"""A British account number in a response."""
SortCode = Annotated[str, IdRule(6, digits=True, width=6)]


class AccountReference(OpenMessage):
    """An account of the PSU; a multicurrency account has one entry per currency."""

    resource_id: BankId[255]
    """The account's identifier; a multicurrency account has one per currency.
    Example: ``"65e1d84d-bbff-5020-8a18-fa562a050c8d"``.
    """
    iban: AN[34] | None = None
    """The account's IBAN. Example: ``"DE61100999000004711001"``."""
    bban: Id[30] | None = None
    """The local identifier of the account (basic bank account number). Example: ``"100999000004711001"``."""
    account_number: AccountNumber | None = None
    """The local account number. Example if sent: ``"31926801"``."""
    sort_code: SortCode | None = None
    """The sort code of the account. Example if sent: ``"040004"``."""
    currency: A[3]
    """The currency."""
    name: Text[255] | None = None
    """The account's name. Example: ``"Girokonto"``."""
    payment_schemes: list[AN[5]] | None = None
    """The payment schemes that the account supports. Example: ``["SCT", "SCTI"]``."""


class AccountsAnswer(OpenMessage):
    """The PSU's accounts."""

    accounts: list[AccountReference]
    """The accounts."""


class AccountAnswer(OpenMessage):
    """One of the PSU's accounts."""

    account: AccountReference
    """The account."""


def account_as_object(answer: dict[str, Any]) -> dict[str, Any]:
    """Convert ``account`` to an object if the bank sends a list of one."""
    account = answer.get("account")
    return {**answer, "account": account[0]} if isinstance(account, list) and len(account) == 1 else answer


class BalanceAmount(OpenMessage):
    """An amount and its currency."""

    amount: N[70]
    """The amount. Example: ``"12.50"``."""
    currency: A[3]


class Balance(OpenMessage):
    """A balance and its type; ``balance_type`` is one of ``BALANCE_TYPES``."""

    balance_amount: BalanceAmount
    """The balance amount."""
    balance_type: A[32]
    """The type of balance. Example: ``"interimAvailable"``."""


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
    """The balances, one entry per type."""


class TransactionsRequest(Message):
    """The request of ``/v2_account_transactions`` for a page of an account's transactions."""

    account_id: AN[LONGEST_ID]
    booking_status: Literal["booked", "pending", "both"]
    """The transactions to return. Example: ``"both"``."""
    page_key: AN[LONGEST_PAGE_KEY] | None = None
    """The page_key from the previous response; omit it for the first page. Example if sent: ``"2"``."""
    page_size: Whole[999] = 100
    """The maximum number of booked and of pending transactions per page. Example: ``100``."""
    date_from: Day | None = None
    """The first day, included. Example: ``"2026-11-01"``."""
    date_to: Day | None = None
    """The last day, included. Example: ``"2026-11-30"``."""

    @model_validator(mode="after")
    def from_before_to(self) -> Self:
        if self.date_from is not None and self.date_to is not None and self.date_from > self.date_to:
            fault("value", "date_from must not be after date_to")
        return self


class TransactionAccount(OpenMessage):
    """The account of a party to a transaction."""

    iban: AN[34] | None = None
    bban: Id[30] | None = None
    """The local identifier of the account (basic bank account number). Example if sent: ``"100999000004711001"``."""
    account_number: AccountNumber | None = None
    """The local account number. Example if sent: ``"31926801"``."""
    sort_code: SortCode | None = None
    """The sort code of the account. Example if sent: ``"040004"``."""


class TransactionReference(OpenMessage):
    """A structured reference and its type."""

    reference: AN[35]
    """The reference. Example: ``"RF18539007547034"``."""
    reference_type: AN[35]
    """The type of reference. Example: ``"SCOR"``."""


class TransactionAmount(OpenMessage):
    """An amount with its currency, value date and booking date."""

    amount: N[70]
    """The amount, negative when money left the account. Example: ``"-42.90"``."""
    currency: A[3]
    value_date: AN[10] | None = None
    """The value date. Example: ``"2026-11-20"``."""
    booking_date: AN[10] | None = None
    """The booking date. Example: ``"2026-11-20"``."""


class Transaction(OpenMessage):
    """A transaction."""

    transaction_id: BankId[255] | None = None
    """The transaction's identifier at the bank. Example: ``"0004711001261103"``."""
    creditor_name: Text[255] | None = None
    """The payee's name. Example: ``"Kaffeerösterei Lindgren"``."""
    creditor_account: TransactionAccount | None = None
    """The payee's account. Example: ``{"iban": "DE12100999000005820011"}``."""
    debtor_name: Text[255] | None = None
    """The payer's name. Example: ``"Lena Brandt"``."""
    debtor_account: TransactionAccount | None = None
    """The payer's account."""
    remittance_information_unstructured: Text[140] | None = None
    """The purpose of the payment as text. Example: ``"Invoice 2026-117"``."""
    remittance_information_structured: TransactionReference | None = None
    """The purpose of the payment as a structured reference."""
    transaction_amount: TransactionAmount
    """The amount, negative when money left the account."""


class Transactions(OpenMessage):
    """Booked and pending transactions; a list that was not requested may be missing."""

    booked: list[Transaction] | None = None
    """Booked transactions, newest first."""
    pending: list[Transaction] | None = None
    """Transactions not yet booked."""


class BookedTransactions(Transactions):
    """The transactions in a response to a request for booked transactions."""

    booked: list[Transaction]


class PendingTransactions(Transactions):
    """The transactions in a response to a request for pending transactions."""

    pending: list[Transaction]


class AllTransactions(Transactions):
    """The transactions in a response to a request for booked and pending transactions."""

    booked: list[Transaction]
    pending: list[Transaction]


class TransactionsAnswer(OpenMessage):
    """A page of an account's transactions."""

    transactions: Transactions
    """The transactions."""
    page_key: BankPageKey | None = None
    """The key of the next page; absent on the last page."""


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
    """Return the model of the response to ``request``."""
    return _ANSWERS[request["booking_status"]]
