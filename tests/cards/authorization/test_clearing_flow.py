"""Tests of simulateClearing: every clearing is booked and releases the hold of its authorization."""

from collections.abc import Iterator
from decimal import Decimal
from functools import partial
from typing import Any

import pytest

from chalicelib.cards.protocol.states import ACCOUNT_STATES, CARD_STATES
from infra.admin.ledger_verification import prove_ledger
from tests.cards.authorization.shops import (
    A_DAY,
    BACK_A_WEEK,
    BLENDED,
    COUNTRIES,
    DINAR,
    LIMITED,
    NOT_BLENDING,
    OF_ACCOUNT,
    SEPARATE,
    YEN,
    Holder,
    content,
    new_holder,
    with_prices,
)
from tests.cards.issuer import BRITAIN, EUR, GBP, GERMANY, USD, Issuer
from tests.cards.programmes import loaded
from tests.cards.stored_money import entries, movements

CLEARING = "simulateClearing"
FRANCE = 250


@pytest.fixture(scope="module")
def issuer(issuer: Issuer) -> Iterator[Issuer]:
    yield with_prices(issuer)
    prove_ledger(issuer.hub.store)


def link_of(answer: Any) -> str:
    return str(answer["trans_link"])


# -- what was authorized is collected


def test_a_clearing_books_the_amount_and_releases_the_hold(issuer: Issuer) -> None:
    card = new_holder(issuer, 100_00)
    link = link_of(card.authorize(25_00))
    assert (card.balances(), card.hold(link)) == ((100_00, 25_00, 0, 75_00), ("H", 25_00, 25_00))

    answer = card.clear(link, 25_00)

    assert answer == {
        "transaction_id": answer["transaction_id"],
        "trans_link": link,
        "holder_amount": 25_00,
        "released_amount": 25_00,
        "available_balance": 75_00,
        "settled_balance": 75_00,
    }
    assert (card.balances(), card.hold(link)) == ((75_00, 0, 0, 75_00), ("C", 0, 0))
    row = movements(issuer, card.account)[-1]
    assert (row["cause"], row["authorization_id"]) == ("clearing", int(link))
    assert entries(row) == {
        ("held", GBP): -25_00,
        ("pending", GBP): 25_00,
        ("settled", GBP): -25_00,
        ("network", GBP): 25_00,
    }


def test_a_cleared_transaction_has_every_network_and_ledger_member(issuer: Issuer) -> None:
    card = new_holder(issuer)
    shop: dict[str, Any] = {"mcc": "0742", "merchant_name": "Vet", "merchant_id": "VET1", "terminal_id": "T1"}
    shop |= {"entry_mode_type": 7}
    asked = card.authorize(25_00, merchant_country_ison=FRANCE, cvc2=card.card.cvc2, **shop)

    answer = card.clear(link_of(asked), 25_00)

    [row] = card.transactions()
    network = row.pop("network")
    checks = network.pop("security_checks")
    actions = network.pop("risk_actions")
    names = ("owner", "part", "at", "written_by", "base_rate", "holder_rate", "conversion_fee_blended")
    assert {name: value for name, value in row.items() if name not in names} == {
        "id": answer["transaction_id"],
        "transaction_type": 0,
        "direction": "debit",
        "mti": 1240,
        "function_code": 200,
        "trans_link": link_of(asked),
        "authorization_id": asked["authorize_id"],
        "card_id": card.card_id,
        "account": f"account#{card.account}",
        "account_id": card.account,
        "amount": 25_00,
        "currency": GBP,
        "holder_amount": 25_00,
        "holder_currency": GBP,
        "conversion_fee": 0,
        "fee": 0,
        "entry_mode": 7,
        "country": FRANCE,
        "description": "Vet",
    }
    assert (row["base_rate"], row["holder_rate"]) == (1, 1)
    assert network == {
        "proc_code": 0,
        "transaction_type": 0,
        "entry_mode_type": 7,
        "mcc": 742,
        "merchant_name": "Vet",
        "merchant_id": "VET1",
        "merchant_terminal_id": "T1",
        "merchant_country": FRANCE,
        "acquirer_id": "00000100001",
        "acquirer_bin": 400001,
        "forwarder_id": "00000200001",
        "acquirer_processing_date": "260302",
        "settlement_date": 260302,
        "reconciliation_date": 260302,
        "transaction_local_time": "260302090000",
        "retrieval_reference_number": f"606109{answer['transaction_id']:06}",
        "pos_entry_mode": "072",
        "auth_code": asked["auth_code"],
        "suspicious": 0,
    }
    assert {name for name, flag in checks.items() if flag} == {"cvv_2", "chip_data"}
    assert set(actions.values()) == {0}


