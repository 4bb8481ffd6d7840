"""Version 2 messages about accounts: requests to banks, and models of their responses (specification, Version 2)."""

from collections.abc import Mapping
from typing import Annotated, Any, Literal, Self

from pydantic import model_validator

from chalicelib.foundation.fields.field_rules import IdRule
from chalicelib.foundation.fields.field_types import AN, A, Day, Id, Message, N, OpenMessage, Text, Whole
from chalicelib.foundation.fields.problems import fault
from chalicelib.openbanking.protocol.bank_identifiers import LONGEST_ID, LONGEST_PAGE_KEY, BankId, BankPageKey


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
