"""The paths of the web interface, its menu, and permitted redirects."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import cache

from chalicelib.foundation.lazy_dataclasses import dataclass
from chalicelib.website.openapi_documents import SCREENS

PAGES: Mapping[str, Sequence[str]] = {
    "/": ("GET",),
    "/terms": ("GET",),
    "/register": ("GET", "POST"),
    "/sign-in": ("GET", "POST"),
    "/sign-out": ("GET", "POST"),
    "/account": ("GET", "POST"),
    "/confirm/{secret}": ("GET", "POST"),
    "/forgotten": ("GET", "POST"),
    "/reset/{secret}": ("GET", "POST"),
    "/clients": ("GET",),
    "/clients/new": ("GET", "POST"),
    "/clients/{client_id}": ("GET", "POST"),
    "/authorize": ("GET", "POST"),
    "/authorize/callback": ("GET", "POST"),
    "/payments/callback": ("GET",),
    "/specifications/{screen}": ("GET",),
    "/cards": ("GET",),
    "/cards/activity": ("GET",),
    "/cards/{card_id}": ("GET",),
    "/deliveries": ("GET",),
    "/deliveries/{delivery_id}": ("GET", "POST"),
    "/performance": ("GET",),
    "/docs": ("GET",),
    "/docs/{page}": ("GET",),
    "/docs/{page}/{subpage}": ("GET",),
}
"""Every page with its methods; views are loaded on the first request (see ``site``)."""
SIMULATOR = "/cards/{card_id}/simulator"
"""The path of the simulator's forms, which exist in sandboxes only."""

CLOCK = "/clock"
"""The page of the clock, which exists on the one-machine stack only."""

_QUERY = re.compile(r"[\x21-\x7e]*")


def is_own_page(address: str) -> bool:
    """Whether ``address`` is a page of the web interface: a path without a host, optionally with a query."""
    path, _, query = address.partition("?")
    return any(page.fullmatch(path) for page in _patterns()) and _QUERY.fullmatch(query) is not None


@cache
def _patterns() -> Sequence[re.Pattern[str]]:
    return [re.compile(re.sub(r"\\{\w+\\}", "[A-Za-z0-9_-]+", re.escape(place))) for place in (*PAGES, CLOCK)]


_MENU = (
    ("/clients", "Clients"),
    ("/authorize", "Authorize"),
    (f"/specifications/{SCREENS[0].name}", "API"),
    ("/deliveries", "Deliveries"),
    ("/cards", "Cards"),
    ("/performance", "Performance"),
    ("/docs", "Docs"),
)


@dataclass(frozen=True, slots=True)
class MenuItem:
    """A menu entry; ``is_current`` marks the section of the current page."""

    place: str
    title: str
    is_current: bool


def build_menu(place: str) -> Sequence[MenuItem]:
    return [MenuItem(target, title, _section(place) == _section(target)) for target, title in _MENU]


def _section(place: str) -> str:
    return f"{place}/".split("/")[1]
