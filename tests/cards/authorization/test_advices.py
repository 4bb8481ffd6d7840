"""Tests of simulateAdvice and forced response codes, which record decisions made outside the service."""

import pytest

from tests.cards.authorization.issuers import advice, cardholder, messages
from tests.cards.authorization.shops import A_DAY, DINAR, Holder
from tests.cards.field_values import RESPONSE_CODES
from tests.cards.issuer import EUR, GBP, Issuer

ACTIONS = ("simulateAuthorization", "simulateAdvice")


@pytest.fixture(scope="module")
def user(strict_issuer: Issuer) -> Holder:
    return cardholder(strict_issuer)


@pytest.mark.parametrize("action", ACTIONS)
def test_an_advice_or_forced_approval_holds_the_amount_without_checks(strict_issuer: Issuer, action: str) -> None:
    user = cardholder(strict_issuer, 5_00, card_limit_group_id=202)
    strict_issuer.data("changeCardStatus", card_id=user.card_id, status="B")
    told = {"response_code": "00"} if action == "simulateAdvice" else {"force_response_code": "00"}
    asked = {"card_id": user.card_id, "transaction_type": 0, "amount": 120_00, "currency_ison": GBP, **told}

    answer = strict_issuer.data(action, **asked, pin="0000", expiry_year=2020)

    assert (answer["response_code"], answer["approved_amount"]) == ("00", 120_00)
    assert (answer["available_balance"], answer["settled_balance"]) == (-115_00, 5_00)
    assert user.balances() == (5_00, 120_00, 0, -115_00)
    assert user.hold(answer["trans_link"]) == ("H", 120_00, 120_00)
    assert user.limit_usage(A_DAY) == [(1, 120_00)]
    assert user.movement_causes() == ["advice" if action == "simulateAdvice" else "authorization"]
    [message] = messages(user)
    assert (message["authorize_type"], message.get("advice_reason_code")) == (
        (2, 1) if action == "simulateAdvice" else (1, None)
    )


@pytest.mark.parametrize("forced", RESPONSE_CODES)
def test_a_simulated_authorization_or_advice_returns_the_requested_response_code(
    strict_issuer: Issuer, user: Holder, forced: str
) -> None:
    approved = forced in ("00", "10")
    own = cardholder(strict_issuer) if approved else user
    asked = {"card_id": own.card_id, "transaction_type": 0, "amount": 5_00, "currency_ison": GBP}

    answers = [
        strict_issuer.data("simulateAuthorization", **asked, force_response_code=forced),
        strict_issuer.data("simulateAdvice", **asked, response_code=forced),
    ]

    for answer in answers:
        assert (answer["response_code"], answer["approved_amount"]) == (forced, 5_00 if approved else 0)
        assert ("auth_code" in answer) is approved
        assert user.record(answer["trans_link"]).response_code == forced
    assert own.balances() == ((100_00, 10_00, 0, 90_00) if approved else (100_00, 0, 0, 100_00))
    assert [row["response_code"] for row in messages(own)[-2:]] == [forced] * 2


def test_an_advice_in_a_currency_without_a_rate_returns_57(strict_issuer: Issuer) -> None:
    user = cardholder(strict_issuer)

    assert advice(user, 10_00, DINAR)["response_code"] == "57"
    assert user.balances() == (100_00, 0, 0, 100_00)


def test_an_advice_is_converted_for_a_card_without_auto_conversion(strict_issuer: Issuer) -> None:
    user = cardholder(strict_issuer, auto_conversion=0)

    assert advice(user, 10_00, EUR)["holder_amount"] == 8_20
    assert user.balances() == (100_00, 8_20, 0, 91_80)


def test_an_advice_for_an_unknown_card_number_returns_3002(strict_issuer: Issuer) -> None:
    advice = {"transaction_type": 0, "amount": 100, "currency_ison": GBP, "response_code": "00"}

    assert strict_issuer.sim("simulateAdvice", pan="2223000000000007", **advice).status_code == 3002
