"""The checks of a page find what they are there to find."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from playwright.sync_api import Page

from tests.browser.checks import check_accessibility, check_page, no_horizontal_scroll, no_layout_shift, nothing_cut_off
from tests.browser.made_up import show
from tests.browser.visitor import Visitor

pytestmark = pytest.mark.pages

NO_SCRIPTS = "default-src 'none'; style-src 'unsafe-inline'"
GOOD = (
    "<style>@media (prefers-color-scheme: dark) { body { background: #111; color: #eee } }</style>"
    "<main><h1>Good</h1><p>Nothing is wrong here.</p></main>"
)
ONLY_ON_A_PHONE = (
    "<style>input { display: none } @media (max-width: 500px) { input { display: block } }</style>"
    "<main><h1>Good</h1><input></main>"
)
PALE_IN_THE_DARK = (
    "<style>@media (prefers-color-scheme: dark) { body { background: #111 } p { color: #333 } }</style>"
    "<main><p>Who can read this?</p></main>"
)
CROOKED = (
    "<main><div class='note' style='display: flex'><svg class='icon' width='20' height='20'></svg>"
    "<p style='margin-top: 2rem'>Words</p></div></main>"
)
WORDS = "<p style='white-space: nowrap'>" + "words " * 400 + "</p>"


def test_a_good_page_has_no_findings(visitor: Visitor) -> None:
    show(visitor, GOOD, policy=NO_SCRIPTS)

    check_page(visitor.page)


@pytest.mark.parametrize(
    ("check", "body", "finding"),
    [
        (check_accessibility, "<main><input></main>", r"^light, 1280 wide, label \(critical\).*<input>"),
        (check_accessibility, PALE_IN_THE_DARK, r"dark, 1280 wide, color-contrast \(serious\).*Who can read this"),
        (check_accessibility, ONLY_ON_A_PHONE, r"^light, 390 wide, label \(critical\).*<input"),
        (check_accessibility, "<p>Nothing else</p>", r"landmark-one-main \(moderate\)"),
        (check_page, "<main><h1>Bright</h1></main>", "^dark: the background is bright, up to 255 of 255"),
        (check_page, CROOKED, "words and icon of a message are apart by .* pixels: <div class=.note"),
        (nothing_cut_off, f"<main><div style='overflow: auto'>{WORDS}</div></main>", "cut off .*1280 wide: <div"),
        (nothing_cut_off, f"<main><div style='overflow: hidden'>{WORDS}</div></main>", "cut off .*390 wide: <div"),
        (no_horizontal_scroll, "<main><pre>" + "wide " * 50 + "</pre></main>", "wider than 360 pixels: <pre>wide"),
    ],
    ids=[
        "an input without a label",
        "text that is too pale in the dark",
        "an input without a label on a phone",
        "a page without a main part",
        "a bright page",
        "a message whose words hang below its icon",
        "a part that scrolls sideways without a cue",
        "a part that is cut off on a phone",
        "a line that is too long",
    ],
)
def test_each_check_finds_its_fault(visitor: Visitor, check: Callable[[Page], None], body: str, finding: str) -> None:
    show(visitor, body)

    with pytest.raises(AssertionError, match=finding):
        check(visitor.page)
    with pytest.raises(AssertionError, match=finding.lstrip("^")):
        check_page(visitor.page)


def test_scrollable_regions_with_a_cue_and_ellipses_do_not_count_as_cut_off(visitor: Visitor) -> None:
    cue = "overflow: auto; background: linear-gradient(to left, #fff, #ddd) right / 1rem 100% no-repeat local"
    ellipsis = "overflow: hidden; text-overflow: ellipsis"
    show(visitor, f"<main><div style='{cue}'>{WORDS}</div><div style='{ellipsis}'>{WORDS}</div></main>")

    nothing_cut_off(visitor.page)


def test_a_layout_shift_is_found(visitor: Visitor) -> None:
    show(visitor, GOOD)
    no_layout_shift(visitor.page)

    visitor.page.evaluate("() => document.body.prepend('A late line', document.createElement('hr'))")

    with pytest.raises(AssertionError, match=r"layout shift of 0\.\d+: \w"):
        no_layout_shift(visitor.page)


def test_a_check_restores_the_page(visitor: Visitor) -> None:
    show(visitor, GOOD)
    seen = "() => [innerWidth, matchMedia('(prefers-color-scheme: dark)').matches]"
    visitor.page.emulate_media(color_scheme="dark")

    check_page(visitor.page)

    assert visitor.page.evaluate(seen) == [1280, True]
