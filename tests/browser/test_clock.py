"""The clock page of a stack with a movable clock, and the notice about a moved clock on all pages."""

from collections.abc import Iterator
from typing import Any

import pytest

from tests.browser import user
from tests.browser.page_checks import findings
from tests.browser.window import Window, Windows
from tests.e2e.separate_stack import separate_stack

pytestmark = pytest.mark.pages


@pytest.fixture(scope="module")
def stack(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Any]]:
    """Start a separate stack for this module, because the shared stack cannot reset a moved clock."""
    with separate_stack(tmp_path_factory.mktemp("clock")) as started:
        yield started.content


def ahead_by(window: Window) -> str:
    return window.page.locator("dl.facts div", has_text="Ahead by").locator("dd").inner_text()


def move(window: Window, number: str, unit: str) -> None:
    window.fill("Move forward by", number)
    window.page.get_by_label("Unit").select_option(unit)
    window.press("Move time")


def test_no_page_mentions_a_moved_clock_before_the_first_clock_advance(window: Window) -> None:
    window.open("/")
    assert "Time has been moved" not in window.page.content()
    window.open("/clock")

    assert window.page.title().startswith("Sign in")


def test_a_clock_advance_in_the_form_is_announced_on_every_page(window: Window) -> None:
    user.register(window)
    window.follow("Clock")
    assert ahead_by(window) == "Not moved"

    move(window, "2", "days")

    assert "Time has moved" in window.page.get_by_role("status").inner_text()
    assert ahead_by(window) == "2 days"
    assert not findings(window.page)
    window.open("/clients")
    window.follow("Show the clock")
    assert window.page.url.endswith("/clock")
    for place in ("/", "/clients", "/performance", "/nowhere", f"{window.bank(1)['domain']}/consents"):
        window.open(place)
        assert window.page.get_by_text("Time has been moved.").is_visible()
        assert not findings(window.page)


def test_the_clock_advance_message_is_not_shown_on_the_next_visit(window: Window) -> None:
    user.register(window)
    window.open("/clock")
    move(window, "1", "hours")

    window.open("/clock")

    assert window.page.get_by_role("status").count() == 0


def test_a_clock_advance_of_more_than_400_days_is_rejected(window: Window) -> None:
    user.register(window)
    window.open("/clock")
    before = ahead_by(window)

    move(window, "58", "weeks")

    assert "by at most 400 days at once" in window.page.get_by_role("alert").inner_text()
    assert ahead_by(window) == before
    assert window.page.get_by_label("Move forward by").input_value() == "58"
    assert window.page.get_by_label("Unit").input_value() == "weeks"
    assert not findings(window.page)


def test_the_clock_can_be_advanced_by_keyboard_and_without_javascript(windows: Windows) -> None:
    window = windows()
    email = user.register(window)
    page = window.page
    window.enter_at(page.get_by_role("link", name="Clock", exact=True).last)
    window.tab_to(page.get_by_label("Move forward by"))
    page.keyboard.press("Control+A")
    page.keyboard.type("3")
    window.tab_to(page.get_by_label("Unit"))
    page.keyboard.type("h")
    window.enter_at(page.get_by_role("button", name="Move time"))
    assert "Time has moved" in page.get_by_role("status").inner_text()

    plain = windows(javascript=False)
    user.sign_in(plain, email)
    plain.open("/clock")
    move(plain, "1", "hours")
    assert "Time has moved" in plain.page.get_by_role("status").inner_text()
