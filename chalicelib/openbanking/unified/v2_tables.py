"""The unified API at banks of version 2."""

from __future__ import annotations

from chalicelib.openbanking.protocol import v2_account_messages as messages
from chalicelib.openbanking.protocol.bank_identifiers import LONGEST_ID
from chalicelib.openbanking.protocol.webhooks import ACCOUNT, ACCOUNT_BALANCE, ACCOUNT_TRANSACTIONS, ACCOUNTS
from chalicelib.openbanking.unified import v2_payment_tables, values
from chalicelib.openbanking.unified.answers import TransactionStatus
from chalicelib.openbanking.unified.bank_requests import Members, RequestRow
from chalicelib.openbanking.unified.rows import Direction, Row, Shape, Sides, find
from chalicelib.openbanking.unified.tables import (
    TRANSACTION_ORDER,
    ListTable,
    NativeList,
    ReadTable,
    TransactionTable,
    UnifiedVersion,
)
from chalicelib.openbanking.unified.transaction_cursors import PageState

SIDES = Sides(payer="debtor", payee="creditor")
_IDENTIFIERS = ("iban", "bban", "sort_code", "account_number")
_ACCOUNT_ROW = RequestRow("account_id", "account_id")
ACCOUNT_SHAPE = Shape(
    [
        Row("account_id", "resource_id", values.identifier),
        Row("name", "name"),
        Row("currency", "currency"),
        Row("iban", "iban", values.iban),
        Row("bban", "bban"),
        Row("sort_code", "sort_code"),
        Row("sort_code", "iban", values.sort_code_of_iban),
        Row("account_number", "account_number"),
        Row("account_number", "iban", values.account_number_of_iban),
        Row("payment_schemes", "payment_schemes", values.texts),
    ]
)
BALANCE_TYPES = {
    "interimBooked": "booked",
    "interimAvailable": "available",
    "openingBooked": "opening_booked",
    "forwardAvailable": "forward_available",
    "nonInvoiced": "non_invoiced",
}
BALANCE_SHAPE = Shape(
    [
        Row("type", "balance_type", values.OneOf(BALANCE_TYPES, "other")),
        Row("native_type", "balance_type"),
        Row("amount.value", "balance_amount.amount", values.number),
        Row("amount.currency", "balance_amount.currency"),
        Row("as_of", "last_change_date_time"),
        Row("as_of", "lastChangeDateTime"),
        Row("as_of", "reference_date"),
        Row("as_of", "referenceDate"),
        Row("credit_limit_included", "{bank}.credit_limit_included", values.boolean),
        Row("credit_limit_included", "credit_limit_included", values.boolean),
        Row("credit_limit_included", "creditLimitIncluded", values.boolean),
    ]
)
TRANSACTION_SHAPE = Shape(
    [
        Row("transaction_id", "transaction_id"),
        Row("amount.value", "transaction_amount.amount", values.unsigned),
        Row("amount.currency", "transaction_amount.currency"),
        Row("date", "transaction_amount.booking_date", values.day),
        Row("date", "transaction_amount.value_date", values.day),
        Row("booking_date", "transaction_amount.booking_date", values.day),
        Row("value_date", "transaction_amount.value_date", values.day),
        Row("counterparty.name", "{other}_name"),
        Row("counterparty.iban", "{other}_account.iban", values.iban),
        Row("counterparty.bban", "{other}_account.bban"),
        Row("counterparty.sort_code", "{other}_account.sort_code"),
        Row("counterparty.account_number", "{other}_account.account_number"),
        Row("counterparty.bic"),
        Row("remittance.unstructured", "remittance_information_unstructured"),
        Row("remittance.reference", "remittance_information_structured.reference"),
        Row("remittance.reference_type", "remittance_information_structured.reference_type"),
    ],
    SIDES,
    TRANSACTION_ORDER,
)


def booking_status(status: str) -> str:
    """Return ``both`` for ``all``, and other statuses unchanged."""
    return "both" if status == "all" else status


def booked_status(_entry: Members) -> TransactionStatus:
    """Return ``booked``."""
    return "booked"


def pending_status(_entry: Members) -> TransactionStatus:
    """Return ``pending``."""
    return "pending"


def unsigned_direction(entry: Members, _account_id: str) -> Direction | None:
    """Return ``debit`` if only the creditor is named, ``credit`` if only the debtor is; ``None`` otherwise."""
    payer, payee = (_is_named(entry, side) for side in (SIDES.payer, SIDES.payee))
    if payer == payee:
        return None
    return "debit" if payee else "credit"


def _is_named(entry: Members, side: str) -> bool:
    given = (entry.get(f"{side}_name"), *(find(entry, (f"{side}_account", name)) for name in _IDENTIFIERS))
    return any(values.text(each) is not None for each in given)


def next_page(_limit: int, _page: PageState, answer: Members, _count: int) -> str | None:
    """Return the bank's ``page_key``; ``None`` without one."""
    return values.identifier(answer.get("page_key"))


UNIFIED = UnifiedVersion(
    accounts=ListTable(ACCOUNTS, (), ACCOUNT_SHAPE, LONGEST_ID, "accounts", messages.AccountReference),
    account=ReadTable(ACCOUNT, (_ACCOUNT_ROW,), ACCOUNT_SHAPE, LONGEST_ID, "account"),
    balances=ListTable(
        ACCOUNT_BALANCE,
        (_ACCOUNT_ROW,),
        BALANCE_SHAPE,
        LONGEST_ID,
        "balances",
        messages.Balance,
        amount="balance_amount.amount",
    ),
    transactions=TransactionTable(
        ACCOUNT_TRANSACTIONS,
        (
            _ACCOUNT_ROW,
            RequestRow("booking_status", "status", booking_status),
            RequestRow("page_size", "limit"),
            RequestRow("date_from", "from"),
            RequestRow("date_to", "to"),
            RequestRow("page_key", "position"),
        ),
        TRANSACTION_SHAPE,
        LONGEST_ID,
        "transactions",
        messages.Transaction,
        amount="transaction_amount.amount",
        lists=(
            NativeList("transactions.booked", booked_status, frozenset({"booked", "all"})),
            NativeList("transactions.pending", pending_status, frozenset({"pending", "all"})),
        ),
        unsigned_direction=unsigned_direction,
        next_position=next_page,
        repeats_allowed=0,
    ),
    funds_confirmations=v2_payment_tables.FUNDS,
    payments=v2_payment_tables.PAYMENTS,
)
