"""Tests of network messages in the reports: every record has the members of its table."""

from collections.abc import Mapping
from typing import Any

import pytest

from chalicelib.cards.protocol.report_messages import CardActivityRecord, FinancialAuthorizeRecord, TransactionRecord
from infra.render.openapi.cards.answer_models import model_of
from tests.cards.issuer import BRITAIN, EUR, USD, Issuer
from tests.cards.specification import TABLES, Member

SHOP = {
    "mcc": "0742",
    "merchant_name": "Corner Shop",
    "merchant_id": "SHOP0001",
    "merchant_country_ison": BRITAIN,
    "terminal_id": "T0000001",
}
USE = {"entry_mode_type": 5, "eci_indicator": 5, "cashback_amount": 0}
MODELS: Mapping[str, Any] = {
    "getCardsActivity": CardActivityRecord,
    "getFinancialAuthorizes": FinancialAuthorizeRecord,
    "getTransactions": TransactionRecord,
}
Rows = Mapping[str, list[dict[str, Any]]]


@pytest.fixture(scope="module")
def asked(issuer: Issuer) -> Mapping[str, Any]:
    card = issuer.spendable(100_000).card_id
    first = issuer.purchase(card, 2500, **SHOP, **USE)
    other = issuer.purchase(card, 1000, currency_ison=USD, **SHOP)
    declined = issuer.purchase(card, 9_000_000)
    more = issuer.data("simulateIncrement", trans_link=first["trans_link"], amount=500)
    back = issuer.data("simulateReversal", trans_link=other["trans_link"], amount=400)
    cleared = issuer.clearing(first, 3000, **SHOP)
    issuer.clearing(other, 600, currency_ison=USD)
    issuer.data("simulateRefund", trans_link=first["trans_link"], amount=100, currency_ison=EUR)
    issuer.data("simulateDispute", transaction_id=cleared["transaction_id"], step="opened", amount=1000)
    return {
        "card": card,
        "first": first,
        "other": other,
        "declined": declined,
        "more": more,
        "back": back,
        "cleared": cleared,
    }


@pytest.fixture(scope="module")
def rows(issuer: Issuer, asked: Mapping[str, Any]) -> Rows:
    members = {"card_id": asked["card"], "date_from": 0, "date_to": issuer.clock.time() + 9, "item_count": 100}
    return {action: issuer.data(action, **members) for action in MODELS}


@pytest.mark.parametrize("action", MODELS)
def test_every_record_has_the_members_of_its_table_in_order(rows: Rows, action: str) -> None:
    table: Mapping[str, Member] = TABLES[action].answer
    for row in rows[action]:
        assert {name for name, member in table.items() if member.mandatory} <= row.keys()
        assert list(row) == [name for name in table if name in row]
        model_of(MODELS[action]).model_validate(row)


def test_the_activity_lists_all_messages_and_financial_authorizes_lists_only_approved_debits(
    rows: Rows, asked: Mapping[str, Any]
) -> None:
    numbers = [asked[name]["authorize_id"] for name in ("first", "other", "declined", "more", "back")]

    assert [row["authorize_id"] for row in rows["getCardsActivity"]] == numbers
    assert [row["authorize_id"] for row in rows["getFinancialAuthorizes"]] == [numbers[0], numbers[1], numbers[3]]
    assert [row["authorize_type"] for row in rows["getCardsActivity"]] == [1, 1, 1, 3, 4]
    assert [row["reversal"] for row in rows["getCardsActivity"]] == [0, 0, 0, 0, 1]
    assert [row["actual"] for row in rows["getCardsActivity"]] == [1, 1, 0, 1, 1]


def test_a_foreign_message_shows_its_amount_in_the_accounts_currency(rows: Rows) -> None:
    row = rows["getFinancialAuthorizes"][1]

    assert (row["transaction_amount"], row["transaction_currency_ison"]) == (1000, USD)
    assert row["billing_currency_ison"] == row["holder_currency_ison"] == EUR
    assert row["billing_amount"] == round(1000 * row["base_conversion_rate"])
    assert row["billing_conversion_rate"] == row["base_conversion_rate"]


def test_a_message_shows_the_merchant_and_the_entry_mode(rows: Rows) -> None:
    row = rows["getCardsActivity"][0]

    assert {name: row[name] for name in ("merchant_name", "merchant_id", "terminal_id", "country_ison", "mcc")} == {
        "merchant_name": "Corner Shop",
        "merchant_id": "SHOP0001",
        "terminal_id": "T0000001",
        "country_ison": BRITAIN,
        "mcc": 742,
    }
    assert row["entry_mode_type"] == 5
    assert row["card_present"] == 1
    assert row["eci_indicator"] == 5


def test_get_transactions_lists_clearings_refunds_and_disputes(rows: Rows, asked: Mapping[str, Any]) -> None:
    shown = rows["getTransactions"]
    cleared, converted, refunded, disputed = [row for row in shown if row["mti"] in (1240, 1442)]

    assert cleared["transaction_id"] == asked["cleared"]["transaction_id"]
    assert [row["mti"] for row in (cleared, converted, refunded, disputed)] == [1240, 1240, 1240, 1442]
    assert [row["transaction_type"] for row in (cleared, converted, refunded)] == [0, 0, 20]
    assert cleared["trans_link"] == refunded["trans_link"] == disputed["trans_link"] == asked["first"]["trans_link"]
    assert cleared["transaction_log_id"] == asked["first"]["authorize_id"]
    assert disputed["parent_transaction_id"] == cleared["transaction_id"]
    assert (cleared["merchant_country"], cleared["merchant"]) == ("GBR", "Corner Shop GBR")
    assert cleared["auth_code"] == asked["first"]["auth_code"]


def test_a_foreign_transaction_shows_its_amount_in_the_accounts_currency(rows: Rows) -> None:
    converted = next(row for row in rows["getTransactions"] if row["transaction_currency_ison"] == USD)

    assert converted["reconciliation_amount"] == converted["transaction_amount"] == 600
    assert converted["holder_billing_amount"] == round(600 * converted["base_conversion_rate"])
    assert converted["holder_amount"] >= converted["holder_billing_amount"]


def test_a_page_starts_after_the_last_id_of_an_increment(issuer: Issuer, asked: Mapping[str, Any]) -> None:
    members = {"card_id": asked["card"], "date_from": 0, "date_to": issuer.clock.time() + 9, "item_count": 100}

    after = issuer.data("getCardsActivity", **members, last_id=asked["more"]["authorize_id"])

    assert [row["authorize_id"] for row in after] == [asked["back"]["authorize_id"]]