@pytest.mark.parametrize(("amount", "available"), [(24_99, 75_01), (1, 99_99), (25_01, 74_99), (110_00, -10_00)])
def test_a_clearing_of_a_different_amount_is_booked_and_releases_the_whole_hold(
    issuer: Issuer, amount: int, available: int
) -> None:
    card = new_holder(issuer, 100_00)
    link = link_of(card.authorize(25_00))

    answer = card.clear(link, amount)

    assert (answer["holder_amount"], answer["released_amount"]) == (amount, 25_00)
    assert (answer["available_balance"], answer["settled_balance"]) == (available, available)
    assert (card.balances(), card.hold(link)) == ((available, 0, 0, available), ("C", 0, 0))


def test_partial_clearings_release_their_shares_and_the_final_clearing_releases_the_rest(issuer: Issuer) -> None:
    card = new_holder(issuer, 100_00)
    link = link_of(card.authorize(30_00))

    answers = [card.clear(link, amount, final=final) for amount, final in ((10_00, 0), (5_00, 0), (2_00, 1))]

    assert [answer["released_amount"] for answer in answers] == [10_00, 5_00, 15_00]
    assert [answer["available_balance"] for answer in answers] == [70_00, 70_00, 83_00]
    assert card.balances() == (83_00, 0, 0, 83_00)
    assert card.hold(link) == ("C", 0, 0)
    assert [row["function_code"] for row in card.transactions()] == [200, 205, 205]


def test_a_non_final_clearing_of_the_remaining_amount_ends_the_authorization(issuer: Issuer) -> None:
    card = new_holder(issuer, 100_00)
    link = link_of(card.authorize(30_00))

    card.clear(link, 29_99, final=0)
    assert card.hold(link) == ("H", 1, 1)
    card.clear(link, 5_00, final=0)

    assert (card.balances(), card.hold(link)) == ((65_01, 0, 0, 65_01), ("C", 0, 0))


@pytest.mark.parametrize("shares", [[333, 333, 334], [1] * 7 + [993], [7, 993], [999, 1]])
def test_partial_foreign_clearings_release_the_whole_hold_with_its_fees(issuer: Issuer, shares: list[int]) -> None:
    card = new_holder(issuer, card_fee_group_id=SEPARATE)
    link = link_of(card.authorize(10_00, EUR))
    held = card.hold(link)[2]
    assert held == 8_00 + 20 + 30 + 8, "at 0.8, marked up by 2.5 %; 0.30 and 1 %"

    released = [card.clear(link, share, EUR, final=0)["released_amount"] for share in shares]

    assert sum(released) == held
    assert all(abs(each - held * share / 1000) <= 1 for each, share in zip(released, shares, strict=True))
    assert (card.hold(link), card.balances()[1]) == (("C", 0, 0), 0)


def test_a_clearing_after_an_expiry_a_reversal_or_a_decline_is_booked(issuer: Issuer) -> None:
    card = new_holder(issuer, 100_00, **LIMITED)
    late = [link_of(card.authorize(20_00)), link_of(card.authorize(20_00)), link_of(card.request_authorization(500_00))]
    issuer.data("simulateExpiry", trans_link=late[0])
    card.reverse(late[1])
    assert [card.hold(link)[0] for link in late] == ["X", "R", "D"]
    assert card.limit_usage(A_DAY) == [(0, 0)]

    answers = [card.clear(link, 20_00, final=final) for link, final in zip(late, (1, 0, 1), strict=True)]

    assert [answer["released_amount"] for answer in answers] == [0, 0, 0]
    assert [card.hold(link) for link in late] == [("C", 0, 0)] * 3
    assert card.balances() == (40_00, 0, 0, 40_00)
    assert card.limit_usage(A_DAY) == [(3, 60_00)]


