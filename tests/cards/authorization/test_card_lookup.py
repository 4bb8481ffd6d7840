"""Tests of card lookup by current and old numbers, and by credentials with a lower access level."""

from contextlib import ExitStack
from typing import Any

import pytest

from tests.cards.authorization.issuers import advice, cardholder, code, messages, reissue, reissued
from tests.cards.issuer import EUR, GBP, LEFT_OUT, Envelope, Issuer


@pytest.mark.parametrize(
    ("status", "expected"), [("A", "00"), ("T", "62"), ("R", "59"), ("L", "41"), ("S", "43"), ("B", "46")]
)
def test_a_lookup_by_card_number_returns_the_response_code_for_the_card_status(
    strict_issuer: Issuer, status: str, expected: str
) -> None:
    user = cardholder(strict_issuer)
    strict_issuer.data("changeCardStatus", card_id=user.card_id, status=status)

    answer = user.request_authorization(10_00, card_id=LEFT_OUT, pan=user.card.pan)

    assert answer["response_code"] == expected
    assert [row["card_id"] for row in messages(user)] == [user.card_id]


@pytest.mark.parametrize(("status", "expected"), [("A", "14"), ("T", "14"), ("L", "41"), ("S", "43")])
def test_a_purchase_with_the_old_number_of_an_inactive_reissued_card_is_declined_and_recorded(
    strict_issuer: Issuer, status: str, expected: str
) -> None:
    user = reissued(strict_issuer, status)

    answer = user.request_authorization(10_00, card_id=LEFT_OUT, pan=user.card.pan, pin="0000")

    assert answer["response_code"] == expected
    assert code(user) == "78"
    assert [row["response_code"] for row in messages(user)] == [expected, "78"]
    assert strict_issuer.data("getCardDetails", card_id=user.card_id)["invalid_pin_tries"] == 0


def test_a_card_number_that_is_replaced_during_the_read_returns_14(strict_issuer: Issuer) -> None:
    user, causeway = cardholder(strict_issuer), strict_issuer.causeway

    def replace() -> None:
        reissue(user)
        strict_issuer.data("activateCard", card_id=user.card_id)

    with ExitStack() as after_the_number:
        second = causeway.meanwhile("batch_get", replace)
        after_the_number.enter_context(causeway.meanwhile("batch_get", lambda: after_the_number.enter_context(second)))
        answer = user.request_authorization(10_00, card_id=LEFT_OUT, pan=user.card.pan)

    assert answer["response_code"] == "14"
    assert code(user) == "00"


def test_an_advice_with_an_old_card_number_holds_the_amount(strict_issuer: Issuer) -> None:
    user = reissued(strict_issuer, "L")

    answer = advice(user, 10_00, card_id=LEFT_OUT, pan=user.card.pan)

    assert (answer["response_code"], user.balances()[1]) == ("00", 10_00)


def test_a_card_above_the_access_level_returns_3002_for_its_id_and_14_for_its_number(strict_issuer: Issuer) -> None:
    user = cardholder(strict_issuer, access_level=500)
    asked = {"transaction_type": 39, "amount": 0, "currency_ison": GBP}

    def by(level: int, **named: Any) -> Envelope:
        return strict_issuer.sim("simulateAuthorization", **asked, **named, access_level=level)

    assert by(499, card_id=user.card_id).status_code == 3002
    assert by(499, pan=user.card.pan).data["response_code"] == "14"
    assert by(500, card_id=user.card_id).data["response_code"] == "00"
    assert by(500, pan=user.card.pan).data["response_code"] == "00"
    told = {"amount": 0, "response_code": "00", "access_level": 499}
    assert strict_issuer.sim("simulateAdvice", **asked | told, pan=user.card.pan).status_code == 3002


def test_an_account_above_the_access_level_returns_zero_balances(strict_issuer: Issuer) -> None:
    own = cardholder(strict_issuer, 0)
    account = strict_issuer.account(
        holder_id=own.card.holder_id, currency_ison=EUR, access_level=500, cards=[own.card_id]
    )
    strict_issuer.inbound(strict_issuer.address(account, 2), 50_00)

    answers = {level: own.request_authorization(10_00, EUR, access_level=level) for level in (499, 500)}

    assert {answer["response_code"] for answer in answers.values()} == {"00"}
    assert (answers[499]["available_balance"], answers[499]["settled_balance"]) == (0, 0)
    assert (answers[500]["available_balance"], answers[500]["settled_balance"]) == (30_00, 50_00)


def test_a_card_number_of_another_programme_manager_returns_14(strict_issuer: Issuer, issuer: Issuer) -> None:
    foreign = issuer.card_in("A")

    assert strict_issuer.authorization(pan=foreign.pan, currency_ison=GBP)["response_code"] == "14"
