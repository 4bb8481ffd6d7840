"""The statement of an account for chosen days: a printable page and a CSV file."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import date, timedelta
from typing import Any

from chalice.app import Response

from chalicelib.cards.protocol.portal_messages import SHOW_STATEMENT, STATEMENT_ROWS
from chalicelib.cards.protocol.status_codes import Refused, Status
from chalicelib.cards.protocol.values import TRANSACTION_TYPES
from chalicelib.foundation.clock import timestamp
from chalicelib.foundation.http.web import text_answer
from chalicelib.foundation.lazy_dataclasses import dataclass
from chalicelib.statistics.days import day_of, first_day
from chalicelib.statistics.export import Row, write_csv
from chalicelib.website.cards.card_access_views import card_id_of, for_linked_users, id_member
from chalicelib.website.cards.card_text import currency_code, decimal_amount, purpose, remark
from chalicelib.website.form_fields import first_second, last_second, read_day
from chalicelib.website.pages import Visit, page

DAYS = 30  # days shown by default
SHOWN = 150  # transactions on the page, to keep it small; the file has all of them
_CSV = "text/csv; charset=utf-8"


@dataclass(frozen=True, slots=True)
class StatementQuery:
    """The requested account and days, or errors by field."""

    members: Mapping[str, Any]
    since: date
    until: date
    errors: Mapping[str, str]

    @property
    def span(self) -> dict[str, int]:
        return {"date_from": first_second(self.since), "date_to": last_second(self.until)}


@for_linked_users
def show_statement(visit: Visit, manager_id: int) -> Response:
    """``GET /cards/{card_id}/statement``: show the statement of ``account_id`` from ``from`` to ``to``, or CSV
    (``format=csv``).
    """
    wanted = _read_query(visit)
    try:
        found = visit.website.portal.read(manager_id, SHOW_STATEMENT, **wanted.members, **_known_span(wanted))
    except Refused as refusal:
        if refusal.status != Status.FIELD_VALUE:
            raise
        many = f"There are more than {STATEMENT_ROWS:,} transactions. Choose fewer days."
        wanted = StatementQuery(wanted.members, wanted.since, wanted.until, {"from": many})
        found = visit.website.portal.read(manager_id, SHOW_STATEMENT, **wanted.members, **_known_span(wanted))
    statement = found["data"]
    if visit.field("format") == "csv" and not wanted.errors:
        return _csv_file(statement, wanted)
    return _statement_page(visit, wanted, statement, found["programme_manager"])


def _read_query(visit: Visit) -> StatementQuery:
    """Parse the query. By default, the statement covers the last 30 days, including today."""
    errors: dict[str, str] = {}
    today = day_of(visit.website.shared.clock.time())
    until = read_day(visit.field, "to", errors) or today
    since = read_day(visit.field, "from", errors) or first_day(until, DAYS)
    if not errors and since > until:
        errors["from"] = "This is later than the last day."
    members = {"card_id": card_id_of(visit), **id_member("account_id", visit.field("account_id"))}
    return StatementQuery(members, since, until, errors)


def _known_span(wanted: StatementQuery) -> dict[str, int]:
    """Return the time span to read. After an error, the span contains no transactions, as the page shows only the
    account.
    """
    return {"date_from": 1, "date_to": 0} if wanted.errors else wanted.span


def _csv_file(statement: Mapping[str, Any], wanted: StatementQuery) -> Response:
    text = statement_csv(statement, wanted.span["date_from"], wanted.span["date_to"])
    name = f"statement-{statement['account']['id']}-{wanted.since}-{wanted.until}.csv"
    return text_answer(text, _CSV, headers={"Content-Disposition": f'attachment; filename="{name}"'})


def _statement_page(visit: Visit, wanted: StatementQuery, statement: Mapping[str, Any], manager: str) -> Response:
    came, went = totals(statement)
    given = {"from": wanted.since.isoformat(), "to": wanted.until.isoformat()}
    given |= {name: visit.field(name) for name in ("from", "to") if name in wanted.errors}
    month = wanted.until.replace(day=1) - timedelta(days=1) if wanted.until.year > 1 else wanted.until
    return page(
        visit,
        "card_statement.html",
        status=400 if wanted.errors else 200,
        manager=manager,
        card_id=wanted.members["card_id"],
        statement=statement,
        account=statement["account"],
        rows=statement["transactions"][:SHOWN],
        came=came,
        went=went,
        since=wanted.since,
        until=wanted.until,
        given=given,
        errors=wanted.errors,
        last_month={"from": month.replace(day=1).isoformat(), "to": month.isoformat()},
    )


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
    """Write the opening balance, each transaction in order, and the closing balance as CSV. Times are UTC.

    Args:
        statement: the response of ``showStatement``.
        since: the first Unix second.
        until: the last Unix second.
    """
    return write_csv(NAMES, _rows(statement, since, until))


def totals(statement: Mapping[str, Any]) -> tuple[int, int]:
    """The sums of incoming and of outgoing amounts, both positive, in minor units."""
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
