"""The clock page: the business time, the form that advances the clock, and rejected clock advances."""

import pytest

from chalicelib.website.accounts import account_flow
from chalicelib.website.records.sessions import LIFETIME
from tests.causeway import Causeway
from tests.sandbox_clock.conftest import Operator
from tests.website.web_user import WebUser


@pytest.fixture
def user(movable: Causeway) -> WebUser:
    return WebUser.signed_in(movable, "clock@example.com")


def test_the_clock_page_shows_business_and_real_time(user: WebUser) -> None:
    user.get("/clock")

    assert "Business time 2 Mar 2026, 09:00:00 UTC" in user.text
    assert "Not moved" in user.text


def test_the_form_of_the_clock_page_advances_the_clock(user: WebUser, operator: Operator) -> None:
    user.get("/clock")
    user.post("/clock", number="1", unit="weeks")
    user.follow()

    assert "Time has moved" in user.text
    assert "Ahead by 7 days" in user.text
    assert operator.time["offset_seconds"] == 7 * 86_400


def test_a_web_session_expires_in_real_time_despite_a_clock_advance(user: WebUser, movable: Causeway) -> None:
    movable.clock.advance(LIFETIME - 3600)
    user.get("/clock")
    user.post("/clock", number="1", unit="days")

    assert user.get("/clock").status == 200


def test_a_mailed_link_expires_in_real_time_despite_a_clock_advance(
    user: WebUser, movable: Causeway, operator: Operator
) -> None:
    users = movable.hub.website.users
    link = movable.hub.website.call(account_flow.issue_operator_link, users.get("clock@example.com"))
    secret = link.rpartition("/")[2]
    operator.move("P30D")
    movable.hub.website.call(account_flow.reset_password, secret, "rain on a tin roof", terms_accepted=True)

    assert users.authenticate("clock@example.com", "rain on a tin roof") is not None


@pytest.mark.usefixtures("rendered")
def test_every_page_shows_a_banner_after_a_clock_advance(user: WebUser, operator: Operator) -> None:
    user.get("/clients")
    assert "Time has been moved" not in user.text
    operator.move("P7DT2H")
    for place in ("/clients", "/performance", "/docs", "/"):
        user.get(place)
        assert "Time has been moved. Here it is 9 Mar 2026, 11:00:00 UTC , 7 days and 2 hours ahead." in user.text


def test_a_demonstration_bank_shows_a_banner_after_a_clock_advance(user: WebUser, operator: Operator) -> None:
    operator.move("P7D")
    user.get("/demo-bank/one")

    assert "Time has been moved. Here it is 9 March 2026, 09:00 UTC." in user.text


@pytest.mark.parametrize(
    ("number", "unit", "said"),
    [
        ("", "days", "Enter a whole number."),
        ("-1", "days", "Enter a whole number."),
        ("1.5", "days", "Enter a whole number."),
        ("1", "years", "Enter a whole number."),
        ("0", "days", "Time moves forward only, by at most 400 days at once."),
        ("58", "weeks", "Time moves forward only, by at most 400 days at once."),
    ],
)
def test_the_clock_form_rejects_an_invalid_duration_with_a_message(
    user: WebUser, operator: Operator, number: str, unit: str, said: str
) -> None:
    user.get("/clock")
    answer = user.post("/clock", number=number, unit=unit)

    assert answer.status == 400
    assert said in user.text
    assert operator.time["offset_seconds"] == 0


def test_a_forged_form_token_returns_403_and_leaves_the_clock_unchanged(user: WebUser, operator: Operator) -> None:
    assert user.post("/clock", token="forged", number="1", unit="days").status == 403
    assert operator.time["offset_seconds"] == 0


def test_a_visitor_is_redirected_to_sign_in_and_cannot_advance_the_clock(movable: Causeway, operator: Operator) -> None:
    visitor = WebUser(movable)

    assert visitor.get("/clock").headers["location"].endswith("/sign-in?next=%2Fclock")
    visitor.post("/clock", number="1", unit="days")
    assert operator.time["offset_seconds"] == 0