def test_a_final_clearing_releases_the_remaining_hold_after_a_partial_reversal(issuer: Issuer) -> None:
    card = new_holder(issuer, 100_00, **LIMITED)
    link = link_of(card.authorize(30_00))
    card.reverse(link, 12_34)

    answer = card.clear(link, 10_00)

    assert (answer["released_amount"], card.balances()) == (17_66, (90_00, 0, 0, 90_00))
    assert card.limit_usage(A_DAY, OF_ACCOUNT) == [(1, 10_00), (1, 12_50)]


def test_an_increment_after_a_first_clearing_is_held_and_cleared(issuer: Issuer) -> None:
    card = new_holder(issuer, 100_00, card_fee_group_id=BLENDED, **LIMITED)
    link = link_of(card.authorize(30_00))
    card.clear(link, 10_00, final=0)
    assert card.hold(link) == ("H", 20_00, 50_50 - 30_17), "two thirds of what was held with a fee of 0.50"

    assert card.increment(link, 5_00)["response_code"] == "00"
    assert card.hold(link) == ("H", 25_00, 25_45)
    card.clear(link, 25_00)

    assert card.hold(link) == ("C", 0, 0)
    assert card.balances() == (100_00 - 10_30 - 25_45, 0, 0, 64_25)
    assert card.limit_usage(A_DAY) == [(1, 35_00)]


@pytest.mark.parametrize("final", [0, 1])
def test_clearing_an_authorization_of_zero_releases_the_held_fee_and_counts_one_use(issuer: Issuer, final: int) -> None:
    card = new_holder(issuer, 100_00, card_fee_group_id=SEPARATE, **LIMITED)
    link = link_of(card.authorize(0))
    assert (card.hold(link), card.limit_usage(A_DAY)) == (("H", 0, 30), [(1, 0)])

    answer = card.clear(link, 10_00, final=final)

    assert (answer["released_amount"], card.hold(link)) == (30, ("C", 0, 0))
    assert card.balances() == (89_60, 0, 0, 89_60)
    assert card.limit_usage(A_DAY) == [(1, 10_00)]


def test_clearing_a_declined_authorization_debits_the_account_in_the_clearing_currency(issuer: Issuer) -> None:
    card = new_holder(issuer, 100_00, euros=100_00)
    issuer.data("changeCardStatus", card_id=card.card_id, status="T")
    pounds, euros = (str(card.request_authorization(10_00, currency)["trans_link"]) for currency in (GBP, EUR))

    card.clear(euros, 10_00, EUR)
    assert (card.balances()[0], card.balances(card.euros)[0]) == (100_00, 90_00)
    card.clear(euros, 10_00, EUR)
    card.refund(euros, 5_00, EUR)
    assert (card.balances()[0], card.balances(card.euros)[0]) == (100_00, 85_00)
    card.clear(pounds, 10_00, EUR)
    card.refund(pounds, 10_00, EUR)
    assert (card.balances()[0], card.balances(card.euros)[0]) == (100_00, 85_00)


def test_clearing_or_refunding_an_inquiry_returns_4008(issuer: Issuer) -> None:
    card = new_holder(issuer, 100_00)

    for transaction_type in (30, 39):
        link = link_of(card.authorize(0, transaction_type=transaction_type))
        assert card.submit(CLEARING, link, 1).status_code == 4008
        assert card.submit("simulateRefund", link, 1).status_code == 4008


# -- without an authorization


