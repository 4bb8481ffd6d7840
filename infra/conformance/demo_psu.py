"""Simulates the PSU at a demonstration bank for the conformance kit, as ``psu.command`` in ``bank.yaml``.

The command is ``.venv/bin/python -m infra.conformance.demo_psu BASE_URL``. The kit appends ``consent URL approve`` or
``refuse``, ``payment URL confirm`` or ``refuse``, or ``revoke``. The PSU is the first customer on the sign-in page.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from urllib.parse import urljoin

from infra.conformance.hub import TPP_NAME
from infra.psu_browser import Browser, BrowserPage, Form, NavigationFailed, agree, open_signed_in, require_page

_NOWHERE = "nowhere:"
"""A URL prefix that no redirect matches, so that the browser loads every page, including the pages of the kit."""
_STEPS = 6


def main(arguments: Sequence[str]) -> int:
    base, action, *rest = arguments
    browser = Browser(_NOWHERE, lambda *_: None)
    try:
        if action == "revoke":
            revoke(browser, base)
        elif rest[1] == "refuse":
            _require_return(refuse(browser, rest[0]))
        else:
            _require_return(require_page(agree(browser, rest[0])))
    except NavigationFailed as error:
        print(error)
        return 1
    return 0


def refuse(browser: Browser, url: str) -> BrowserPage:
    """Refuse the request on the first page."""
    page = require_page(browser.open(url))
    return require_page(browser.submit(page, _form_to(page, "/refuse")))


def revoke(browser: Browser, base: str) -> None:
    """End every consent that the customer has given to the kit."""
    place = f"{base}/consents"
    for _ in range(_STEPS):
        page = open_signed_in(browser, place)
        link = next((each for each in page.links if "?revoke=" in each), None)
        if link is None:
            return
        asked = require_page(browser.open(urljoin(place, link)))
        browser.submit(asked, _form_to(asked, "/consents/revoke"))


def _form_to(page: BrowserPage, ending: str) -> Form:
    found = next((form for form in page.forms if form.action.endswith(ending)), None)
    if found is None:
        raise NavigationFailed(f"«{page.title}» ({page.status}) has no form that leads to {ending}")
    return found


def _require_return(page: BrowserPage) -> None:
    if page.title != TPP_NAME:
        raise NavigationFailed(f"the PSU ended at «{page.title}» ({page.status})")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
