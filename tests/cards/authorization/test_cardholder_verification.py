"""Tests of PIN, CVC2 and expiry: a wrong entry is counted if the entry is verified, even if another check declines."""

from dataclasses import replace
from typing import Any

import pytest

from chalicelib.cards.protocol.values import SECURITY_CHECKS
from tests.cards.authorization.issuers import card_item, cardholder, change_card, code, messages, other
from tests.cards.authorization.shops import Holder
from tests.cards.issuer import DAY, LEFT_OUT, PIN, Issuer


@pytest.fixture(scope="module")
def user(strict_issuer: Issuer) -> Holder:
    return cardholder(strict_issuer)


def test_an_authorization_flags_the_performed_security_checks(strict_issuer: Issuer, user: Holder) -> None:
    given = {"pin": PIN, "cvc2": user.card.cvc2, "expiry_year": 2029, "eci_indicator": 5, "entry_mode_type": 5}

    for members, done in (
        ({}, set()),
        (given, {"card_expiration_date_present", "online_pin", "3_d_secure", "cvv_2", "chip_data"}),
        ({"entry_mode_type": 90}, {"magnetic_stripe"}),
        ({"entry_mode_type": 81, "eci_indicator": 7}, set()),
    ):
        answer = user.request_authorization(0, transaction_type=39, **members)
        [checks] = answer["security_checks"]
        assert list(checks) == list(SECURITY_CHECKS)
        assert {name for name, flag in checks.items() if flag} == done
        assert messages(user)[-1]["security_checks"] == checks


def test_a_correct_pin_resets_the_pin_tries_of_a_declined_purchase(strict_issuer: Issuer) -> None:
    user = cardholder(strict_issuer)
    code(user, pin="0000")

    assert code(user, 100_01, pin=PIN) == "51"
    assert strict_issuer.data("getCardDetails", card_id=user.card_id)["invalid_pin_tries"] == 0


@pytest.mark.parametrize(
    ("members", "expected", "tries", "wrong_cvc2s"),
    [
        ({"pin": "0000", "cvc2": "wrong"}, "55", 1, 0),
        ({"pin": PIN, "cvc2": "wrong"}, "N7", 0, 1),
        ({"pin": "0000", "expiry_month": 4}, "54", 0, 0),
        ({"cvc2": "wrong", "expiry_year": 2028}, "54", 0, 0),
        ({"pin": "0000", "force_response_code": "00"}, "00", 0, 0),
        ({"cvc2": "wrong", "force_response_code": "N7"}, "N7", 0, 0),
        ({"pin": "0000", "status": "T"}, "62", 0, 0),
        ({"pin": "0000", "amount": 200_00}, "55", 1, 0),
    ],
)
def test_a_wrong_pin_or_cvc2_is_counted_only_if_the_value_was_verified(
    strict_issuer: Issuer, members: dict[str, Any], expected: str, tries: int, wrong_cvc2s: int
) -> None:
    user = cardholder(strict_issuer)
    if "status" in members:
        members = dict(members)
        strict_issuer.data("changeCardStatus", card_id=user.card_id, status=members.pop("status"))
    given: dict[str, Any] = {
        name: other(user.card.cvc2) if value == "wrong" else value for name, value in members.items()
    }

    assert user.request_authorization(given.pop("amount", 10_00), **given)["response_code"] == expected
    stored = card_item(user)
    assert stored["pin_tries"] == tries
    assert bool(stored.get("wrong")) is bool(wrong_cvc2s)


def test_a_blocked_pin_returns_75_only_when_a_pin_is_presented(strict_issuer: Issuer) -> None:
    user = cardholder(strict_issuer)
    strict_issuer.block_pin(user.card_id)

    assert code(user, pin=PIN, cvc2=user.card.cvc2) == "75"
    assert code(user, cvc2=user.card.cvc2) == "00"


def test_a_pin_presented_for_a_card_without_a_pin_is_declined(strict_issuer: Issuer) -> None:
    user = cardholder(strict_issuer, card_virtual=1, card_pin=LEFT_OUT)

    assert [code(user, pin=PIN) for _ in range(4)] == ["55", "55", "75", "75"]


def test_an_unreadable_card_number_declines_only_purchases_with_a_cvc2(strict_issuer: Issuer) -> None:
    user = cardholder(strict_issuer)
    change_card(user, pan=b"\x01" + bytes(60))

    assert code(user, cvc2=user.card.cvc2) == "96"
    assert code(user) == "00"
    assert strict_issuer.data("getCardDetails", card_id=user.card_id)["invalid_pin_tries"] == 0


def test_five_wrong_cvc2_entries_block_the_cvc2_until_midnight(strict_issuer: Issuer) -> None:
    user = cardholder(strict_issuer)
    right, wrong = user.card.cvc2, other(user.card.cvc2)

    assert code(user, cvc2=right) == "00"
    assert [code(user, cvc2=wrong) for _ in range(5)] == ["N7"] * 5
    assert code(user, cvc2=right) == "N7"
    assert code(user) == "00"
    late, new = (
        replace(user, issuer=strict_issuer.with_own_clock(days=seconds / DAY)) for seconds in (15 * 3600 - 1, 15 * 3600)
    )
    assert code(late, cvc2=right) == "N7"
    assert code(new, cvc2=right) == "00"


def test_wrong_cvc2s_at_activations_and_wrong_cvc2s_at_purchases_have_separate_counters(strict_issuer: Issuer) -> None:
    user = Holder(strict_issuer, strict_issuer.card())
    for _ in range(5):
        strict_issuer.do("activateCard", card_id=user.card_id, card_cvc2=other(user.card.cvc2))
    assert strict_issuer.do("activateCard", card_id=user.card_id, card_cvc2=user.card.cvc2).status_code == 8004

    strict_issuer.data("activateCard", card_id=user.card_id)

    assert code(user, 0, transaction_type=39, cvc2=user.card.cvc2) == "00"