def test_a_clearing_without_an_authorization_is_booked_with_a_new_link(issuer: Issuer) -> None:
    card = new_holder(issuer, 100_00)

    first, second = (card.clear(None, 30_00, merchant_name="Toll", merchant_country_ison=FRANCE) for _ in range(2))

    assert (second["released_amount"], second["available_balance"]) == (0, 40_00)
    assert len({first["trans_link"], second["trans_link"], link_of(card.authorize(1))}) == 3
    assert [card.hold(link_of(each)) for each in (first, second)] == [("C", 0, 0)] * 2
    row = card.transactions()[0]
    assert row["mti"] == 1240
    assert row["function_code"] == 200
    assert row["transaction_type"] == 0
    assert row["country"] == FRANCE
    assert "auth_code" not in row["network"]
    assert row["description"] == "Toll"
    assert row["entry_mode"] == 0
    assert set(row["network"]["security_checks"].values()) == {0}


def test_a_clearing_debits_the_account_in_the_clearing_currency_or_the_first_account(issuer: Issuer) -> None:
    card = new_holder(issuer, 100_00, euros=100_00)
    assert card.euros is not None

    card.clear(None, 10_00, EUR)
    card.clear(None, 10_00, USD)

    assert card.balances(card.euros)[0] == 90_00
    assert card.balances()[0] == 92_50


def test_an_unauthorized_foreign_clearing_without_auto_conversion_returns_5003(issuer: Issuer) -> None:
    card = new_holder(issuer, 100_00, auto_conversion=0)

    assert card.submit(CLEARING, None, 10_00, EUR).status_code == 5003
    assert card.clear(None, 10_00, GBP)["holder_amount"] == 10_00


def test_a_clearing_debits_the_authorized_account_although_a_newer_account_exists(issuer: Issuer) -> None:
    card = new_holder(issuer, 100_00)
    link = link_of(card.authorize(10_00, EUR))
    members = {"currency_ison": EUR, "holder_id": card.card.holder_id, "cards": [card.card_id]}
    euros = issuer.account(**members)

    card.clear(link, 10_00, EUR)
    card.clear(None, 10_00, EUR)

    assert (card.balances(), card.balances(euros)) == ((91_80, 0, 0, 91_80), (-10_00, 0, 0, -10_00))


# -- other currencies


def test_a_foreign_clearing_is_converted_at_the_rate_with_mark_up(issuer: Issuer) -> None:
    card = new_holder(issuer, 100_00)
    link = link_of(card.authorize(10_00, EUR))
    assert card.hold(link) == ("H", 10_00, 8_20)

    answer = card.clear(link, 10_00, EUR)

    assert answer["holder_amount"] == 8_20
    assert answer["released_amount"] == 8_20
    assert answer["available_balance"] == 91_80
    [row] = card.transactions()
    assert row["amount"] == 10_00
    assert row["currency"] == EUR
    assert row["holder_amount"] == 8_20
    assert row["conversion_fee"] == 20
    assert (row["base_rate"], row["holder_rate"]) == (Decimal("0.8"), Decimal("0.82"))
    assert row["conversion_fee_blended"]
    assert entries(movements(issuer, card.account)[-1]) == {
        ("held", GBP): -8_20,
        ("pending", GBP): 8_20,
        ("settled", GBP): -8_20,
        ("conversion", GBP): 8_00,
        ("fees", GBP): 20,
        ("conversion", EUR): -10_00,
        ("network", EUR): 10_00,
    }


def test_a_clearing_lists_an_unblended_conversion_fee_separately_from_the_amount(issuer: Issuer) -> None:
    card = new_holder(issuer, 100_00, card_program_id=NOT_BLENDING)
    link = link_of(card.authorize(10_00, EUR))

    answer = card.clear(link, 10_00, EUR)

    assert answer["holder_amount"] == 8_00
    assert answer["released_amount"] == 8_20
    assert card.balances()[0] == 91_80
    [row] = card.transactions()
    assert row["holder_amount"] == 8_00
    assert row["conversion_fee"] == 20
    assert row["conversion_fee_blended"] is False


def test_a_clearing_in_another_currency_releases_the_converted_share_of_the_hold(issuer: Issuer) -> None:
    card = new_holder(issuer, 100_00, **LIMITED)
    link = link_of(card.authorize(40_00, USD))
    assert (card.hold(link), card.limit_usage(A_DAY)) == (("H", 40_00, 30_00), [(1, 30_00)])

    answer = card.clear(link, 10_00, GBP, final=0)

    assert (answer["holder_amount"], answer["released_amount"]) == (10_00, 9_75), "13.00 of 40.00 dollars"
    assert card.hold(link) == ("H", 27_00, 20_25)
    card.clear(link, 27_00, USD)
    assert (card.hold(link), card.record(link).cleared) == (("C", 0, 0), {str(GBP): 10_00, str(USD): 27_00})
    assert card.limit_usage(A_DAY) == [(1, 30_00)]


