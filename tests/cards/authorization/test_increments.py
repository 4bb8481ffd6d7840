"""Tests of simulateIncrement: the checks of an increased amount, and the records of the increment."""

from typing import Any

import pytest

from chalicelib.cards.protocol.values import HOLD_SECONDS
from tests.cards.authorization.issuers import (
    ALL_AT_ONCE,
    EACH_ACCOUNT,
    EACH_CARD,
    EACH_HOLDER,
    NO_CASH,
    TWICE_A_DAY,
    WATCHED,
    authorizes,
    cardholder,
    messages,
)
from tests.cards.authorization.shops import A_DAY, LIMITED, SEPARATE, Holder
from tests.cards.issuer import EUR, PIN, Issuer
from tests.kit.storage import record_transactions


def more(user: Holder, asked: Any, amount: int) -> str:
    return str(user.increment(asked["trans_link"], amount)["response_code"])


@pytest.mark.parametrize(
    ("status", "expected"), [("T", "62"), ("R", "59"), ("L", "41"), ("S", "43"), ("B", "46"), ("A", "00")]
)
def test_an_increment_returns_the_response_code_for_the_card_status(
    strict_issuer: Issuer, status: str, expected: str
) -> None:
    user = cardholder(strict_issuer)
    asked = user.authorize(10_00)
    strict_issuer.data("changeCardStatus", card_id=user.card_id, status=status)

    assert more(user, asked, 5_00) == expected
    assert user.hold(asked["trans_link"]) == (("H", 15_00, 15_00) if expected == "00" else ("H", 10_00, 10_00))


@pytest.mark.parametrize("status", ["S", "R"])
def test_an_increment_on_a_suspended_or_restricted_account_returns_62(strict_issuer: Issuer, status: str) -> None:
    user = cardholder(strict_issuer)
    asked = user.authorize(10_00)
    strict_issuer.data("changeAccountStatus", account_id=user.account, account_status=status)

    assert more(user, asked, 5_00) == "62"


@pytest.mark.parametrize(
    ("members", "most"),
    [
        ({"card_limit_group_id": EACH_CARD}, 50_00),
        ({"account_limit_group_id": EACH_ACCOUNT}, 60_00),
        ({"holder_limit_group_id": EACH_HOLDER}, 70_00),
        (LIMITED, 100_00),
    ],
)
def test_an_increment_to_a_total_above_a_limit_returns_61(
    strict_issuer: Issuer, members: dict[str, Any], most: int
) -> None:
    """A single-use limit applies to the total, because an authorization and its increments are one use."""
    user = cardholder(strict_issuer, 1_000_00, **members)
    asked = user.authorize(most - 10_00)

    assert more(user, asked, 10_01) == "61"
    assert [more(user, asked, amount) for amount in (9_99, 1, 1)] == ["00", "00", "61"]


def test_an_authorization_and_its_increments_count_as_one_use(strict_issuer: Issuer) -> None:
    user = cardholder(strict_issuer, card_limit_group_id=TWICE_A_DAY)
    asked = user.authorize(1_00)

    assert [more(user, asked, 1_00) for _ in range(3)] == ["00"] * 3
    assert [user.request_authorization(1_00)["response_code"] for _ in range(2)] == ["00", "65"]


def test_the_limits_are_checked_before_the_balance_for_an_increment(strict_issuer: Issuer) -> None:
    user = cardholder(strict_issuer, 45_00, card_limit_group_id=EACH_CARD)
    asked = user.authorize(40_00)

    assert [more(user, asked, amount) for amount in (10_01, 5_01, 5_00)] == ["61", "51", "00"]


def test_a_fixed_fee_is_charged_once_for_an_authorization_and_its_increments(strict_issuer: Issuer) -> None:
    """The fee for the total of 20.00 GBP is 0.30 GBP plus 1 %, after an authorization and an increment of 10.00 GBP
    each.
    """
    user = cardholder(strict_issuer, 20_50, card_fee_group_id=SEPARATE)
    asked = user.authorize(10_00)

    assert more(user, asked, 10_01) == "51"
    assert more(user, asked, 10_00) == "00"
    assert user.balances() == (20_50, 20_50, 0, 0)


def test_usage_rules_and_risk_rules_do_not_apply_to_an_increment(strict_issuer: Issuer) -> None:
    user = cardholder(strict_issuer)
    asked = user.authorize(10_00, transaction_type=1, mcc=ALL_AT_ONCE)
    strict_issuer.data("assignCardToUsageGroup", card_id=user.card_id, usages_group_id=NO_CASH)
    strict_issuer.data("assignCardToRiskRuleGroup", card_id=user.card_id, risk_rules_group_id=WATCHED)

    assert more(user, asked, 5_00) == "00"


def test_an_approved_increment_renews_the_hold_and_is_recorded(strict_issuer: Issuer) -> None:
    user = cardholder(strict_issuer, **LIMITED)
    asked = user.authorize(10_00, EUR, merchant_name="Grocer")
    later = strict_issuer.with_own_clock(days=5)

    answer = later.data("simulateIncrement", trans_link=asked["trans_link"], amount=5_00)

    assert answer["authorize_id"] > asked["authorize_id"]
    assert (answer["trans_link"], answer["response_code"]) == (asked["trans_link"], "00")
    assert (answer["approved_amount"], answer["holder_amount"]) == (5_00, 4_10)
    assert (answer["available_balance"], answer["settled_balance"]) == (87_70, 100_00)
    assert user.hold(asked["trans_link"]) == ("H", 15_00, 12_30)
    assert user.record(asked["trans_link"]).due_at == later.clock.time() + HOLD_SECONDS
    first, second = messages(user)
    assert second["authorize_type"] == 3
    assert second["trans_link"] == first["trans_link"]
    assert second["transaction_amount"] == 5_00
    assert second["merchant_name"] == "Grocer"
    assert authorizes(user) == [asked["authorize_id"], answer["authorize_id"]]
    assert user.movement_causes() == ["authorization", "increment"]


def test_a_declined_increment_is_recorded_and_changes_nothing(strict_issuer: Issuer) -> None:
    user = cardholder(strict_issuer, **LIMITED)
    asked = user.authorize(10_00)
    before = user.record(asked["trans_link"])

    answer = user.increment(asked["trans_link"], 95_00)

    assert answer["response_code"] == "61"
    assert answer["approved_amount"] == 0
    assert "auth_code" not in answer
    assert user.record(asked["trans_link"]) == before
    assert (user.balances(), user.limit_usage(A_DAY)) == ((100_00, 10_00, 0, 90_00), [(1, 10_00)])
    assert [(row["authorize_type"], row["response_code"], row["actual"]) for row in messages(user)] == [
        (1, "00", 1),
        (3, "61", 0),
    ]
    assert authorizes(user) == [asked["authorize_id"]]


def test_an_increment_is_written_in_one_transaction(strict_issuer: Issuer) -> None:
    user = cardholder(strict_issuer)
    asked = user.authorize(10_00, pin=PIN)
    with record_transactions(strict_issuer.causeway) as made:
        more(user, asked, 5_00)
        more(user, asked, 500_00)

    listed = ["Put authorization", "Put activity", "Put activity", "ConditionCheck card"]
    moved = ["Update authorization", "Put authorize", "Update account", "Put movement", *["Put limits"] * 2]
    assert [sorted(each) for each in made] == [
        sorted([*listed, *moved]),
        sorted([*listed, "ConditionCheck authorization", "Put limits"]),
    ]
