"""Tests of custom fees: payer, amount and record, and the lists of fees and fee groups."""

from decimal import Decimal
from typing import Any

import pytest

from tests.cards.issuer import EUR, EVERYDAY, GBP, LEFT_OUT, OTHER_MANAGER, PREPAID, SEPA, Envelope, Issuer, NewCard
from tests.cards.programmes import CUSTOM, DINAR, SEPARATE, YEN, with_tariff
from tests.cards.stored_money import entries, movements, prove, transactions

FEE = "createCustomFee"


@pytest.fixture(scope="module")
def tariff(issuer: Issuer) -> Issuer:
    return with_tariff(issuer)


@pytest.fixture(scope="module")
def rich(tariff: Issuer) -> int:
    return int(tariff.funded_address(100_000_000, EUR)["account_id"])


def ask(issuer: Issuer, **members: Any) -> Envelope:
    least = {"fee_group_id": CUSTOM, "fee_code": "REPLACE", "description": "Replacement card"}
    return issuer.do(FEE, **least | members)


def charged(issuer: Issuer, account: int, **members: Any) -> int:
    before = issuer.balances(account)[0]
    answer = ask(issuer, account_id=account, **members)
    assert answer.status == "success", answer.raw
    return before - int(answer.data["available_balance"])


def with_money(issuer: Issuer, amount: int = 10_000) -> NewCard:
    card = issuer.card(card_currency_ison=[EUR, GBP])
    for row in issuer.data("getAccounts", card_id=card.card_id):
        issuer.inbound(issuer.address(row["id"], SEPA), amount)
    return card


# -- who pays


def test_a_custom_fee_is_debited_immediately_and_listed(tariff: Issuer) -> None:
    account = tariff.funded_address(10_000, EUR)["account_id"]

    answer = ask(tariff, account_id=account, country_ison=276)

    number = answer.data["transaction_id"]
    assert answer.data == {"transaction_id": number, "available_balance": 9500, "settled_balance": 9500}
    assert tariff.balances(account) == (9500, 9500, 0)
    row = transactions(tariff, account)[-1]
    assert row["id"] == number
    assert row["transaction_type"] == 70
    assert row["direction"] == "debit"
    assert row["holder_amount"] == 500
    assert row["description"] == "Replacement card"
    assert row["fee_code"] == "REPLACE"
    assert row["country"] == 276
    assert entries(movements(tariff, account)[-1]) == {("settled", EUR): -500, ("fees", EUR): 500}


def test_a_custom_fee_debits_the_cards_account_in_the_requested_currency(tariff: Issuer) -> None:
    card = with_money(tariff)
    accounts = {row["currency_ison"]: row["id"] for row in tariff.data("getAccounts", card_id=card.card_id)}
    before = tariff.balances(accounts[GBP])[0]

    assert ask(tariff, card_id=card.card_id, account_currency=EUR).data["available_balance"] == 9500
    assert ask(tariff, card_id=card.card_id, account_currency=GBP).data["available_balance"] == before - 450
    assert transactions(tariff, accounts[GBP])[-1]["card_id"] == card.card_id
    assert ask(tariff, card_id=card.card_id, account_currency=YEN).status_code == 3001


def test_a_fee_in_a_currency_other_than_the_account_currency_returns_2005(tariff: Issuer) -> None:
    card = with_money(tariff)
    before = tariff.balances(card.account_id)
    linked = ask(tariff, card_id=card.card_id, account_currency=EUR).data["transaction_id"]

    for named in ({"account_id": card.account_id}, {"card_id": card.card_id, "transaction_id": linked}):
        assert ask(tariff, **named, account_currency=EUR).status == "success"
        answer = ask(tariff, **named, account_currency=GBP)
        assert (answer.status_code, "account_currency" in answer.message) == (2005, True)
    assert tariff.balances(card.account_id)[0] == before[0] - 3 * 500


def test_an_account_that_is_not_on_the_card_returns_3002(tariff: Issuer) -> None:
    card, other = with_money(tariff), tariff.account()

    assert ask(tariff, card_id=card.card_id, account_id=card.account_id).data["available_balance"] == 9500
    assert ask(tariff, card_id=card.card_id, account_id=other).status_code == 3002


@pytest.mark.parametrize(
    ("members", "code"),
    [
        ({}, 2006),
        ({"card_id": 1}, 2006),
        ({"account_id": 1, "amount": 100}, 2006),
        ({"account_id": 999_999_999}, 3001),
        ({"card_id": 999_999_999, "account_currency": EUR}, 3002),
        ({"card_id": 999_999_999, "transaction_id": 1}, 3002),
        ({"fee_group_id": 999}, 3006),
        ({"fee_code": "NONE"}, 2005),
        ({"fee_code": "NINELONG9"}, 2003),
        ({"description": LEFT_OUT}, 2001),
        ({"amount": 0, "currency_ison": EUR}, 2005),
        ({"transaction_id": 99_999_999_999}, 3012),
    ],
)
def test_missing_or_unknown_members_are_rejected(tariff: Issuer, rich: int, members: dict[str, Any], code: int) -> None:
    own = {} if not members or {"card_id", "account_id"} & members.keys() else {"account_id": rich}

    assert ask(tariff, **own | members).status_code == code


