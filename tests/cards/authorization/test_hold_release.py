"""Tests of simulateReversal and simulateExpiry, which return the released amount to the balance and to the limits."""

import random
from collections.abc import Iterator
from typing import Any

import pytest

from chalicelib.cards.authorization.authorization_record import Authorization, join_usage, split_usage
from chalicelib.cards.ledger.conversion import portion
from chalicelib.cards.protocol.states import (
    ACCOUNT_STATES,
    AUTHORIZATION_RULES,
    AUTHORIZATION_STATES,
    CARD_STATES,
    HELD,
)
from chalicelib.foundation.dynamodb.store import Item
from infra.admin.ledger_verification import prove_ledger
from tests.cards.authorization.shops import (
    A_DAY,
    BACK_A_WEEK,
    BLENDED,
    LIMITED,
    OF_ACCOUNT,
    OF_HOLDER,
    SEPARATE,
    Holder,
    content,
    new_holder,
    with_prices,
)
from tests.cards.issuer import BRITAIN, EUR, GBP, Issuer
from tests.cards.programmes import loaded
from tests.cards.stored_money import entries, movements

REVERSAL, EXPIRY, INCREMENT = "simulateReversal", "simulateExpiry", "simulateIncrement"
FRANCE = 250


@pytest.fixture(scope="module")
def issuer(issuer: Issuer) -> Iterator[Issuer]:
    yield with_prices(issuer)
    prove_ledger(issuer.hub.store)


def expired(card: Holder, link: str) -> Any:
    return card.issuer.data(EXPIRY, trans_link=link)


# -- shares


def test_a_proportional_amount_is_rounded_half_up_and_a_full_portion_is_the_whole_amount() -> None:
    assert [portion(whole, part, of) for whole, part, of in ((10, 1, 3), (10, 2, 3), (5, 1, 2), (7, 3, 3))] == [
        3,
        7,
        3,
        7,
    ]
    assert [portion(50, 0, 0), portion(50, 0, 9), portion(0, 5, 9), portion(10, 9, 9)] == [50, 0, 0, 10]


def test_successive_portions_add_up_to_the_whole_amount() -> None:
    random.seed(8)
    for _ in range(500):
        left, held = random.randint(1, 10**6), random.randint(0, 10**9)
        taken = 0
        while left:
            part = random.randint(1, left)
            share = portion(held, part, left)
            assert 0 <= share <= held
            left, held, taken = left - part, held - share, taken + share
        assert held == 0


def test_split_usage_divides_amounts_exactly_and_adds_the_count_to_a_single_part() -> None:
    counted = {"key": "1.1", "start": 60, "amount": 101, "count": 1, "country": FRANCE}
    usage = {"card#1": [counted]}
    bare = {"key": "1.1", "start": 60, "count": 0}

    assert split_usage(usage, 1, 2, with_count=True) == (
        {"card#1": [counted | {"amount": 51}]},
        {"card#1": [bare | {"amount": 50}]},
    )
    assert split_usage(usage, 1, 2, with_count=False) == (
        {"card#1": [bare | {"amount": 51}]},
        {"card#1": [counted | {"amount": 50}]},
    )
    assert split_usage(None, 1, 2, with_count=True) == ({}, {})


def test_join_usage_merges_windows_and_removes_empty_windows() -> None:
    first = {"key": "1.1", "start": 60, "amount": 5, "count": 1, "country": FRANCE}
    more = {"key": "1.1", "start": 60, "amount": 7, "count": 0}
    later = {"key": "1.1", "start": 90, "amount": 1, "count": 0}
    nothing = {"key": "1.2", "start": 60, "amount": 0, "count": 0}

    assert join_usage({"card#1": [first, nothing]}, {"card#1": [more, later], "card#2": [nothing]}) == {
        "card#1": [first | {"amount": 12}, later]
    }
    assert join_usage(None, {"card#1": [first]}) == {"card#1": [first]}
    assert join_usage({"card#1": [nothing]}, None) is join_usage(None, None) is None


# -- reversals


