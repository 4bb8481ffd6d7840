"""The unified API at banks of version 1."""

from __future__ import annotations

from chalicelib.openbanking.protocol import v1_account_messages as messages
from chalicelib.openbanking.protocol.webhooks import ACCOUNT, ACCOUNT_BALANCE, ACCOUNT_PAYMENTS, ACCOUNTS
from chalicelib.openbanking.unified import v1_payment_tables, values
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

LONGEST_ACCOUNT_ID = 34
"""The longest ``account_id`` in a request to a bank (specification, Version 1, account and payments)."""
SIDES = Sides(payer="sender_data", payee="receiver_data")
_ACCOUNT_ROW = RequestRow("account_id", "account_id")
ACCOUNT_SHAPE = Shape(
    [
        Row("account_id", "id", values.identifier),
        Row("name", "name"),
        Row("currency", "currency"),
        Row("iban", "iban", values.iban),
        Row("bban"),
        Row("sort_code", "iban", values.sort_code_of_iban),
        Row("account_number", "iban", values.account_number_of_iban),
        Row("payment_schemes"),
    ]
)
BALANCE_SHAPE = Shape(
    [
        Row("type", "{bank}.balance_type"),
        Row("native_type"),
        Row("amount.value", "balance", values.number),
        Row("amount.currency", "currency"),
        Row("as_of", "last_change_date_time"),
        Row("as_of", "reference_date"),
        Row("credit_limit_included", "{bank}.credit_limit_included", values.boolean),
        Row("credit_limit_included", "credit_limit_included", values.boolean),
    ]
)
TRANSACTION_SHAPE = Shape(
    [
        Row("transaction_id", "id"),
        Row("amount.value", "amount", values.unsigned),
        Row("amount.currency", "additional_data.{own}.currency"),
        Row("date", "date_created", values.day),
        Row("booking_date"),
        Row("value_date"),
        Row("counterparty.name", "additional_data.{other}.account_name"),
        Row("counterparty.iban", "additional_data.{other}.iban", values.iban),
        Row("counterparty.bban"),
        Row("counterparty.sort_code", "additional_data.{other}.sort_code"),
        Row("counterparty.account_number", "additional_data.{other}.account_number"),
        Row("counterparty.bic", "additional_data.{other}.bic"),
        Row("remittance.unstructured", "description"),
        Row("remittance.reference", "reference"),
        Row("remittance.reference_type"),
    ],
    SIDES,
    TRANSACTION_ORDER,
)
_EXECUTED = "4"
_NOT_EXECUTED = frozenset({"2", "3"})


def payment_status(entry: Members) -> TransactionStatus | None:
    """Return ``booked`` for 4 or no status, not listed for 2 and 3, with which no money moved, else ``pending``.

    Not listed is ``None``.
    """
    given = entry.get("status")
    status = values.identifier(given)
    is_unstated = given is None or (isinstance(given, str) and status is None)
    if is_unstated or status == _EXECUTED:
        return "booked"
    return None if status in _NOT_EXECUTED else "pending"


def unsigned_direction(entry: Members, account_id: str) -> Direction | None:
    """Return ``debit`` if the account is ``internal_account_id`` of ``sender_data``, ``credit`` if it is that of
    ``receiver_data``; ``None`` if both or none are.
    """
    own = [
        side
        for side in (SIDES.payer, SIDES.payee)
        if values.identifier(find(entry, ("additional_data", side, "internal_account_id"))) == account_id
    ]
    if len(own) != 1:
        return None
    return "debit" if own == [SIDES.payer] else "credit"


def next_page(limit: int, page: PageState, answer: Members, count: int) -> str | None:
    """Return the next number; ``None`` after a page of fewer entries than ``limit`` and ``paginator.limit``."""
    at_bank = values.number(find(answer, ("paginator", "limit"))) or ""
    least = min(limit, int(at_bank)) if at_bank.isdecimal() and int(at_bank) else limit
    return str(int(page.position) + 1) if count and count >= least else None


UNIFIED = UnifiedVersion(
    accounts=ListTable(ACCOUNTS, (), ACCOUNT_SHAPE, LONGEST_ACCOUNT_ID, "accounts", messages.Account),
    account=ReadTable(ACCOUNT, (_ACCOUNT_ROW,), ACCOUNT_SHAPE, LONGEST_ACCOUNT_ID, "account"),
    balances=ListTable(
        ACCOUNT_BALANCE,
        (_ACCOUNT_ROW,),
        BALANCE_SHAPE,
        LONGEST_ACCOUNT_ID,
        "accounts",
        messages.Balance,
        amount="balance",
        account_id="id",
    ),
    transactions=TransactionTable(
        ACCOUNT_PAYMENTS,
        (_ACCOUNT_ROW, RequestRow("record_count", "limit"), RequestRow("current_page", "position", int)),
        TRANSACTION_SHAPE,
        LONGEST_ACCOUNT_ID,
        "payments",
        messages.ListedPayment,
        amount="amount",
        lists=(NativeList("payments", payment_status, frozenset({"booked", "pending", "all"})),),
        unsigned_direction=unsigned_direction,
        next_position=next_page,
        repeats_allowed=1,
        first_position="1",
        last_page=messages.LAST_PAGE,
    ),
    funds_confirmations=v1_payment_tables.FUNDS,
    payments=v1_payment_tables.PAYMENTS,
)
