"""An account's statement as CSV; amounts are in major units of the account's currency."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from chalicelib.cards.protocol.values import TRANSACTION_TYPES
from chalicelib.foundation.clock import timestamp
from chalicelib.statistics.export import Row, write_csv
from chalicelib.website.cards.card_text import currency_code, decimal_amount, purpose, remark

NAMES: Sequence[str] = (
    "time",
    "transaction_id",
    "type",
    "purpose",
    "details",
    "card_id",
    "transaction_amount",
    "transaction_currency",
    "amount",
    "balance",
    "currency",
)
OPENING, CLOSING = "Opening balance", "Closing balance"


def statement_csv(statement: Mapping[str, Any], since: int, until: int) -> str:
    """The opening balance, each transaction in its order, and the closing balance; times are UTC.

    Args:
        statement: the response of ``showStatement``.
        since: the first Unix second.
        until: the last Unix second.
    """
    return write_csv(NAMES, _rows(statement, since, until))


def totals(statement: Mapping[str, Any]) -> tuple[int, int]:
    """The sums of what came in and of what went out, both positive, in minor units."""
    moved = [row["settled_amount"] for row in statement["transactions"]]
    return sum(amount for amount in moved if amount > 0), -sum(amount for amount in moved if amount < 0)


def _rows(statement: Mapping[str, Any], since: int, until: int) -> Iterator[Row]:
    currency = statement["account"]["currency_ison"]
    yield _balance_row(OPENING, since, statement["opening_balance"], currency)
    for row in statement["transactions"]:
        yield {
            "time": timestamp(row["at"] // 1000),
            "transaction_id": row["transaction_id"],
            "type": TRANSACTION_TYPES[row["transaction_type"]],
            "purpose": purpose(row),
            "details": remark(row),
            "card_id": row.get("card_id"),
            "transaction_amount": decimal_amount(row["transaction_amount"], row["transaction_currency_ison"]),
            "transaction_currency": currency_code(row["transaction_currency_ison"]),
            "amount": decimal_amount(row["settled_amount"], currency),
            "balance": decimal_amount(row["settled_balance"], currency),
            "currency": currency_code(currency),
        }
    yield _balance_row(CLOSING, until, statement["closing_balance"], currency)


def _balance_row(name: str, at: int, balance: int, currency: int) -> Row:
    members: Row = dict.fromkeys(NAMES)
    return members | {
        "time": timestamp(at),
        "type": name,
        "balance": decimal_amount(balance, currency),
        "currency": currency_code(currency),
    }