def test_a_full_reversal_releases_the_hold_and_its_limit_usage(issuer: Issuer) -> None:
    card = new_holder(issuer, 100_00, **LIMITED)
    asked = card.authorize(40_00, merchant_country_ison=FRANCE)
    link = str(asked["trans_link"])

    answer = card.reverse(link)

    assert answer == {
        "authorize_id": answer["authorize_id"],
        "released_amount": 40_00,
        "available_balance": 100_00,
        "settled_balance": 100_00,
    }
    assert answer["authorize_id"] > asked["authorize_id"]
    assert (card.balances(), card.hold(link)) == ((100_00, 0, 0, 100_00), ("R", 0, 0))
    row = movements(issuer, card.account)[-1]
    assert (row["cause"], row["authorization_id"]) == ("reversal", int(link))
    assert entries(row) == {("held", GBP): -40_00, ("pending", GBP): 40_00}
    assert (card.limit_usage(A_DAY, OF_ACCOUNT, OF_HOLDER), card.counted_countries()) == ([(0, 0), (0, 0), (0, 0)], {})
    assert card.transactions() == []


def test_a_partial_reversal_releases_the_reversed_part_and_the_limit_still_counts_one_use(issuer: Issuer) -> None:
    card = new_holder(issuer, 100_00, **LIMITED)
    link = str(card.authorize(40_00, merchant_country_ison=FRANCE)["trans_link"])

    answers = [card.reverse(link, amount) for amount in (15_00, 5_00)]

    assert [answer["released_amount"] for answer in answers] == [15_00, 5_00]
    assert (card.balances(), card.hold(link)) == ((100_00, 20_00, 0, 80_00), ("H", 20_00, 20_00))
    assert (card.limit_usage(A_DAY, OF_ACCOUNT), card.counted_countries()) == ([(1, 20_00), (1, 25_00)], {FRANCE: 1})
    card.reverse(link, 20_00)
    assert (card.balances(), card.hold(link)) == ((100_00, 0, 0, 100_00), ("R", 0, 0))
    assert (card.limit_usage(A_DAY, OF_ACCOUNT), card.counted_countries()) == ([(0, 0), (0, 0)], {})


@pytest.mark.parametrize("parts", [[3_33, 3_33, 3_34], [1, 1, 9_98], [7, 1, 7, 9_85], [9_99, 1]])
def test_partial_reversals_release_the_whole_foreign_hold_with_its_fees(issuer: Issuer, parts: list[int]) -> None:
    card = new_holder(issuer, **LIMITED, card_fee_group_id=SEPARATE)
    before, unused = card.balances(), card.limit_usage(A_DAY, OF_ACCOUNT, OF_HOLDER)
    link = str(card.authorize(10_00, EUR)["trans_link"])
    held = card.hold(link)[2]

    released = [card.reverse(link, part)["released_amount"] for part in parts]

    assert sum(released) == held == 8_58
    assert all(abs(each - held * part / 10_00) <= 1 for each, part in zip(released, parts, strict=True))
    assert (card.hold(link), card.balances()) == (("R", 0, 0), before)
    assert card.limit_usage(A_DAY, OF_ACCOUNT, OF_HOLDER) == unused


def test_a_reversal_above_the_remaining_hold_returns_5004(issuer: Issuer) -> None:
    card = new_holder(issuer, 100_00)
    link = str(card.authorize(40_00)["trans_link"])
    card.clear(link, 10_00, final=0)
    card.reverse(link, 5_00)

    codes = [issuer.sim(REVERSAL, trans_link=link, amount=amount).status_code for amount in (25_01, 25_00)]

    assert codes == [5004, None]
    assert (card.balances(), card.hold(link)) == ((90_00, 0, 0, 90_00), ("R", 0, 0))


def test_a_reversal_after_a_partial_clearing_leaves_the_cleared_part_in_the_limit_count(issuer: Issuer) -> None:
    card = new_holder(issuer, 100_00, **LIMITED)
    link = str(card.authorize(40_00, merchant_country_ison=FRANCE)["trans_link"])
    card.clear(link, 10_00, final=0)

    assert card.reverse(link)["released_amount"] == 30_00

    assert (card.limit_usage(A_DAY, OF_ACCOUNT), card.counted_countries()) == ([(1, 10_00), (1, 12_50)], {FRANCE: 1})
    assert (card.balances(), card.hold(link)[0]) == ((90_00, 0, 0, 90_00), "R")


