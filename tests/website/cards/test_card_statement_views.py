"""The statement of a card account, as a page and as a CSV file."""

import csv
import html
import io
import re
from datetime import UTC, datetime

import pytest

from tests.cards.issuer import Issuer, NewCard
from tests.causeway import Causeway
from tests.website.web_user import WebUser


def test_a_statement_contains_balances_totals_and_rows_on_the_page_and_in_the_csv_file(
    issuer: Issuer, colleague: WebUser, card: NewCard
) -> None:
    issuer.clearing(issuer.purchase(card.card_id, 25_00, merchant_name="=Corner Shop"), 25_00)
    issuer.clock.advance(5)
    colleague.get(f"/cards/{card.card_id}/statement")
    text = colleague.text

    assert "Opening balance 0.00 EUR Came in 500.00 EUR Went out 25.00 EUR Closing balance 475.00 EUR" in text
    assert "=Corner Shop \u221225.00 EUR 475.00 EUR" in text
    (csv_link,) = re.findall(r'href="([^"]+format=csv)"', colleague.last.text)
    file = colleague.get(html.unescape(csv_link))
    rows = list(csv.DictReader(io.StringIO(file.text)))

    assert file.headers["content-type"].startswith("text/csv")
    assert file.headers["content-disposition"].startswith(f'attachment; filename="statement-{card.account_id}-')
    assert [row["type"] for row in rows] == [
        "Opening balance",
        "inbound external payment",
        "purchase",
        "Closing balance",
    ]
    assert [row["amount"] for row in rows] == ["", "500.00", "-25.00", ""]
    assert [row["balance"] for row in rows] == ["0.00", "500.00", "475.00", "475.00"]
    assert rows[2]["purpose"] == "'=Corner Shop", "no formula of a spreadsheet"


def test_invalid_statement_days_are_rejected(colleague: WebUser, card: NewCard) -> None:
    place = f"/cards/{card.card_id}/statement"
    for query, words in (
        ("from=2026-02-30", "This is not a date."),
        ("from=2026-01-02&to=2026-01-01", "This is later than the last day."),
    ):
        answer = colleague.get(f"{place}?{query}&format=csv")
        assert (answer.status, words in answer.text) == (400, True)
    assert colleague.get(f"{place}?from=2001-01-01&to=2001-01-31").status == 200
    assert "Nothing was booked on these days." in colleague.text
    assert colleague.get(f"{place}?account_id=987654321").status == 404
    assert colleague.get("/cards/987654321/statement").status == 404


@pytest.mark.usefixtures("colleague")
def test_a_statement_ends_with_the_last_second_of_its_last_day_in_utc(
    causeway: Causeway, issuer: Issuer, email: str
) -> None:
    card = issuer.card_in("A")
    address = issuer.address(card.account_id, method=2)
    midnight = (issuer.clock.time() // 86_400 + 1) * 86_400
    for second, amount in ((midnight - 1, 1_00), (midnight, 2_00)):
        issuer.clock.advance(second - issuer.clock.time())
        issuer.inbound(address, amount)
    issuer.clock.advance(5)
    before, after = (datetime.fromtimestamp(each, UTC).date() for each in (midnight - 1, midnight))
    place, colleague = f"/cards/{card.card_id}/statement", WebUser.signed_in(causeway, email)
    files = [colleague.get(f"{place}?from={day}&to={day}&format=csv").text for day in (before, after)]
    amounts = [[row["amount"] for row in csv.DictReader(io.StringIO(file)) if row["amount"]] for file in files]
    balances = [[row["balance"] for row in csv.DictReader(io.StringIO(file))] for file in files]

    assert amounts == [["1.00"], ["2.00"]]
    assert balances == [["0.00", "1.00", "1.00"], ["1.00", "3.00", "3.00"]]


def test_a_statement_with_too_many_transactions_returns_400(
    monkeypatch: pytest.MonkeyPatch, issuer: Issuer, colleague: WebUser, card: NewCard
) -> None:
    monkeypatch.setattr("chalicelib.cards.protocol.portal_messages.STATEMENT_ROWS", 1)
    issuer.give(card.account_id, 1_00)
    issuer.clock.advance(5)
    answer = colleague.get(f"/cards/{card.card_id}/statement")

    assert (answer.status, "Choose fewer days." in answer.text) == (400, True)


def test_a_long_statement_shows_its_first_rows_and_the_total_number_of_rows(
    monkeypatch: pytest.MonkeyPatch, issuer: Issuer, colleague: WebUser, card: NewCard
) -> None:
    monkeypatch.setattr("chalicelib.website.cards.card_statement_views.SHOWN", 1)
    issuer.give(card.account_id, 1_00)
    issuer.clock.advance(5)

    assert "first 1 of 2 transactions" in colleague.get(f"/cards/{card.card_id}/statement").text
    assert "Closing balance 501.00 EUR" in colleague.text
