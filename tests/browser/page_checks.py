"""Page checks that return findings (accessibility, dark mode, width, layout shift), and the class for scenarios."""

import inspect
import re
import zlib
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from itertools import product
from typing import Any
from urllib.parse import urlsplit

from axe_playwright_python.base import AXE_SCRIPT
from playwright.sync_api import Page

from chalicelib.website.page_links import PAGES
from tests.browser.window import Colours, Window
from tests.kit.small import SMALL
from tests.website.web_user import PAGE_BYTES

SCHEMES: tuple[Colours, ...] = ("light", "dark")
NARROW = 360
PHONE = 390
LOOKS = 2 * len(SCHEMES)
"""The number of combinations of a width and a colour scheme."""
TAGS = ("wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice")
"""The axe-core rule sets: WCAG 2.2 levels A and AA, and axe-core's best practices."""
_OPTIONS = {"resultTypes": ["violations"], "preload": {"assets": ["media"]}}  # no rule here reads style sheets
_ALL_RULES: Mapping[str, Any] = _OPTIONS | {"runOnly": list(TAGS)}
_RULES_ON_COLOURS: Mapping[str, Any] = _OPTIONS | {"runOnly": ["color-contrast", "link-in-text-block"]}
_VIOLATIONS = "async rules => (await axe.run(rules)).violations"

_SHIFTS = """() => new Promise(done => {
  const shifts = []
  const name = ({node}) => node ? node.nodeName.toLowerCase() + (node.className ? '.' + node.className : '') : 'removed'
  new PerformanceObserver(list => shifts.push(
    ...list.getEntries().filter(entry => !entry.hadRecentInput && entry.value >= 0.001)
      .map(entry => `${entry.value.toFixed(4)}: ${entry.sources.map(name).join(', ')}`)
  )).observe({type: 'layout-shift', buffered: true})
  requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(() => done(shifts))))
})"""
_WIDE = """() => {
  const width = document.documentElement.clientWidth
  if (document.documentElement.scrollWidth <= width) return []
  const wide = [...document.querySelectorAll('body, body *')].filter(element => {
    const {left, right} = element.getBoundingClientRect()
    return Math.max(right, left + element.scrollWidth) > width + 1
  })
  return wide.filter(element => !wide.some(other => other !== element && element.contains(other)))
    .map(element => element.outerHTML.slice(0, 120))
}"""

_CUT_OFF = """() => {
  const isCut = element => {
    const style = getComputedStyle(element)
    if (style.overflowX === 'visible' || element.scrollWidth <= element.clientWidth + 1) return false
    if (element.matches('input, select, textarea') || style.clipPath !== 'none') return false
    return style.textOverflow !== 'ellipsis' && !style.backgroundAttachment.includes('local')
  }
  return [...document.querySelectorAll('body, body *')].filter(element => element.checkVisibility() && isCut(element))
    .map(element => element.outerHTML.slice(0, 120))
}"""
"""A script that finds cut-off elements, which are neither scrollable with a shadow cue nor shortened with an ellipsis.
"""

_CROOKED = """() => [...document.querySelectorAll('.alert, .note, .toast')].flatMap(message => {
  const icon = message.querySelector(':scope > .icon')
  const texts = document.createTreeWalker(message, NodeFilter.SHOW_TEXT)
  while (icon && texts.nextNode() && !texts.currentNode.textContent.trim()) {}
  if (!icon || !message.checkVisibility()) return []
  const words = document.createRange()
  words.selectNodeContents(texts.currentNode)
  const [one, other] = [icon.getBoundingClientRect(), words.getClientRects()[0]]
  const apart = Math.abs(one.top + one.bottom - other.top - other.bottom) / 2
  return apart > 3 ? [`${apart} pixels: ${message.outerHTML.slice(0, 120)}`] : []
})"""
"""A script that finds messages with an icon that is not vertically aligned with the first line of text."""

_BACKGROUND = """() => {
  const isPainted = colour => !/transparent|, 0\\)$/.test(colour)
  const colours = [document.body, document.documentElement].map(element => getComputedStyle(element).backgroundColor)
  const brush = new OffscreenCanvas(1, 1).getContext('2d')
  brush.fillStyle = colours.find(isPainted) ?? 'white'
  brush.fillRect(0, 0, 1, 1)
  return Math.max(...brush.getImageData(0, 0, 1, 1).data.slice(0, 3))
}"""
_DARK = 100
"""The upper limit for the red, green and blue values of a dark background, on a scale of 0 to 255."""


Look = tuple[int, Colours, Mapping[str, Any]]
"""A width and a colour scheme in which axe-core checks a page, and the options with the rules for it."""
Steps = Callable[[Window], Iterator[str]] | Mapping[str, str]
"""A mapping of page names to addresses, or a function that navigates a window and yields each page name."""


@dataclass(frozen=True)
class Walk:
    """A scenario: a sequence of pages, each opened from the previous page.

    Attributes:
        rows: the addresses in the web interface's ``PAGES`` that the scenario visits.
    """

    name: str
    steps: Steps
    rows: tuple[str, ...] = ()

    @property
    def page_names(self) -> list[str]:
        """Return the page names, which are unique among all scenarios.

        Read the names from the source code, because running ``steps`` requires a browser.
        """
        if isinstance(self.steps, Mapping):
            return [f"{self.name}-{name}" for name in self.steps]
        source = inspect.getsource(self.steps.func if isinstance(self.steps, partial) else self.steps)
        return [f"{self.name}-{name}" for name in re.findall(r'yield "([\w-]+)"', source)]

    def pages(self, window: Window) -> Iterator[str]:
        names = self._open_each(self.steps, window) if isinstance(self.steps, Mapping) else self.steps(window)
        for name in names:
            yield f"{self.name}-{name}"

    @staticmethod
    def _open_each(addresses: Mapping[str, str], window: Window) -> Iterator[str]:
        for name, address in addresses.items():
            window.open(address)
            yield name


