"""The unified API's responses. A member that a bank does not give is null, and each member is always present."""

from __future__ import annotations

from typing import Annotated, Any, Literal, NotRequired, TypedDict

from pydantic import Field

from chalicelib.openbanking.protocol.bank_identifiers import LONGEST_ID, LONGEST_PAYMENT_ID
from chalicelib.openbanking.protocol.fields import AN, Day, Text, Timestamp, Uuid, WebAddress
from chalicelib.openbanking.protocol.payment_enumerations import Kind, OrderState
from chalicelib.openbanking.protocol.payment_statuses import UnifiedStatus
from chalicelib.openbanking.unified.rows import Direction
from chalicelib.openbanking.unified.transaction_cursors import LONGEST_CURSOR

BalanceType = Literal["booked", "available", "opening_booked", "forward_available", "non_invoiced", "other"]
TransactionStatus = Literal["booked", "pending"]
Native = dict[str, Any]


class Amount(TypedDict):
    """An amount of money, with the bank's digits."""

    value: Annotated[str, Field(pattern=r"^-?[0-9]+(\.[0-9]+)?$")]
    """The number, without exponent or plus sign; it has a minus sign in balances only. Example: ``"42.90"``."""
    currency: AN[3] | None
    """The currency; null if the bank does not give it. Example: ``"EUR"``."""


class UnifiedProblem(TypedDict):
    """An entry of the bank that is left out, or a list that the bank did not send."""

    position: AN[255] | None
    """The place in the bank's lists; null in the last problem, which counts the others. Example: ``"booked[3]"``."""
    member: AN[255] | None
    """The faulty member, in snake_case; null if the entry is no object. Example: ``"transaction_amount.amount"``."""
    reason: AN[255]
    """The first fault of the entry, for people. Example: ``"must be a number"``."""


class Retrieved(TypedDict):
    """The members of every response with a PSU's data."""

    bic: AN[11]
    """The bank's BIC. Example: ``"DEMODEF1"``."""
    retrieved_at: Timestamp
    """The time when the bank's response arrived. Example: ``"2026-11-21T09:30:00+00:00"``."""


class UnifiedAccount(TypedDict):
    """An account of the PSU."""

    account_id: AN[LONGEST_ID]
    """The bank's own identifier of the account, for the other calls. Example: ``DE_ACCOUNT``."""
    name: Text[255] | None
    """The account's name. Example: ``"Girokonto"``."""
    currency: AN[3] | None
    """The currency. Example: ``"EUR"``."""
    iban: AN[64] | None
    """The IBAN, in capitals and without spaces. Example: ``"DE61100999000004711001"``."""
    bban: AN[64] | None
    """The local identifier of the account (basic bank account number). Example: ``"100999000004711001"``."""
    sort_code: AN[6] | None
    """The sort code, also from a British IBAN. Example if sent: ``"040004"``."""
    account_number: AN[34] | None
    """The local account number, also from a British IBAN. Example if sent: ``"31926801"``."""
    payment_schemes: list[AN[35]] | None
    """The payment schemes of the account; an empty list if the bank says that it has none. Example: ``["SCT"]``."""
    native: NotRequired[Native]
    """The entry as the native call returns it; only with ``native=1``.
    Example if sent: ``{"resource_id": "4711001", "currency": "EUR"}``.
    """


class UnifiedAccounts(Retrieved):
    """The PSU's accounts."""

    problems: list[UnifiedProblem]
    """The entries that are left out, at most 100, and the number of others. Example: ``[]``."""
    accounts: list[UnifiedAccount]
    """The accounts that the PSU approved."""


class UnifiedAccountAnswer(Retrieved):
    """One account of the PSU."""

    account: UnifiedAccount
    """The account."""


class UnifiedBalance(TypedDict):
    """A balance of an account."""

    type: BalanceType
    """The type of balance. Example: ``"available"``."""
    native_type: AN[64] | None
    """The type as the bank gives it; null at banks of version 1. Example: ``"interimAvailable"``."""
    amount: Amount
    """The balance, negative if the account is overdrawn. Example: ``{"value": "-12.50", "currency": "EUR"}``."""
    as_of: Text[64] | None
    """The time or day of the balance, as the bank gives it. Example if sent: ``"2026-11-21T08:00:00Z"``."""
    credit_limit_included: bool | None
    """Whether the balance includes a credit limit. Example if sent: ``false``."""
    native: NotRequired[Native]
    """The entry as the native call returns it; only with ``native=1``.
    Example if sent: ``{"balance_type": "interimAvailable"}``.
    """


class UnifiedBalances(Retrieved):
    """The balances of an account."""

    account_id: AN[LONGEST_ID]
    """The account, as in the request. Example: ``DE_ACCOUNT``."""
    problems: list[UnifiedProblem]
    """The entries that are left out, at most 100, and the number of others. Example: ``[]``."""
    balances: list[UnifiedBalance]
    """The balances."""


