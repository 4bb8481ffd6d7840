"""Tests of balances and funds confirmations: every balance type, and current amounts."""

from decimal import Decimal
from typing import Any

from tests.demo_bank.single_bank import CURRENCY, PAID, SLOW, SingleBank, code

FUNDS = {"one": "/funds_confirmations", "two": "/v2_funds_confirmations"}


def has_funds(bank: SingleBank, given: str, amount: object, currency: str = "") -> Any:
    name = bank.profile.name
    asked = {
        "account": {"iban": bank.account().iban},
        "instructed_amount": {"amount": amount, "currency": currency or CURRENCY[name]},
    }
    return bank.ask(FUNDS[name], asked, given)


def test_version_1_returns_the_balance_of_an_account_by_iban_or_id(one: SingleBank) -> None:
    given, whose = one.token(), one.account()
    by_id = one.ask("/account_balance", {"account_id": whose.account_id}, given)
    assert by_id == one.ask("/account_balance", {"iban": whose.iban}, given)
    (row,) = by_id["accounts"]
    assert row["id"] == whose.account_id
    assert row["name"] == "Everyday Account"
    assert row["currency"] == "GBP"
    assert row["balance"] == Decimal("3354.63")


def test_a_request_with_the_iban_and_the_account_id_of_different_accounts_is_rejected(one: SingleBank) -> None:
    given, whose, other = one.token(), one.account(), one.account(position=1)
    both = {"iban": whose.iban, "account_id": whose.account_id}
    assert one.ask("/account_balance", both, given) == one.ask("/account_balance", {"iban": whose.iban}, given)
    mixed = both | {"account_id": other.account_id}
    assert code(one.webhook("/account_balance", mixed, token=given)) == (400, 4001)


def test_a_long_account_name_is_truncated_in_a_balance_record(one: SingleBank) -> None:
    whose = one.account("carys")
    (row,) = one.ask("/account_balance", {"iban": whose.iban}, one.token("carys"))["accounts"]
    assert row["name"] == "Morgan Ceramics Busi"


def test_version_2_returns_the_booked_the_available_and_the_opening_balance(two: SingleBank) -> None:
    given, whose = two.token(), two.account()
    before = kinds(two, given, whose.account_id)
    assert set(before) == {"interimBooked", "interimAvailable", "openingBooked"}
    two.pay(given)
    after = kinds(two, given, whose.account_id)
    assert after == before | {
        "interimBooked": before["interimBooked"] - PAID,
        "interimAvailable": before["interimAvailable"] - PAID,
    }
    two.clock.advance(86400)
    tomorrow = kinds(two, given, whose.account_id)
    assert tomorrow["openingBooked"] == after["interimBooked"]


def test_a_card_account_has_a_non_invoiced_balance(two: SingleBank) -> None:
    given, card = two.token(), two.account(position=3)
    found = kinds(two, given, card.account_id)
    assert set(found) == {"interimBooked", "interimAvailable", "openingBooked", "nonInvoiced"}
    assert found["nonInvoiced"] == found["interimBooked"] + Decimal("286.40")


def kinds(bank: SingleBank, given: str, account_id: str) -> dict[str, Decimal]:
    rows = bank.ask("/v2_account_balances", {"account_id": account_id}, given)["balances"]
    return {row["balance_type"]: row["balance_amount"]["amount"] for row in rows}


def test_confirmed_unsettled_payments_reduce_the_available_funds(bank: SingleBank) -> None:
    given = bank.token()
    available = bank.balances(given)[1]
    bank.pay(given, scheme=SLOW[bank.profile.name])
    left = available - PAID
    if bank.profile.version == 1:
        assert has_funds(bank, given, "1") == {"balance": left, "currency": "GBP"}
    else:
        assert has_funds(bank, given, str(left)) == {"funds_available": True}
        assert has_funds(bank, given, str(left + Decimal("0.01"))) == {"funds_available": False}


def test_funds_in_another_currency_are_not_available(bank: SingleBank) -> None:
    assert has_funds(bank, bank.token(), "0.01", "USD") == {"funds_available": False}


def test_the_accounts_of_a_customer_in_several_currencies_can_share_one_iban(two: SingleBank) -> None:
    given, sek = two.token(), two.account(position=1)
    for currency, expected in (("SEK", True), ("PLN", True), ("EUR", False)):
        amount = {"amount": "3000", "currency": currency}
        asked = {"account": {"iban": sek.iban}, "instructed_amount": amount}
        assert two.ask(FUNDS["two"], asked, given) == {"funds_available": expected}


def test_a_funds_confirmation_for_an_unapproved_account_is_rejected(bank: SingleBank) -> None:
    name = bank.profile.name
    other = bank.account("carys" if name == "one" else "sofia").iban
    asked = {"account": {"iban": other}, "instructed_amount": {"amount": "1", "currency": CURRENCY[name]}}
    reply = bank.webhook(FUNDS[name], asked, token=bank.token())
    assert code(reply) == bank.either((400, 4001), (404, "RESOURCE_UNKNOWN"))