@pytest.mark.parametrize(("status", "code"), [("A", None), ("R", 4003), ("S", 4003), ("C", 4003)])
def test_only_an_active_account_pays_fees(tariff: Issuer, status: str, code: int | None) -> None:
    account = tariff.account()
    if status != "C":
        tariff.inbound(tariff.address(account, SEPA), 500)
    tariff.data("changeAccountStatus", account_id=account, account_status=status)

    assert ask(tariff, account_id=account).status_code == code


@pytest.mark.parametrize(("available", "code"), [(500, None), (499, 5001)])
def test_a_fee_above_the_available_balance_returns_5001(tariff: Issuer, available: int, code: int | None) -> None:
    address = tariff.funded_address(10_000, EUR)
    tariff.pending_payment(address, 10_000 - available)

    assert ask(tariff, account_id=address["account_id"]).status_code == code
    assert tariff.balances(address["account_id"])[0] == (available if code else 0)


@pytest.mark.parametrize(("level", "code"), [(500, None), (499, 3001)])
def test_a_fee_on_an_account_or_transaction_above_the_access_level_is_rejected(
    tariff: Issuer, level: int, code: int | None
) -> None:
    address = tariff.funded_address(10_000, EUR, access_level=500)
    account = address["account_id"]
    number = tariff.inbound(address, 100)["transaction_id"]
    plain = tariff.funded_address(10_000, EUR)["account_id"]

    assert ask(tariff, account_id=account, access_level=level).status_code == code
    assert ask(tariff, account_id=plain, transaction_id=number, access_level=499).status_code == 3012
    other = tariff.as_caller("other")
    assert ask(other, account_id=account, fee_group_id=1301).status_code == 3001
    assert ask(other, account_id=other.account(program_id=1501), transaction_id=number).status_code == 3012


# -- what it comes to


@pytest.mark.parametrize(
    ("members", "taken"),
    [
        ({}, 500),
        ({"currency_ison": GBP}, 563),  # 4.50 GBP, the price in this currency, is 5.625 EUR
        ({"amount": 123, "currency_ison": EUR}, 123),
        ({"amount": 100, "currency_ison": GBP}, 125),
        ({"amount": 101, "currency_ison": GBP}, 126),  # 126.25
        ({"amount": 102, "currency_ison": GBP}, 128),  # 127.5
        ({"amount": 1000, "currency_ison": YEN}, 625),
        ({"fee_code": "YENS"}, 625),
        ({"amount": 2500, "currency_ison": DINAR}, 1000),
        ({"fee_code": "FREE", "amount": 7, "currency_ison": EUR}, 7),
    ],
)
def test_a_fee_is_the_requested_amount_or_the_price_of_its_code_at_the_base_rate(
    tariff: Issuer, rich: int, members: dict[str, Any], taken: int
) -> None:
    assert charged(tariff, rich, **members) == taken


def test_a_fee_in_a_foreign_currency_is_converted(tariff: Issuer, rich: int) -> None:
    charged(tariff, rich, amount=100, currency_ison=GBP)

    assert entries(movements(tariff, rich)[-1]) == {
        ("settled", EUR): -125,
        ("conversion", EUR): 125,
        ("conversion", GBP): -100,
        ("fees", GBP): 100,
    }
    row = transactions(tariff, rich)[-1]
    assert row["amount"] == 100
    assert row["currency"] == GBP
    assert row["holder_amount"] == 125
    assert row["holder_currency"] == EUR
    assert row["conversion_fee"] == 0
    assert row["base_rate"] == Decimal("1.25")
    assert row["holder_rate"] == Decimal("1.25")


@pytest.mark.parametrize(
    ("members", "code"),
    [
        ({"fee_code": "FREE"}, 2005),
        ({"fee_code": "SHARE"}, 2006),
        ({"amount": 1, "currency_ison": 840}, 5003),
        ({"amount": 1, "currency_ison": DINAR}, 2005),  # 0.4 cents
    ],
)
def test_a_fee_without_an_amount_or_a_rate_is_rejected(
    tariff: Issuer, rich: int, members: dict[str, Any], code: int
) -> None:
    before = tariff.balances(rich)

    answer = ask(tariff, account_id=rich, **members)

    assert (answer.status_code, tariff.balances(rich)) == (code, before)


@pytest.mark.parametrize(
    ("amount", "fee"), [(100, 10), (419, 10), (420, 11), (459, 11), (460, 12), (3979, 99), (3980, 100), (9999, 100)]
)
def test_a_percentage_fee_is_limited_to_the_minimum_and_the_maximum(
    tariff: Issuer, shared: dict[int, int], amount: int, fee: int
) -> None:
    """The fee is 2.5 %, at least 0.10 and at most 1.00. For example, 2.5 % of 4.20 is 10.5 cents, rounded to 11."""
    account = shared[0]

    assert charged(tariff, account, fee_code="SHARE", transaction_id=shared[amount]) == fee