class Counterparty(TypedDict):
    """The other side of a transaction. Nothing is derived from its IBAN."""

    name: Text[255] | None
    """The name. Example: ``"Corner Shop"``."""
    iban: AN[64] | None
    """The IBAN, in capitals and without spaces. Example: ``"DE89370400440532013000"``."""
    bban: AN[64] | None
    """The local identifier of the account (basic bank account number). Example if sent: ``"370400440532013000"``."""
    sort_code: AN[6] | None
    """The sort code. Example if sent: ``"040004"``."""
    account_number: AN[34] | None
    """The local account number. Example if sent: ``"31926801"``."""
    bic: AN[12] | None
    """The BIC of the account's bank; null at banks of version 2. Example if sent: ``"DEMOGB21"``."""


class RemittanceInformation(TypedDict):
    """The purpose of a transaction."""

    unstructured: Text[255] | None
    """The purpose as text. Example: ``"Invoice 17"``."""
    reference: Text[35] | None
    """The reference. Example if sent: ``"RF18539007547034"``."""
    reference_type: AN[35] | None
    """The type of reference. Example if sent: ``"SCOR"``."""


class UnifiedTransaction(TypedDict):
    """A booked or pending transaction of an account."""

    stable_key: Annotated[str, Field(pattern=r"^[0-9a-f]{32}\.[0-9]+$")]
    """The same for the same transaction in every list. Example: ``"184ef2e1b126907f878edf1531232bd7.1"``."""
    transaction_id: AN[LONGEST_ID] | None
    """The bank's identifier. Example: ``"2026-000123"``."""
    status: TransactionStatus
    """Whether the transaction is booked. Example: ``"booked"``."""
    direction: Direction | None
    """``debit`` if money left the account; null if the bank does not say. Example: ``"debit"``."""
    amount: Amount
    """The amount, without sign. Example: ``{"value": "42.90", "currency": "EUR"}``."""
    date: Day | None
    """The booking date or value date; at banks of version 1, the date of the payment. Example: ``"2026-11-20"``."""
    booking_date: Day | None
    """The booking date; null at banks of version 1. Example: ``"2026-11-20"``."""
    value_date: Day | None
    """The value date; null at banks of version 1. Example: ``"2026-11-20"``."""
    counterparty: Counterparty
    """The other side."""
    remittance: RemittanceInformation
    """The purpose."""
    native: NotRequired[Native]
    """The entry as the native call returns it; only with ``native=1``.
    Example if sent: ``{"transaction_id": "2026-000123"}``.
    """


class UnifiedTransactions(Retrieved):
    """A page of an account's transactions: booked ones, then pending ones, each in the bank's order."""

    account_id: AN[LONGEST_ID]
    """The account, as in the request. Example: ``DE_ACCOUNT``."""
    next_cursor: AN[LONGEST_CURSOR] | None
    """The ``cursor`` of the next page; null on the last page. Example if sent: ``"AAAAAAB…"``."""
    problems: list[UnifiedProblem]
    """The entries that are left out, at most 100, and the number of others. Example: ``[]``."""
    transactions: list[UnifiedTransaction]
    """The transactions."""


class UnifiedInitiation(TypedDict):
    """A payment that the bank has accepted; the PSU confirms it at ``confirmation_url``."""

    payment_id: AN[LONGEST_PAYMENT_ID]
    """The payment's identifier at the bank. Example: ``"P2026112100017"``."""
    confirmation_url: WebAddress
    """The URL where the PSU confirms the payment. Example: ``"https://bank.example/confirm/9f3c1b"``."""
    status: UnifiedStatus
    """The payment's status. Example: ``"pending"``."""
    native_status: AN[255] | None
    """The status as the bank gives it; null at banks of version 1, which give none. Example: ``"RCVD"``."""


class UnifiedStatusEntry(TypedDict):
    """A payment's status at a point in time."""

    status: UnifiedStatus
    """The payment's status. Example: ``"pending"``."""
    native_status: AN[255]
    """The status as the bank reported it. Example: ``"RCVD"``."""
    at: Timestamp
    """When the bank reported the status. Example: ``"2026-11-21T09:30:00+00:00"``."""


class UnifiedPaymentStatus(TypedDict):
    """A payment's status, or the outcome of an order for which the bank named no payment."""

    payment_id: AN[LONGEST_PAYMENT_ID] | None
    """The payment's identifier at the bank; null if the bank named no payment. Example: ``"P2026112100017"``."""
    request_id: Uuid | None
    """The order's X-Request-Id; null for payments of old releases.
    Example: ``"fdfd4e95-a65f-44f4-8807-2ce2f6b89e89"``.
    """
    kind: Kind
    """The kind of payment. Example: ``"single"``."""
    status: UnifiedStatus
    """The payment's status. Example: ``"accepted"``."""
    is_final: bool
    """Whether the status is final; ``executed`` may still become ``settled``. Example: ``false``."""
    native_status: AN[255] | None
    """The status as the bank gives it; null if the bank named no payment. Example: ``"ACSP"``."""
    outcome: OrderState | None
    """``unknown`` or ``pending`` while it is unknown whether the bank has the payment, ``not_accepted`` once it is
    known that the bank does not have it; otherwise null. Example if sent: ``"unknown"``.
    """
    history: list[UnifiedStatusEntry]
    """The first status and the reported ones, oldest first."""


class UnifiedFundsConfirmation(Retrieved):
    """Whether the account covers the amount."""

    funds_available: bool
    """Whether the account has sufficient funds. Example: ``true``."""
