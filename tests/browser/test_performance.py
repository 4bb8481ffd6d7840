"""Keyboard access to the performance pages: from the overview to a bank and its chart values."""

import re

import pytest

from tests.browser.page_checks import PHONE
from tests.browser.window import Window, Windows

pytestmark = pytest.mark.pages


def test_the_links_between_the_overview_and_a_bank_page_preserve_the_date_range(window: Window) -> None:
    window.open("/performance")
    table = window.page.get_by_role("region", name="Banks", exact=True)
    name, bic = (window.bank(2)[member] for member in ("name", "bic"))
    row = table.locator("tbody tr", has_text=bic)
    assert row.get_by_role("img").get_attribute("aria-label") is not None

    window.enter_at(row.get_by_role("link", name=name, exact=True))

    days = re.findall("(?:from|to)=[0-9-]+", window.page.url)
    assert len(days) == 2
    window.follow("All banks")
    assert re.findall("(?:from|to)=[0-9-]+", window.page.url) == days


def test_the_reported_durations_are_readable_with_the_keyboard(window: Window) -> None:
    window.open(f"/performance?bic={window.bank(2)['bic']}")
    tips = window.page.get_by_role("list", name=re.compile("^Durations that the bank reports"))

    window.tab_to(tips.locator("li").last)
    window.page.keyboard.press("ArrowLeft")

    words = window.page.locator(":focus").evaluate("element => getComputedStyle(element, '::before').content")
    assert re.search(r"consent [0-9.]+ s, payment [0-9.]+ s", words)


@pytest.mark.parametrize("chart", ["Availability", "Time at the bank", "Time in this service"])
def test_the_values_of_each_chart_are_readable_with_the_arrow_keys(window: Window, chart: str) -> None:
    window.open(f"/performance?bic={window.bank(2)['bic']}")
    tips = window.page.get_by_role("list", name=re.compile(f"^{chart}")).locator("li")
    window.tab_to(tips.last)
    told = []
    for key in ("ArrowLeft", "Home", "End"):
        window.page.keyboard.press(key)
        told.append(window.page.locator(":focus").get_attribute("aria-label"))

    assert told == [tips.nth(place).get_attribute("aria-label") for place in (tips.count() - 2, 0, tips.count() - 1)]
    words = window.page.locator(":focus").evaluate("element => getComputedStyle(element, '::before').content")
    assert words == f'"{told[-1]}"'


def test_a_phone_shows_each_bank_as_a_card_without_cut_off_content(windows: Windows) -> None:
    window = windows(width=PHONE)
    window.open("/performance")
    table = window.page.get_by_role("region", name="Banks", exact=True)

    assert table.evaluate("element => element.scrollWidth <= element.clientWidth")
    assert table.locator("tbody tr").first.evaluate("element => getComputedStyle(element).display") == "block"