def test_a_clearing_without_a_rate_to_the_account_currency_returns_5003(issuer: Issuer) -> None:
    card = new_holder(issuer, 100_00)
    link = link_of(card.authorize(10_00))
    before = card.record(link)

    assert card.submit(CLEARING, link, 1, DINAR).status_code == 5003
    assert card.submit(CLEARING, None, 1, DINAR).status_code == 5003

    assert card.record(link) == before
    assert card.balances() == (100_00, 10_00, 0, 90_00)
    assert card.transactions() == []


@pytest.mark.parametrize("final", [0, 1])
def test_a_clearing_without_a_rate_to_the_authorized_currency_releases_the_hold(issuer: Issuer, final: int) -> None:
    card = new_holder(issuer, 100_00, **LIMITED)
    link = link_of(card.authorize(10_00, EUR))

    answer = card.clear(link, 2_500, YEN, final=final)

    assert (answer["holder_amount"], answer["released_amount"]) == (10_25, 8_20)
    assert (card.hold(link), card.limit_usage(A_DAY)) == (("C", 0, 0), [(1, 8_00)])


def test_a_late_clearing_without_a_rate_to_the_authorized_currency_counts_its_own_amount(issuer: Issuer) -> None:
    card = new_holder(issuer, 100_00, **LIMITED)
    link = link_of(card.authorize(10_00, EUR))
    card.reverse(link)

    card.clear(link, 2_500, YEN)

    assert card.limit_usage(A_DAY) == [(1, 10_00)]


def test_a_clearing_whose_converted_amount_is_zero_releases_and_counts_no_amount(issuer: Issuer) -> None:
    card = new_holder(issuer, 100_00, **LIMITED)
    link = link_of(card.authorize(10_00))

    answers = [card.clear(link, 1, YEN, final=0), card.clear(None, 1, YEN)]

    assert [answer["holder_amount"] for answer in answers] == [0, 0], "a yen is 0.4 pence"
    assert (card.hold(link), card.limit_usage(A_DAY)) == (("H", 10_00, 10_00), [(2, 10_00)])
    assert card.reverse(link)["released_amount"] == 10_00
    assert card.limit_usage(A_DAY) == [(2, 0)]


# -- fees


def test_separate_fees_of_a_clearing_are_booked_as_separate_transactions(issuer: Issuer) -> None:
    card = new_holder(issuer, 100_00, card_fee_group_id=SEPARATE)
    link = link_of(card.authorize(25_00, merchant_country_ison=FRANCE))

    answer = card.clear(link, 20_00)

    assert answer["holder_amount"] == 20_00
    assert answer["released_amount"] == 25_55
    assert card.balances()[0] == 79_50
    main, *fees = card.transactions()
    assert (main["fee"], main["holder_amount"]) == (0, 20_00)
    members = ("mti", "transaction_type", "direction", "fee_code", "description", "holder_amount", "amount", "currency")
    assert [tuple(fee[name] for name in members) for fee in fees] == [
        (1740, 70, "debit", "BUY", "Purchase", 30, 30, GBP),
        (1740, 70, "debit", "SHARE", "Share", 20, 20, GBP),
    ]
    for fee in fees:
        assert fee["parent_id"] == main["id"]
        assert fee["trans_link"] == link
        assert fee["authorization_id"] == int(link)
        assert fee["card_id"] == card.card_id
        assert fee["country"] == FRANCE
        assert fee["at"] == main["at"]
        assert {"network", "function_code"}.isdisjoint(fee)


