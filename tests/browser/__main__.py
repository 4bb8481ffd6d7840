"""Pictures of every page, wide and narrow, light and dark, from a stack of its own; some renew docs/images."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from playwright.sync_api import Browser, Page

from infra import command
from infra.local.background import run_stack
from infra.progress import Progress
from tests.browser import chromium
from tests.browser.checks import SCHEMES, seen_at, shown_in
from tests.browser.pages import IMAGES, WALKS
from tests.browser.visitor import visiting
from tests.browser.walks import Walk

WIDTHS = (1280, 390)
FOLDER = Path("build") / "screenshots"
OF_DOCUMENTS = Path("docs") / "images"


def main(arguments: list[str] | None = None) -> int:
    """The command; answers its exit code, which is 1 when a browser complained, or there was nothing to picture."""
    parser = command.parser("tests.browser", __doc__)
    parser.add_argument("--only", default="", help="walks whose name begins so, for example website or bank-one")
    only = parser.parse_args(arguments).only
    walks = [walk for walk in WALKS if walk.name.startswith(only)]
    problem = chromium.MISSING or ("" if walks else f"no walk's name begins with {only}; there are {_names()}")
    if problem:
        print(f"causeway: {problem}.", file=sys.stderr)
        return 1
    shutil.rmtree(FOLDER, ignore_errors=True)
    FOLDER.mkdir(parents=True)
    with Progress(sys.stderr) as progress:
        progress.step("starting a stack and a browser")
        with run_stack() as stack, chromium.launched() as browser:
            complaints = list(_pictured(browser, stack, walks, progress))
    for complaint in complaints:
        print(complaint)
    print(f"{len(list(FOLDER.iterdir()))} pictures are in {FOLDER}")
    return 1 if complaints else 0


def _pictured(browser: Browser, stack: dict[str, object], walks: Sequence[Walk], progress: Progress) -> Iterator[str]:
    """Write the pictures of all walks; yields what the browser complained of."""
    for number, walk in enumerate(walks, 1):
        count = len(walk.stops)
        progress.step(
            f"[{number:>2}/{len(walks)}] {walk.name}: {count} page{'' if count == 1 else 's'}", number - 1, len(walks)
        )
        yield from picture(browser, stack, walk, FOLDER)


def _names() -> str:
    return ", ".join(walk.name for walk in WALKS)


def picture(browser: Browser, stack: dict[str, object], walk: Walk, folder: Path) -> list[str]:
    """Write the pictures of a walk's pages; answers what the browser complained of."""
    try:
        with visiting(browser, stack) as visitor:
            for name in walk.pages(visitor):
                for width in WIDTHS:
                    _picture(visitor.page, width, folder / f"{name}-{width}")
                if name in IMAGES:
                    _write_image(visitor.page, OF_DOCUMENTS / f"{IMAGES[name]}.png")
    except AssertionError as complaint:
        return [f"{walk.name}: {complaint}"]
    return []


def _picture(page: Page, width: int, file: Path) -> None:
    with seen_at(page, width):
        for scheme in SCHEMES:
            with shown_in(page, scheme):
                page.screenshot(path=f"{file}-{scheme}.png", full_page=True)


def _write_image(page: Page, file: Path) -> None:
    """Write what a wide window shows of a page."""
    with seen_at(page, WIDTHS[0]), shown_in(page, SCHEMES[0]):
        page.evaluate("scrollTo(0, 0)")
        page.screenshot(path=file)


if __name__ == "__main__":
    command.run(main)