def test_a_reversal_restores_the_reversed_amount_to_the_limit_of_the_authorization_day(issuer: Issuer) -> None:
    card = new_holder(issuer, 100_00, **LIMITED)
    link = str(card.authorize(40_00)["trans_link"])
    today = Holder(issuer.with_own_clock(days=1), card.card)
    today.authorize(7_00)

    today.reverse(link)

    assert card.limit_usage(A_DAY, OF_ACCOUNT) == [(1, 7_00), (1, 8_75)]


@pytest.mark.parametrize("card_state", [state for state in CARD_STATES if state not in "NAE"])
@pytest.mark.parametrize("account_state", [state for state in ACCOUNT_STATES if state != "C"])
def test_a_hold_is_released_in_every_card_and_account_state(
    issuer: Issuer, card_state: str, account_state: str
) -> None:
    card = new_holder(issuer, 100_00)
    link = str(card.authorize(40_00)["trans_link"])
    issuer.data("changeCardStatus", card_id=card.card_id, status=card_state)
    issuer.data("changeAccountStatus", account_id=card.account, account_status=account_state)

    assert card.reverse(link, 10_00)["released_amount"] == 10_00
    assert expired(card, link)["released_amount"] == 30_00
    assert card.balances() == (100_00, 0, 0, 100_00)


def test_reversing_a_credit_authorization_books_no_ledger_movement(issuer: Issuer) -> None:
    card = new_holder(issuer, 100_00, **LIMITED)
    link = str(card.authorize(20_00, transaction_type=20)["trans_link"])
    assert card.limit_usage(BACK_A_WEEK) == [(1, 20_00)]

    parts = [card.reverse(link, 5_00), card.increment(link, 1_00), card.reverse(link)]

    assert (parts[0]["released_amount"], parts[2]["released_amount"]) == (0, 0)
    assert card.hold(link) == ("R", 0, 0)
    assert card.balances() == (100_00, 0, 0, 100_00)
    assert card.movement_causes() == []
    assert card.limit_usage(BACK_A_WEEK) == [(0, 0)]


def test_reversing_an_authorization_of_zero_releases_the_held_fee(issuer: Issuer) -> None:
    card = new_holder(issuer, 100_00, card_fee_group_id=SEPARATE, **LIMITED)
    link = str(card.authorize(0)["trans_link"])
    assert issuer.sim(REVERSAL, trans_link=link, amount=1).status_code == 5004

    assert card.reverse(link)["released_amount"] == 30

    assert card.hold(link) == ("R", 0, 0)
    assert card.balances()[1] == 0
    assert card.limit_usage(A_DAY) == [(0, 0)]


# -- increments


def test_an_increment_charges_the_fees_of_the_total_amount(issuer: Issuer) -> None:
    card = new_holder(issuer, 100_00, card_fee_group_id=BLENDED, **LIMITED)
    link = str(card.authorize(40_00)["trans_link"])
    assert card.hold(link) == ("H", 40_00, 40_60)

    answer = card.increment(link, 10_00)

    assert answer["approved_amount"] == 10_00
    assert answer["holder_amount"] == 10_10
    assert answer["fee_amount"] == 10
    assert (card.hold(link), answer["available_balance"]) == (("H", 50_00, 50_70), 49_30)
    assert (card.limit_usage(A_DAY), card.movement_causes()) == ([(1, 50_00)], ["authorization", "increment"])


