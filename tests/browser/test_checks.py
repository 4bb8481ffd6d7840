"""Each page check detects the defect that the check is written for."""

import re
from collections.abc import Callable

import pytest
from playwright.sync_api import Page

from tests.browser import page_checks
from tests.browser.page_checks import LOOKS, cut_off, findings, inaccessible, look_of, shifted, too_wide
from tests.browser.window import Window

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


def test_a_valid_page_has_no_findings(window: Window) -> None:
    window.show(GOOD, policy=NO_SCRIPTS)

    assert not findings(window.page)


@pytest.mark.parametrize(
    ("check", "body", "finding"),
    [
        (inaccessible, "<main><input></main>", r"^light, 1280 wide, label \(critical\).*<input>"),
        (inaccessible, PALE_IN_THE_DARK, r"dark, 1280 wide, color-contrast \(serious\).*Who can read this"),
        (inaccessible, ONLY_ON_A_PHONE, r"^light, 390 wide, label \(critical\).*<input"),
        (inaccessible, "<p>Nothing else</p>", r"landmark-one-main \(moderate\)"),
        (findings, "<main><h1>Bright</h1></main>", "^dark: the background is bright, up to 255 of 255"),
        (findings, CROOKED, "words and icon of a message are apart by .* pixels: <div class=.note"),
        (cut_off, f"<main><div style='overflow: auto'>{WORDS}</div></main>", "cut off .*1280 wide: <div"),
        (cut_off, f"<main><div style='overflow: hidden'>{WORDS}</div></main>", "cut off .*390 wide: <div"),
        (too_wide, "<main><pre>" + "wide " * 50 + "</pre></main>", "wider than 360 pixels: <pre>wide"),
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
def test_each_page_check_detects_the_defect_of_its_kind(
    window: Window, check: Callable[[Page], list[str]], body: str, finding: str
) -> None:
    window.show(body)

    assert re.search(finding, "\n".join(check(window.page)))
    assert re.search(finding.lstrip("^"), "\n".join(findings(window.page)))


def test_the_small_form_checks_a_page_with_a_name_in_one_look(window: Window, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(page_checks, "SMALL", True)
    window.show("<main><h1>Good</h1><input></main>")
    names = {look_of(name): name for name in map(str, range(20))}
    found = [finding for look in range(LOOKS) for finding in findings(window.page, names[look]) if "label (" in finding]

    assert [finding.partition(", label")[0] for finding in found] == [
        "light, 1280 wide",
        "dark, 1280 wide",
        "light, 390 wide",
        "dark, 390 wide",
    ]


def test_scrollable_regions_with_a_scroll_cue_and_ellipses_are_not_reported_as_cut_off(window: Window) -> None:
    cue = "overflow: auto; background: linear-gradient(to left, #fff, #ddd) right / 1rem 100% no-repeat local"
    ellipsis = "overflow: hidden; text-overflow: ellipsis"
    window.show(f"<main><div style='{cue}'>{WORDS}</div><div style='{ellipsis}'>{WORDS}</div></main>")

    assert not cut_off(window.page)


def test_a_layout_shift_is_reported(window: Window) -> None:
    window.show(GOOD)
    assert not shifted(window.page)

    window.page.evaluate("() => document.body.prepend('A late line', document.createElement('hr'))")

    assert re.search(r"layout shift of 0\.\d+: \w", "\n".join(shifted(window.page)))


def test_a_page_check_restores_the_state_of_the_page(window: Window) -> None:
    window.show(GOOD)
    seen = "() => [innerWidth, matchMedia('(prefers-color-scheme: dark)').matches]"
    window.page.emulate_media(color_scheme="dark")

    assert not findings(window.page)

    assert window.page.evaluate(seen) == [1280, True]