@pytest.fixture(scope="module")
def shared(tariff: Issuer) -> dict[int, int]:
    """Return the transaction ids of an account by amount. The key 0 has the account id."""
    address = tariff.funded_address(100_000, EUR)
    amounts = (100, 419, 420, 459, 460, 3979, 3980, 9999)
    made = {amount: int(tariff.inbound(address, amount)["transaction_id"]) for amount in amounts}
    return made | {0: int(address["account_id"])}


def test_a_fee_for_a_transaction_has_the_id_and_the_link_of_that_transaction(
    tariff: Issuer, shared: dict[int, int]
) -> None:
    charged(tariff, shared[0], transaction_id=shared[9999])

    found = transactions(tariff, shared[0])
    linked = next(row for row in found if row["id"] == shared[9999])
    assert (found[-1]["parent_id"], found[-1]["trans_link"]) == (linked["id"], linked["trans_link"])


def test_a_fee_on_a_card_debits_the_account_of_the_transaction(tariff: Issuer) -> None:
    card = with_money(tariff)
    pounds = next(row for row in tariff.data("getAccounts", card_id=card.card_id) if row["currency_ison"] == GBP)
    number = transactions(tariff, pounds["id"])[0]["id"]

    answer = ask(tariff, card_id=card.card_id, transaction_id=number)

    assert answer.data["available_balance"] == pounds["available_balance"] - 450
    assert ask(tariff, account_id=card.account_id, transaction_id=number).status_code == 3012
    assert ask(tariff, card_id=tariff.card().card_id, transaction_id=number).status_code == 3001


def test_a_price_without_an_exchange_rate_to_the_accounts_currency_returns_5003(tariff: Issuer) -> None:
    account = tariff.funded_address(10_000)["account_id"]

    assert ask(tariff, account_id=account, fee_code="YENS").status_code == 5003
    assert ask(tariff, account_id=account, amount=1, currency_ison=YEN).status_code == 5003


def test_a_repeated_request_charges_one_fee(tariff: Issuer, rich: int) -> None:
    before, reference = tariff.balances(rich)[0], tariff.reference()

    first, again = (ask(tariff, account_id=rich, request_reference_id=reference) for _ in range(2))

    assert again.duplicated == 1
    assert again.data == first.data
    assert tariff.balances(rich)[0] == before - 500


# -- lists


def fees_of(issuer: Issuer, card_id: int, item_count: int = 100, offset: int = 0) -> Envelope:
    return issuer.do("getCardFees", card_id=card_id, paginator={"item_count": item_count, "offset": offset})


def test_get_card_fees_returns_the_entries_of_the_cards_fee_group(tariff: Issuer) -> None:
    card = tariff.card(card_fee_group_id=SEPARATE)

    answer = fees_of(tariff, card.card_id, item_count=2)

    assert answer.members["paginator"] == {"total_items_count": 4}
    british, plain = answer.data
    assert british == {
        "title": "To Britain",
        "transaction_type": 61,
        "entry_mode_type": 99,
        "mcc_low": 0,
        "mcc_high": 9999,
        "fixed_price": 35,
        "percent_price": Decimal("0.2"),
        "currency_ison": GBP,
        "country_ison": 826,
        "min_amount": 50,
        "max_amount": 150,
        "date_updated": british["date_updated"],
        "code": "EXTOUT",
    }
    assert plain.keys().isdisjoint({"percent_price", "country_ison", "region_id", "min_amount", "max_amount"})
    assert [row["code"] for row in fees_of(tariff, card.card_id, offset=2).data] == ["EXTIN", "DDEBIT"]
    assert fees_of(tariff, card.card_id, offset=4).data == []


@pytest.mark.parametrize(("level", "code"), [(500, None), (499, 3002)])
def test_fees_of_a_card_above_the_access_level_return_3002(issuer: Issuer, level: int, code: int | None) -> None:
    card = issuer.card(access_level=500)
    paginator = {"item_count": 1, "offset": 0}

    answer = issuer.do("getCardFees", card_id=card.card_id, access_level=level, paginator=paginator)

    assert answer.status_code == code
    assert fees_of(issuer.as_caller("other"), card.card_id).status_code == 3002


@pytest.mark.parametrize(
    ("programme", "groups"),
    [(LEFT_OUT, [301, 302, 303, 304]), (EVERYDAY, [301, 302, 304]), (PREPAID, [301, 303]), (502, [303])],
)
def test_get_fees_groups_returns_all_groups_or_the_groups_of_a_programme(
    issuer: Issuer, programme: int, groups: list[int]
) -> None:
    found = issuer.data("getFeesGroups", program_id=programme)

    assert [group["id"] for group in found] == groups
    assert {"id": 301, "name": "Standard Fees"} in found or 301 not in groups


def test_fee_groups_of_an_unknown_programme_return_3004(issuer: Issuer) -> None:
    assert issuer.do("getFeesGroups", program_id=1101).status_code == 3004
    other = issuer.as_caller("other")
    assert (OTHER_MANAGER, [group["id"] for group in other.data("getFeesGroups")]) == (2, [1301])


def test_every_balance_equals_the_sum_of_its_ledger_rows(issuer: Issuer) -> None:
    prove(issuer)