def row_of(address: str) -> str | None:
    path = urlsplit(address).path
    return next((row for row in PAGES if re.fullmatch(re.sub(r"{\w+}", "[^/]+", row), path)), None)


def findings(page: Page, name: str = "") -> list[str]:
    """Run all checks on a page that has just loaded. Return their findings, and restore the state of the page.

    In the small form, axe-core checks a page with a ``name`` in one of its four looks, which the name chooses.
    """
    looks, widths = _all_looks(page), _widths(page)
    if SMALL and name:
        width, scheme, _ = looks[look_of(name)]
        looks = [(width, scheme, _ALL_RULES)]
    found = [*heavy(page), *shifted(page), *crooked(page)]
    for width in (*widths, NARROW):  # each once, because a page is laid out anew for each
        with seen_at(page, width):
            found += _violations(page, [look for look in looks if look[0] == width])
            found += too_wide(page, width)
            found += _cut_off_at(page, width) if width in widths else []
    return [*found, *bright_in_the_dark(page)]


def look_of(name: str) -> int:
    """Return the number of the look in which the small form checks the page with this name."""
    return zlib.crc32(name.encode()) % LOOKS


def heavy(page: Page) -> list[str]:
    size = page.evaluate("() => performance.getEntriesByType('navigation')[0].decodedBodySize")
    return [f"the page has {size} bytes, {PAGE_BYTES} are allowed"] if size > PAGE_BYTES else []


def inaccessible(page: Page, *, besides: Collection[str] = ()) -> list[str]:
    """Return the accessibility findings of axe-core, at the current and at phone width, in light and in dark mode.

    Skip the rules in ``besides``, which third-party content violates. In dark mode, check only the colour rules.
    """
    return _violations(page, _all_looks(page), besides)


def _all_looks(page: Page) -> list[Look]:
    rules: Mapping[Colours, Mapping[str, Any]] = {"light": _ALL_RULES, "dark": _RULES_ON_COLOURS}
    return [(width, scheme, rules[scheme]) for width, scheme in product(_widths(page), SCHEMES)]


def _violations(page: Page, looks: Sequence[Look], besides: Collection[str] = ()) -> list[str]:
    if not page.evaluate("() => 'axe' in window"):
        page.evaluate(AXE_SCRIPT)
    found = []
    for width, scheme, rules in looks:
        with seen_at(page, width), shown_in(page, scheme):
            broken = [rule for rule in page.evaluate(_VIOLATIONS, rules) if rule["id"] not in besides]
        found += [line for rule in broken for line in _lines(f"{scheme}, {width} wide", rule)]
    return found


def _lines(seen: str, rule: Mapping[str, Any]) -> Iterator[str]:
    for node in rule["nodes"]:
        why = " ".join(node["failureSummary"].split())
        yield f"{seen}, {rule['id']} ({rule['impact']}): {rule['help']}: {node['html']}: {why}"


def bright_in_the_dark(page: Page) -> list[str]:
    with shown_in(page, "dark"):
        brightness = page.evaluate(_BACKGROUND)
    return [f"dark: the background is bright, up to {brightness} of 255"] if brightness > _DARK else []


def too_wide(page: Page, width: int = NARROW) -> list[str]:
    with seen_at(page, width):
        return [f"wider than {width} pixels: {element}" for element in page.evaluate(_WIDE)]


def _widths(page: Page) -> tuple[int, int]:
    size = page.viewport_size
    assert size is not None
    return size["width"], PHONE


def cut_off(page: Page) -> list[str]:
    """Return the elements with content that is cut off horizontally without a visual cue.

    Check the current width and the width of a phone.
    """
    return [line for width in _widths(page) for line in _cut_off_at(page, width)]


def _cut_off_at(page: Page, width: int) -> list[str]:
    with seen_at(page, width):
        return [f"cut off without a cue, {width} wide: {element}" for element in page.evaluate(_CUT_OFF)]


def crooked(page: Page) -> list[str]:
    """Return the messages with text that is not vertically aligned with the icon."""
    return [f"words and icon of a message are apart by {message}" for message in page.evaluate(_CROOKED)]


def shifted(page: Page) -> list[str]:
    """Return the layout shifts since the page began to load, except shifts after user input.

    Ignore shifts below 0.001, which a partially painted row causes. The Core Web Vitals limit is 0.1.
    """
    return [f"layout shift of {shift}" for shift in page.evaluate(_SHIFTS)]


@contextmanager
def shown_in(page: Page, scheme: Colours) -> Iterator[None]:
    """Switch the page to light or dark mode without a reload, until the end of the block."""
    was_dark = page.evaluate("() => matchMedia('(prefers-color-scheme: dark)').matches")
    shown: Colours = "dark" if was_dark else "light"
    if shown != scheme:
        page.emulate_media(color_scheme=scheme)
    page.evaluate("() => document.getAnimations().forEach(animation => animation.finish())")
    try:
        yield
    finally:
        if shown != scheme:
            page.emulate_media(color_scheme=shown)


@contextmanager
def seen_at(page: Page, width: int) -> Iterator[None]:
    """Resize the page without a reload, until the end of the block."""
    size = page.viewport_size
    assert size is not None
    if size["width"] == width:
        yield
        return
    page.set_viewport_size({"width": width, "height": size["height"]})
    try:
        yield
    finally:
        page.set_viewport_size(size)