def test_the_holder_amount_of_a_clearing_includes_blended_fees(issuer: Issuer) -> None:
    card = new_holder(issuer, 100_00, card_fee_group_id=BLENDED)
    link = link_of(card.authorize(25_00))

    answer = card.clear(link, 20_00)

    assert (answer["holder_amount"], answer["released_amount"]) == (20_40, 25_45)
    [row] = card.transactions()
    assert row["amount"] == 20_00
    assert row["holder_amount"] == 20_40
    assert row["fee"] == 40


def test_each_partial_clearing_charges_the_fees_of_its_own_amount(issuer: Issuer) -> None:
    card = new_holder(issuer, 100_00, card_fee_group_id=SEPARATE)
    link = link_of(card.authorize(30_00))

    for amount, final in ((10_00, 0), (20_00, 1)):
        card.clear(link, amount, final=final)

    fees = [row["holder_amount"] for row in card.transactions() if row["mti"] == 1740]
    assert (fees, card.balances()) == ([30, 10, 30, 20], (69_10, 0, 0, 69_10))


def test_a_clearing_uses_the_fees_and_rates_of_the_clearing_time(issuer: Issuer) -> None:
    made = content()
    loaded(issuer.hub, made)
    issuer = issuer.with_credential("moving", manager=made["id"])
    card = new_holder(issuer, 100_00)
    link = link_of(card.authorize(10_00, EUR))

    loaded(issuer.hub, content(made["id"], {(EUR, GBP): ("0.9", "0")}))
    issuer.data("assignCardToFeesGroup", card_id=card.card_id, fees_group_id=SEPARATE)
    issuer.hub.cards.programmes.cache.clear()
    answer = card.clear(link, 10_00, EUR)

    assert (answer["holder_amount"], answer["released_amount"]) == (9_00, 8_20)
    assert card.balances() == (100_00 - 9_00 - 39, 0, 0, 90_61)


# -- where it is collected


def test_merchant_data_of_a_clearing_override_the_data_of_the_authorization(issuer: Issuer) -> None:
    card = new_holder(issuer)
    said: dict[str, Any] = {"mcc": "5411", "merchant_name": "Shop", "merchant_id": "S1", "terminal_id": "T1"}
    link = link_of(card.authorize(25_00, merchant_country_ison=FRANCE, **said))

    card.clear(link, 10_00, final=0, merchant_name="Shop Ltd", merchant_country_ison=GERMANY)
    card.clear(link, 10_00)

    first, second = card.transactions()
    assert first["description"] == "Shop Ltd"
    assert first["country"] == GERMANY
    assert second["description"] == "Shop"
    assert second["country"] == FRANCE
    names = ("mcc", "merchant_name", "merchant_id", "merchant_terminal_id", "merchant_country")
    assert [first["network"][name] for name in names] == [5411, "Shop Ltd", "S1", "T1", GERMANY]


# -- limits


