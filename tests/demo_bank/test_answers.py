"""Balances and confirmations of funds: every kind of balance, and honest answers about money."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

from tests.demo_bank.paying import CURRENCY, PAID, SLOW, account, ask, balances, code, either, pay, token
from tests.demo_bank.stage import Stage

FUNDS = {"one": "/funds_confirmations", "two": "/v2_funds_confirmations"}


def has_funds(stage: Stage, given: str, amount: object, currency: str = "") -> Any:
    """The answer about the customer's first account."""
    name = stage.profile.name
    asked = {
        "account": {"iban": account(stage).iban},
        "instructed_amount": {"amount": amount, "currency": currency or CURRENCY[name]},
    }
    return ask(stage, FUNDS[name], asked, given)


def test_version_1_returns_the_balance_of_an_account_by_iban_or_id(one: Stage) -> None:
    given, whose = token(one), account(one)
    by_id = ask(one, "/account_balance", {"account_id": whose.account_id}, given)
    assert by_id == ask(one, "/account_balance", {"iban": whose.iban}, given)
    (row,) = by_id["accounts"]
    assert row["id"] == whose.account_id
    assert row["name"] == "Everyday Account"
    assert row["currency"] == "GBP"
    assert row["balance"] == Decimal("3354.63")


def test_iban_and_account_id_must_name_the_same_account(one: Stage) -> None:
    given, whose, other = token(one), account(one), account(one, position=1)
    both = {"iban": whose.iban, "account_id": whose.account_id}
    assert ask(one, "/account_balance", both, given) == ask(one, "/account_balance", {"iban": whose.iban}, given)
    mixed = both | {"account_id": other.account_id}
    assert code(one.webhook("/account_balance", mixed, token=given)) == (400, 4001)


def test_an_account_name_is_cut_to_the_length_of_a_balance_record(one: Stage) -> None:
    whose = account(one, "carys")
    (row,) = ask(one, "/account_balance", {"iban": whose.iban}, token(one, "carys"))["accounts"]
    assert row["name"] == "Morgan Ceramics Busi"


def test_version_2_returns_booked_available_and_opening_balances(two: Stage) -> None:
    given, whose = token(two), account(two)
    before = kinds(two, given, whose.account_id)
    assert set(before) == {"interimBooked", "interimAvailable", "openingBooked"}
    pay(two, given)
    after = kinds(two, given, whose.account_id)
    assert after == before | {
        "interimBooked": before["interimBooked"] - PAID,
        "interimAvailable": before["interimAvailable"] - PAID,
    }
    two.clock.advance(86400)
    tomorrow = kinds(two, given, whose.account_id)
    assert tomorrow["openingBooked"] == after["interimBooked"]


def test_a_card_account_has_a_non_invoiced_balance(two: Stage) -> None:
    given, card = token(two), account(two, position=3)
    found = kinds(two, given, card.account_id)
    assert set(found) == {"interimBooked", "interimAvailable", "openingBooked", "nonInvoiced"}
    assert found["nonInvoiced"] == found["interimBooked"] + Decimal("286.40")


def kinds(stage: Stage, given: str, account_id: str) -> dict[str, Decimal]:
    rows = ask(stage, "/v2_account_balances", {"account_id": account_id}, given)["balances"]
    return {row["balance_type"]: row["balance_amount"]["amount"] for row in rows}


def test_confirmed_unsettled_payments_reduce_the_available_funds(stage: Stage) -> None:
    given = token(stage)
    available = balances(stage, given)[1]
    pay(stage, given, scheme=SLOW[stage.profile.name])
    left = available - PAID
    if stage.profile.version == 1:
        assert has_funds(stage, given, "1") == {"balance": left, "currency": "GBP"}
    else:
        assert has_funds(stage, given, str(left)) == {"funds_available": True}
        assert has_funds(stage, given, str(left + Decimal("0.01"))) == {"funds_available": False}


def test_funds_in_another_currency_are_not_available(stage: Stage) -> None:
    assert has_funds(stage, token(stage), "0.01", "USD") == {"funds_available": False}


def test_currencies_of_one_account_share_its_iban(two: Stage) -> None:
    given, sek = token(two), account(two, position=1)
    for currency, expected in (("SEK", True), ("PLN", True), ("EUR", False)):
        amount = {"amount": "3000", "currency": currency}
        asked = {"account": {"iban": sek.iban}, "instructed_amount": amount}
        assert ask(two, FUNDS["two"], asked, given) == {"funds_available": expected}


def test_a_funds_confirmation_for_an_unapproved_account_is_rejected(stage: Stage) -> None:
    name = stage.profile.name
    other = account(stage, "carys" if name == "one" else "sofia").iban
    asked = {"account": {"iban": other}, "instructed_amount": {"amount": "1", "currency": CURRENCY[name]}}
    reply = stage.webhook(FUNDS[name], asked, token=token(stage))
    assert code(reply) == either(stage, (400, 4001), (404, "RESOURCE_UNKNOWN"))