def test_alternating_increments_and_reversals_leave_no_hold_after_expiry(issuer: Issuer) -> None:
    card = new_holder(issuer, 1000_00, **LIMITED, card_fee_group_id=SEPARATE)
    link = str(card.authorize(7_77, EUR)["trans_link"])

    for more, less in ((3_33, 5_01), (11, 1), (12_00, 7_07)):
        assert card.increment(link, more)["response_code"] == "00"
        card.reverse(link, less)
    state, left, held = card.hold(link)
    assert state == "H"
    assert left == 11_12
    assert card.balances()[1] == held
    windows = [each["key"] for counted in (card.record(link).counted or {}).values() for each in counted]
    assert sorted(windows) == sorted(set(windows)), "each window is kept once"
    expired(card, link)

    assert card.balances() == (1000_00, 0, 0, 1000_00)
    assert card.limit_usage(A_DAY, OF_ACCOUNT, OF_HOLDER) == [(0, 0)] * 3


def test_a_declined_increment_does_not_change_the_hold_or_the_limits(issuer: Issuer) -> None:
    card = new_holder(issuer, 100_00, **LIMITED)
    link = str(card.authorize(40_00)["trans_link"])
    before, used = card.record(link), card.limit_usage(A_DAY, OF_ACCOUNT)

    codes = [card.increment(link, amount)["response_code"] for amount in (60_01, 200_00)]
    poor = new_holder(issuer, 100_00)
    poor_link = str(poor.authorize(40_00)["trans_link"])
    codes.append(poor.increment(poor_link, 60_01)["response_code"])

    assert codes == ["61", "61", "51"]
    assert (card.record(link), card.limit_usage(A_DAY, OF_ACCOUNT)) == (before, used)
    assert poor.hold(poor_link) == ("H", 40_00, 40_00)


def test_an_increment_at_a_better_rate_lowers_the_hold(issuer: Issuer) -> None:
    made = content()
    loaded(issuer.hub, made)
    issuer = issuer.with_credential("falling", manager=made["id"])
    card = new_holder(issuer, 100_00)
    link = str(card.authorize(10_00, EUR)["trans_link"])
    loaded(issuer.hub, content(made["id"], {(EUR, GBP): ("0.4", "0")}))
    issuer.hub.cards.programmes.cache.clear()

    answer = card.increment(link, 5_00)

    assert (answer["holder_amount"], answer["available_balance"]) == (2_00, 94_00)
    assert (card.hold(link), card.balances()) == (("H", 15_00, 6_00), (100_00, 6_00, 0, 94_00))


# -- the end of a hold


def test_an_expiry_releases_the_remaining_hold(issuer: Issuer) -> None:
    card = new_holder(issuer, 100_00, **LIMITED)
    link = str(card.authorize(40_00)["trans_link"])
    card.increment(link, 10_00)
    card.reverse(link, 5_00)
    card.clear(link, 20_00, final=0)

    answer = expired(card, link)

    assert (answer["released_amount"], answer["available_balance"]) == (25_00, 80_00)
    assert (card.hold(link), card.movement_causes()[-1]) == (("X", 0, 0), "hold over")
    assert card.limit_usage(A_DAY) == [(1, 20_00)]


# -- states


@pytest.mark.parametrize("state", AUTHORIZATION_STATES)
@pytest.mark.parametrize("action", [REVERSAL, EXPIRY, INCREMENT])
def test_a_reversal_an_expiry_or_an_increment_of_an_ended_hold_returns_4008(
    issuer: Issuer, action: str, state: str
) -> None:
    card = new_holder(issuer, 100_00)
    link = str(card.request_authorization(500_00 if state == "D" else 5_00)["trans_link"])
    if state == "R":
        card.reverse(link)
    if state == "X":
        expired(card, link)
    if state == "C":
        card.clear(link, 5_00)
    before = card.record(link)
    assert before.state == state

    answer = issuer.sim(action, trans_link=link, **({"amount": 1} if action == INCREMENT else {}))

    assert answer.status_code == (None if state == HELD else 4008)
    assert AUTHORIZATION_RULES[action][state] == answer.status_code
    assert (card.record(link) == before) is (state != HELD)


@pytest.mark.parametrize("transaction_type", [30, 39])
def test_reversing_an_inquiry_returns_4008(issuer: Issuer, transaction_type: int) -> None:
    card = new_holder(issuer, 0)
    link = str(card.authorize(0, transaction_type=transaction_type)["trans_link"])

    assert card.record(link).state == "D"
    assert issuer.sim(REVERSAL, trans_link=link).status_code == 4008