@pytest.mark.parametrize(
    ("collected", "counted"),
    [
        ([(40_00, 1)], (1, 40_00)),
        ([(30_00, 1)], (1, 30_00)),
        ([(60_00, 1)], (1, 60_00)),
        ([(250_00, 1)], (1, 250_00)),
        ([(10_00, 0), (10_00, 0)], (1, 40_00)),
        ([(10_00, 0), (10_00, 1)], (1, 20_00)),
        ([(10_00, 0), (50_00, 0), (5_00, 0)], (1, 65_00)),
    ],
)
def test_limits_count_an_authorization_once_with_the_sum_of_its_cleared_and_held_amounts(
    issuer: Issuer, collected: list[tuple[int, int]], counted: tuple[int, int]
) -> None:
    card = new_holder(issuer, 100_00, **LIMITED)
    link = link_of(card.authorize(40_00, merchant_country_ison=FRANCE))

    for amount, final in collected:
        card.clear(link, amount, final=final)

    count, amount = counted
    assert card.limit_usage(A_DAY, OF_ACCOUNT) == [counted, (count, amount * 5 // 4)]
    assert card.counted_countries() == {FRANCE: 1}


def test_clearings_without_an_authorization_count_towards_limits_even_above_the_maximum(issuer: Issuer) -> None:
    card = new_holder(issuer, 500_00, **LIMITED)

    for country in (FRANCE, GERMANY, BRITAIN, FRANCE, GERMANY, BRITAIN):
        card.clear(None, 30_00, merchant_country_ison=country)

    assert card.limit_usage(A_DAY, OF_ACCOUNT) == [(6, 180_00), (6, 225_00)]
    assert card.counted_countries() == {FRANCE: 2, GERMANY: 2, BRITAIN: 2}
    assert card.request_authorization(1)["response_code"] == "61"


def test_a_clearing_restores_the_unused_amount_to_the_limit_of_the_authorization_day(issuer: Issuer) -> None:
    card = new_holder(issuer, 100_00, **LIMITED)
    yesterday, tomorrow = issuer, issuer.with_own_clock(days=1)
    link = link_of(card.authorize(40_00))
    later = Holder(tomorrow, card.card)
    later.authorize(7_00)
    assert card.limit_usage(A_DAY, OF_ACCOUNT) == [(1, 7_00), (2, 58_75)]

    Holder(yesterday, card.card).clear(link, 10_00)

    assert card.limit_usage(A_DAY, OF_ACCOUNT) == [(1, 7_00), (2, 21_25)]


# -- whatever the state


@pytest.mark.parametrize("state", CARD_STATES)
def test_a_clearing_is_booked_in_every_card_state(issuer: Issuer, state: str) -> None:
    made = issuer.card_in(state, card_country_ison=BRITAIN)
    card = Holder(issuer.with_own_clock(days=62) if state == "E" else issuer, made)
    advice = {"card_id": made.card_id, "transaction_type": 0, "amount": 5_00, "currency_ison": GBP}
    link = link_of(card.issuer.data("simulateAdvice", response_code="00", **advice))

    answers = [card.clear(link, 5_00), card.clear(None, 5_00)]

    assert [answer["settled_balance"] for answer in answers] == [-5_00, -10_00]
    assert card.balances() == (-10_00, 0, 0, -10_00)


@pytest.mark.parametrize("state", ACCOUNT_STATES)
def test_a_clearing_is_booked_in_every_account_status(issuer: Issuer, state: str) -> None:
    card = new_holder(issuer, 0)
    link = link_of(card.request_authorization(10_00))
    issuer.data("changeAccountStatus", account_id=card.account, account_status=state)

    card.clear(link, 10_00)
    answer = card.clear(None, 10_00)

    assert (answer["settled_balance"], card.balances()) == (-20_00, (-20_00, 0, 0, -20_00))


# -- what brings money


def test_clearing_a_credit_authorization_credits_the_account(issuer: Issuer) -> None:
    card = new_holder(issuer, 100_00, card_fee_group_id=SEPARATE, **LIMITED)
    link = link_of(card.authorize(20_00, transaction_type=20))
    assert (card.balances(), card.hold(link)) == ((100_00, 0, 0, 100_00), ("H", 20_00, 0))

    answer = card.clear(link, 15_00)

    assert answer["holder_amount"] == 15_00
    assert answer["released_amount"] == 0
    assert answer["settled_balance"] == 114_90
    assert (card.hold(link), card.balances()) == (("C", 0, 0), (114_90, 0, 0, 114_90))
    main, fee = card.transactions()
    assert main["transaction_type"] == 20
    assert main["direction"] == "credit"
    assert main["function_code"] == 200
    assert fee["fee_code"] == "BACK"
    assert fee["direction"] == "debit"
    assert fee["holder_amount"] == 10
    assert card.limit_usage(A_DAY, BACK_A_WEEK, COUNTRIES) == [(0, 0), (1, 15_00), (0, 0)]
    assert card.movement_causes() == ["credit"]


# -- who may, and what is asked


def test_a_clearing_with_an_unknown_link_or_card_or_invalid_members_is_rejected(issuer: Issuer) -> None:
    card = new_holder(issuer, access_level=500)
    link = link_of(card.authorize(10_00))
    increment = card.increment(link, 1_00)["authorize_id"]
    clearing: dict[str, Any] = {"amount": 1, "currency_ison": GBP}

    for one in (f"{increment + 1000:012}", f"{increment:012}", "0" * 12):
        assert issuer.sim(CLEARING, trans_link=one, **clearing).status_code == 3012, one
    assert issuer.sim(CLEARING, trans_link=link, **clearing, access_level=499).status_code == 3012
    assert issuer.as_caller("other").sim(CLEARING, trans_link=link, **clearing).status_code == 3012
    assert issuer.sim(CLEARING, card_id=10**9, **clearing).status_code == 3002
    assert issuer.sim(CLEARING, trans_link=link, **clearing | {"amount": 0}).status_code == 2005
    assert issuer.sim(CLEARING, **clearing).status_code == 2006
    assert issuer.sim(CLEARING, trans_link=link, card_id=card.card_id, **clearing).status_code == 2007
    assert card.hold(link) == ("H", 11_00, 11_00)


def test_a_duplicate_clearing_request_returns_the_first_response_and_is_booked_once(issuer: Issuer) -> None:
    card = new_holder(issuer, 100_00)
    reference = issuer.reference()

    first, second = (card.submit(CLEARING, None, 10_00, request_reference_id=reference) for _ in range(2))

    assert (second.data, second.duplicated) == (first.data, 1)
    assert card.balances()[0] == 90_00


def test_a_clearing_returns_zero_balances_above_the_access_level(issuer: Issuer) -> None:
    card = new_holder(issuer, 100_00)
    link = link_of(card.authorize(10_00))
    account = {"owner": f"account#{card.account}", "part": "account"}
    issuer.hub.store.update("cards", account, set={"access_level": 900})

    answer = card.clear(link, 10_00, access_level=100)

    assert (answer["available_balance"], answer["settled_balance"]) == (0, 0)
    assert card.balances()[0] == 90_00


# -- others are faster


def test_two_concurrent_clearings_release_a_hold_once(issuer: Issuer) -> None:
    card = new_holder(issuer, 100_00, **LIMITED)
    link = link_of(card.authorize(40_00))
    other: list[Any] = []

    with issuer.causeway.meanwhile("transact", lambda: other.append(card.clear(link, 30_00))):
        answer = card.clear(link, 20_00)

    assert [each["released_amount"] for each in (*other, answer)] == [40_00, 0]
    assert (card.balances(), card.hold(link)) == ((50_00, 0, 0, 50_00), ("C", 0, 0))
    assert card.limit_usage(A_DAY) == [(1, 50_00)]
    assert [row["function_code"] for row in card.transactions()] == [200, 205]


def test_a_reversal_an_expiry_or_an_increment_after_a_concurrent_clearing_returns_4008(issuer: Issuer) -> None:
    card = new_holder(issuer, 100_00)
    late = [
        partial(issuer.sim, "simulateReversal"),
        partial(issuer.sim, "simulateExpiry"),
        partial(issuer.sim, "simulateIncrement", amount=1_00),
    ]
    for call in late:
        link = link_of(card.authorize(10_00))
        with issuer.causeway.meanwhile("transact", partial(card.clear, link, 10_00)):
            assert call(trans_link=link).status_code == 4008

    assert card.balances() == (70_00, 0, 0, 70_00)


def test_a_clearing_after_a_concurrent_reversal_releases_the_remaining_hold(issuer: Issuer) -> None:
    card = new_holder(issuer, 100_00, **LIMITED)
    link = link_of(card.authorize(40_00))

    with issuer.causeway.meanwhile("transact", lambda: card.reverse(link, 25_00)):
        answer = card.clear(link, 40_00)

    assert (answer["released_amount"], card.balances()) == (15_00, (60_00, 0, 0, 60_00))
    assert card.limit_usage(A_DAY) == [(1, 40_00)]


def test_two_concurrent_clearings_of_one_account_are_both_booked(issuer: Issuer) -> None:
    card = new_holder(issuer, 100_00, euros=0)
    link = link_of(card.authorize(10_00))

    with issuer.causeway.meanwhile("transact", lambda: card.clear(None, 90_00)):
        answer = card.clear(link, 10_00)

    assert (answer["settled_balance"], card.balances()) == (0, (0, 0, 0, 0))
    assert [row["holder_amount"] for row in card.transactions()] == [90_00, 10_00]
