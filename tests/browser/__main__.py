"""Take screenshots of all pages in a wide and a narrow window, in light and dark mode, from a separate stack.

Some of the screenshots also replace images in docs/images.
"""

import shutil
import sys
from collections.abc import Mapping
from pathlib import Path

from playwright.sync_api import Browser, Page

from infra import command
from infra.local.background import run_stack
from infra.progress import Progress
from tests.browser import authorization_pages, website_pages, window
from tests.browser.page_checks import SCHEMES, Walk, seen_at, shown_in

WALKS: tuple[Walk, ...] = (*website_pages.WALKS, *authorization_pages.WALKS)
IMAGES: Mapping[str, str] = {
    "website-journey-specification-balance": "explorer",
    "website-journey-tokens": "tokens",
    "website-deliveries-delivered": "event",
    "performance-banks": "performance",
}
"""Maps the images in ``docs/images`` to pages in the README. The images are taken in a wide window."""
WIDTHS = (1280, 390)
FOLDER = Path("build") / "screenshots"
OF_DOCUMENTS = Path("docs") / "images"


def main(arguments: list[str] | None = None) -> int:
    """Run the command. Return exit code 1 if a page has errors or if no page is found."""
    parser = command.parser("tests.browser", __doc__)
    parser.add_argument("--only", default="", help="walks whose name begins so, for example website or bank-one")
    only = parser.parse_args(arguments).only
    walks = [walk for walk in WALKS if walk.name.startswith(only)]
    names = ", ".join(walk.name for walk in WALKS)
    problem = window.MISSING or ("" if walks else f"no walk's name begins with {only}; there are {names}")
    if problem:
        print(f"causeway: {problem}.", file=sys.stderr)
        return 1
    shutil.rmtree(FOLDER, ignore_errors=True)
    FOLDER.mkdir(parents=True)
    complaints: list[str] = []
    with Progress(sys.stderr) as progress:
        progress.step("starting a stack and a browser")
        with run_stack() as stack, window.launched() as browser:
            for number, walk in enumerate(walks, 1):
                count = len(walk.page_names)
                step = f"[{number:>2}/{len(walks)}] {walk.name}: {count} page{'' if count == 1 else 's'}"
                progress.step(step, number - 1, len(walks))
                complaints += picture(browser, stack, walk, FOLDER)
    for complaint in complaints:
        print(complaint)
    print(f"{len(list(FOLDER.iterdir()))} pictures are in {FOLDER}")
    return 1 if complaints else 0


def picture(browser: Browser, stack: dict[str, object], walk: Walk, folder: Path) -> list[str]:
    try:
        with window.open_window(browser, stack) as opened:
            for name in walk.pages(opened):
                for width in WIDTHS:
                    _picture(opened.page, width, folder / f"{name}-{width}")
                if name in IMAGES:
                    _write_image(opened.page, OF_DOCUMENTS / f"{IMAGES[name]}.png")
    except AssertionError as complaint:
        return [f"{walk.name}: {complaint}"]
    return []


def _picture(page: Page, width: int, file: Path) -> None:
    with seen_at(page, width):
        for scheme in SCHEMES:
            with shown_in(page, scheme):
                page.screenshot(path=f"{file}-{scheme}.png", full_page=True)


def _write_image(page: Page, file: Path) -> None:
    with seen_at(page, WIDTHS[0]), shown_in(page, SCHEMES[0]):
        page.evaluate("scrollTo(0, 0)")
        page.screenshot(path=file)


if __name__ == "__main__":
    command.run(main)
