"""simulateAuthorization: what the network is answered, by the card's state, its data, its PIN and its account."""

from __future__ import annotations

from typing import Any

import pytest

from chalicelib.cards.protocol.values import RESPONSE_CODES
from tests.cards.field_values import RESPONSE_CODES as EVERY_CODE
from tests.cards.scenes import DAY, EUR, GBP, PIN, USD, MadeCard, Scene

CODE_OF = {"N": "78", "A": "00", "T": "62", "R": "59", "L": "41", "S": "43", "E": "54", "B": "46"}


def code(scene: Scene, card: MadeCard, **members: Any) -> str:
    return str(scene.authorization(card_id=card.card_id, **members)["response_code"])


def other(cvc2: str) -> str:
    return f"{(int(cvc2) + 1) % 1000:03}"


def test_the_codes_are_the_networks() -> None:
    assert sorted(EVERY_CODE) == sorted(RESPONSE_CODES)


@pytest.mark.parametrize("state", CODE_OF)
@pytest.mark.parametrize("by", ["card_id", "pan"])
def test_each_state_of_a_card_has_its_code(stage: Scene, state: str, by: str) -> None:
    card = stage.card_in(state, card_virtual=0, card_pin=PIN)
    scene = stage.apart(days=62) if state == "E" else stage

    answer = scene.authorization(**{by: getattr(card, by)}, pin=PIN)

    assert answer["response_code"] == CODE_OF[state]
    assert ("auth_code" in answer) is (state == "A")


@pytest.mark.parametrize(("state", "expected"), [("A", "00"), ("S", "62"), ("R", "62"), ("C", "46")])
def test_each_state_of_an_account_has_its_code(stage: Scene, state: str, expected: str) -> None:
    card = stage.card_in("A")
    stage.data("changeAccountStatus", account_id=card.account_id, account_status=state)

    assert code(stage, card) == expected


def test_without_money_only_what_costs_nothing_is_approved(stage: Scene) -> None:
    card = stage.card_in("A")

    assert [code(stage, card, amount=amount) for amount in (0, 1)] == ["00", "51"]
    assert code(stage, card, cashback_amount=1) == "51"


def test_the_account_is_the_one_in_the_currency(stage: Scene) -> None:
    card = stage.card_in("A", card_currency_ison=[EUR, GBP], auto_conversion=1)
    stage.data("changeAccountStatus", account_id=card.account_id, account_status="S")

    pounds, dollars = (stage.authorization(card_id=card.card_id, currency_ison=each) for each in (GBP, USD))

    assert (pounds["response_code"], pounds["holder_currency_ison"]) == ("00", GBP)
    assert (dollars["response_code"], dollars["holder_currency_ison"]) == ("62", EUR)


def test_a_number_that_nobody_has_is_14(stage: Scene) -> None:
    foreign = stage.of_caller("other").card(card_program_id=1101)
    hidden = stage.card_in("A", access_level=500)

    assert stage.authorization(pan="2223000000000007")["response_code"] == "14"
    assert stage.authorization(pan=foreign.pan)["response_code"] == "14"
    assert stage.authorization(pan=hidden.pan, access_level=499)["response_code"] == "14"
    assert stage.authorization(pan=hidden.pan, access_level=500)["response_code"] == "00"


def test_the_expiry_has_to_be_right(stage: Scene) -> None:
    card = stage.card_in("A")
    assert card.expiration == {"year": 2029, "month": 3}

    assert code(stage, card, expiry_year=2029, expiry_month="03") == "00"
    assert code(stage, card, expiry_year=2029) == "00"
    assert code(stage, card, expiry_year=2028, expiry_month=3) == "54"
    assert code(stage, card, expiry_month=4) == "54"


def test_five_wrong_codes_a_day_and_then_no_more_until_midnight(stage: Scene) -> None:
    card = stage.card_in("A")

    assert code(stage, card, cvc2=card.cvc2) == "00"
    assert [code(stage, card, cvc2=other(card.cvc2)) for _ in range(5)] == ["N7"] * 5
    assert code(stage, card, cvc2=card.cvc2) == "N7"
    assert code(stage, card) == "00"
    assert code(stage.apart(days=(15 * 3600 - 1) / DAY), card, cvc2=card.cvc2) == "N7"
    assert code(stage.apart(days=15 / 24), card, cvc2=card.cvc2) == "00"


def test_wrong_codes_and_wrong_data_at_activation_are_counted_apart(stage: Scene) -> None:
    card = stage.card()
    for _ in range(5):
        stage.do("activateCard", card_id=card.card_id, card_cvc2=other(card.cvc2))
    assert stage.do("activateCard", card_id=card.card_id, card_cvc2=card.cvc2).status_code == 8004

    stage.data("activateCard", card_id=card.card_id)

    assert code(stage, card, cvc2=card.cvc2) == "00"


@pytest.mark.parametrize("forced", EVERY_CODE)
def test_a_code_can_be_forced(stage: Scene, forced: str) -> None:
    answer = stage.authorization(card_id=stage.card_in("T").card_id, amount=500, force_response_code=forced)

    assert answer["response_code"] == forced
    assert answer["approved_amount"] == (500 if forced == "00" else 0)


def test_the_checks_that_were_made_are_flagged(stage: Scene) -> None:
    card = stage.card_in("A", card_virtual=0, card_pin=PIN)
    given = {"pin": PIN, "cvc2": card.cvc2, "expiry_year": 2029, "eci_indicator": 5, "entry_mode_type": 5}

    for members, done in (
        ({}, set()),
        (given, {"card_expiration_date_present", "online_pin", "3_d_secure", "cvv_2", "chip_data"}),
        ({"entry_mode_type": 90}, {"magnetic_stripe"}),
    ):
        [checks] = stage.authorization(card_id=card.card_id, **members)["security_checks"]
        assert {name for name, flag in checks.items() if flag} == done
        assert set(checks.values()) <= {0, 1}
        assert len(checks) == 10


def test_a_decline_is_a_success_with_balances(stage: Scene) -> None:
    card = stage.card_in("L")
    accounts = [item for item in stage.hub.store.scan("cards") if item["owner"] == f"account#{card.account_id}"]
    stage.hub.store.update("cards", {name: accounts[0][name] for name in ("owner", "part")}, set={"settled": 700})

    answer = stage.authorization(card_id=card.card_id)

    assert (answer["available_balance"], answer["settled_balance"], answer["fee_amount"]) == (700, 700, 0)
