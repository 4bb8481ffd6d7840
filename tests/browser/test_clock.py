"""The page of the clock on a stack whose time is moved, and what all pages then say."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tests.browser import user
from tests.browser.checks import check_page
from tests.browser.visitor import Visitor, Visitors
from tests.e2e.own_stack import running

pytestmark = pytest.mark.pages


@pytest.fixture(scope="module")
def stack(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Any]]:
    """A stack of this module's own, for the visitors too: time of the shared one cannot go back."""
    with running(tmp_path_factory.mktemp("clock")) as started:
        yield started.content


def ahead_by(visitor: Visitor) -> str:
    """What the page of the clock says of the offset."""
    return visitor.page.locator("dl.facts div", has_text="Ahead by").locator("dd").inner_text()


def move(visitor: Visitor, number: str, unit: str) -> None:
    visitor.fill("Move forward by", number)
    visitor.page.get_by_label("Unit").select_option(unit)
    visitor.press("Move time")


def test_no_page_mentions_moved_time_before_a_move(visitor: Visitor) -> None:
    visitor.open("/")
    assert "Time has been moved" not in visitor.page.content()
    visitor.open("/clock")

    assert visitor.page.title().startswith("Sign in")


def test_a_move_by_the_form_is_announced_on_every_page(visitor: Visitor) -> None:
    user.register(visitor)
    visitor.follow("Clock")
    assert ahead_by(visitor) == "Not moved"

    move(visitor, "2", "days")

    assert "Time has moved" in visitor.page.get_by_role("status").inner_text()
    assert ahead_by(visitor) == "2 days"
    check_page(visitor.page)
    visitor.open("/clients")
    visitor.follow("Show the clock")
    assert visitor.page.url.endswith("/clock")
    for place in ("/", "/clients", "/performance", "/nowhere", f"{visitor.bank(1)['domain']}/consents"):
        visitor.open(place)
        assert visitor.page.get_by_text("Time has been moved.").is_visible()
        check_page(visitor.page)


def test_the_move_message_disappears_on_the_next_visit(visitor: Visitor) -> None:
    user.register(visitor)
    visitor.open("/clock")
    move(visitor, "1", "hours")

    visitor.open("/clock")

    assert visitor.page.get_by_role("status").count() == 0


def test_a_move_of_more_than_400_days_is_rejected(visitor: Visitor) -> None:
    user.register(visitor)
    visitor.open("/clock")
    before = ahead_by(visitor)

    move(visitor, "58", "weeks")

    assert "by at most 400 days at once" in visitor.page.get_by_role("alert").inner_text()
    assert ahead_by(visitor) == before
    assert visitor.page.get_by_label("Move forward by").input_value() == "58"
    assert visitor.page.get_by_label("Unit").input_value() == "weeks"
    check_page(visitor.page)


def test_the_clock_can_be_moved_by_keyboard_and_without_javascript(visitors: Visitors) -> None:
    visitor = visitors()
    email = user.register(visitor)
    page = visitor.page
    visitor.enter_at(page.get_by_role("link", name="Clock", exact=True).last)
    visitor.tab_to(page.get_by_label("Move forward by"))
    page.keyboard.press("Control+A")
    page.keyboard.type("3")
    visitor.tab_to(page.get_by_label("Unit"))
    page.keyboard.type("h")
    visitor.enter_at(page.get_by_role("button", name="Move time"))
    assert "Time has moved" in page.get_by_role("status").inner_text()

    plain = visitors(javascript=False)
    user.sign_in(plain, email)
    plain.open("/clock")
    move(plain, "1", "hours")
    assert "Time has moved" in plain.page.get_by_role("status").inner_text()
