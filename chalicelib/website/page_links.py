"""The paths of the web interface, its menu, and permitted redirects."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
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
    "/clients/{client_id}/settings": ("GET", "POST"),
    "/clients/{client_id}/security": ("GET", "POST"),
    "/clients/{client_id}/history": ("GET",),
    "/clients/{client_id}/activity": ("GET",),
    "/authorize": ("GET", "POST"),
    "/authorize/callback": ("GET", "POST"),
    "/consents": ("GET",),
    "/consents/{consent_id}": ("GET", "POST"),
    "/payments/callback": ("GET",),
    "/specifications/{screen}": ("GET",),
    "/cards": ("GET",),
    "/cards/activity": ("GET",),
    "/cards/new": ("GET", "POST"),
    "/cards/{card_id}": ("GET", "POST"),
    "/cards/{card_id}/statement": ("GET",),
    "/deliveries": ("GET",),
    "/deliveries/{delivery_id}": ("GET", "POST"),
    "/performance": ("GET",),
    "/banks/{bic}": ("GET",),
    "/banks/{bic}/conformance": ("GET",),
    "/verify-signature": ("GET", "POST"),
    "/docs": ("GET",),
    "/docs/{page}": ("GET",),
    "/docs/{page}/{subpage}": ("GET",),
    "/docs/{page}/{subpage}/{part}": ("GET",),
}
"""The paths of all pages, each with its methods. Views are loaded on the first request (see ``site``)."""
LATEST_EVENTS = "/deliveries/latest"
"""The path from which the script of the events page fetches new rows."""
SIMULATOR = "/cards/{card_id}/simulator"
"""The path of the simulator's forms, which exist in sandboxes only."""
RECEIVER = "/sandbox/receivers/{client_id}"
"""The path of the form that sends a client's events to the built-in receiver, which exists in sandboxes only."""

CLOCK = "/clock"
"""The path of the clock page, which exists on the one-machine stack only."""

_QUERY = re.compile(r"[\x21-\x7e]*")


def is_own_page(address: str) -> bool:
    """Whether ``address`` is a page of the web interface: a path without a host, optionally with a query."""
    path, _, query = address.partition("?")
    return any(page.fullmatch(path) for page in _patterns()) and _QUERY.fullmatch(query) is not None


@cache
def _patterns() -> Sequence[re.Pattern[str]]:
    return [re.compile(re.sub(r"\\{\w+\\}", "[A-Za-z0-9_-]+", re.escape(place))) for place in (*PAGES, CLOCK)]


_API = f"/specifications/{SCREENS[0].name}"


@dataclass(frozen=True, slots=True)
class MenuEntry:
    """A link of the menu. ``icon`` is a name from heroicons.com, ``is_current`` marks the section of the page."""

    place: str
    title: str
    icon: str
    is_current: bool = False


MENU: Mapping[str, Sequence[MenuEntry]] = {
    "Build": (
        MenuEntry("/", "Start", "home"),
        MenuEntry("/clients", "Clients", "squares-2x2"),
        MenuEntry("/authorize", "Authorize", "shield-check"),
        MenuEntry("/consents", "Consents", "check-badge"),
        MenuEntry(_API, "API", "code-bracket"),
    ),
    "Observe": (MenuEntry("/deliveries", "Events", "bolt"), MenuEntry("/performance", "Performance", "chart-bar")),
    "Cards": (MenuEntry("/cards", "Cards", "credit-card"),),
    "Learn": (MenuEntry("/docs", "Docs", "book-open"),),
}
"""The menu of signed-in users, by group."""
VISITORS = ("/docs", "/performance", _API)
"""The paths of the menu entries for visitors who are not signed in, in display order."""


def build_menu(place: str, *, signed_in: bool) -> Mapping[str, Sequence[MenuEntry]]:
    """Build the menu for the page at ``place``, by group. Visitors who are not signed in get a short menu without
    groups.
    """
    if signed_in:
        return {group: [_item(entry, place) for entry in entries] for group, entries in MENU.items()}
    entries = {entry.place: entry for group in MENU.values() for entry in group}
    return {"": [_item(entries[target], place) for target in VISITORS]}


def _item(entry: MenuEntry, place: str) -> MenuEntry:
    return replace(entry, is_current=bool(place) and _section(place) == _section(entry.place))


def _section(place: str) -> str:
    return f"{place}/".split("/")[1]