# -- what later messages leave


def test_a_later_message_references_the_authorization_and_has_no_separate_link(issuer: Issuer) -> None:
    card = new_holder(issuer, access_level=40)
    asked = card.authorize(40_00)
    link = str(asked["trans_link"])
    increment, reversal = card.increment(link, 1_00), card.reverse(link, 2_00)
    declined = card.increment(link, 5_000_00)
    expiry = expired(card, link)

    rows = {row["authorize_id"]: row for row in activity(card)}
    for answer in (increment, reversal, declined, expiry):
        number = answer["authorize_id"]
        lead = issuer.hub.store.get(*Authorization.key(number))
        assert lead is not None
        assert {name: lead[name] for name in ("of", "card_id", "access_level", "at", "manager_id")} == {
            "of": asked["authorize_id"],
            "card_id": card.card_id,
            "access_level": 40,
            "at": rows[number]["at"],
            "manager_id": rows[number]["manager_id"],
        }
        for action in (REVERSAL, EXPIRY, INCREMENT):
            members = {"amount": 1} if action == INCREMENT else {}
            assert issuer.sim(action, trans_link=f"{number:012}", **members).status_code == 3012


def test_releasing_a_hold_without_access_to_the_card_returns_3012(issuer: Issuer) -> None:
    card = new_holder(issuer, access_level=500)
    link = str(card.authorize(40_00)["trans_link"])

    for action, members in ((REVERSAL, {}), (EXPIRY, {}), (INCREMENT, {"amount": 1})):
        assert issuer.sim(action, trans_link=link, access_level=499, **members).status_code == 3012
        assert issuer.as_caller("other").sim(action, trans_link=link, **members).status_code == 3012
    assert card.hold(link) == ("H", 40_00, 40_00)


def test_a_reversal_returns_zero_balances_above_the_access_level(issuer: Issuer) -> None:
    card = new_holder(issuer, 100_00, card_country_ison=BRITAIN)
    link = str(card.authorize(40_00)["trans_link"])
    account = {"owner": f"account#{card.account}", "part": "account"}
    issuer.hub.store.update("cards", account, set={"access_level": 900})

    answer = issuer.data(REVERSAL, trans_link=link, access_level=100)

    assert answer["released_amount"] == 40_00
    assert answer["available_balance"] == 0
    assert answer["settled_balance"] == 0


# -- others are faster


def test_two_concurrent_reversals_release_a_hold_once(issuer: Issuer) -> None:
    card = new_holder(issuer, 100_00, **LIMITED)
    link = str(card.authorize(40_00)["trans_link"])

    with issuer.causeway.meanwhile("transact", lambda: card.reverse(link, 30_00)):
        codes = [issuer.sim(REVERSAL, trans_link=link, amount=30_00).status_code]
    with issuer.causeway.meanwhile("transact", lambda: card.reverse(link)):
        codes.append(issuer.sim(EXPIRY, trans_link=link).status_code)

    assert (codes, card.hold(link)) == ([5004, 4008], ("R", 0, 0))
    assert (card.balances(), card.limit_usage(A_DAY)) == ((100_00, 0, 0, 100_00), [(0, 0)])


def test_a_concurrent_increment_and_reversal_are_both_applied(issuer: Issuer) -> None:
    card = new_holder(issuer, 100_00, **LIMITED)
    link = str(card.authorize(40_00)["trans_link"])

    with issuer.causeway.meanwhile("transact", lambda: card.increment(link, 10_00)):
        released = card.reverse(link, 15_00)["released_amount"]
    with issuer.causeway.meanwhile("transact", lambda: card.reverse(link, 5_00)):
        card.increment(link, 2_00)

    assert (released, card.hold(link)) == (15_00, ("H", 32_00, 32_00))
    assert (card.balances(), card.limit_usage(A_DAY)) == ((100_00, 32_00, 0, 68_00), [(1, 32_00)])


def activity(card: Holder) -> list[Item]:
    owner = ("owner", f"card#{card.card_id}")
    return card.issuer.hub.store.rows("card-activity", owner, sort_prefix=("part", "activity#"))
