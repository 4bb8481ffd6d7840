"""The menu of the web interface, as data."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from chalicelib.website.descriptions import DOCUMENTS


@dataclass(frozen=True, slots=True)
class Screen:
    """An API specification screen: the last part of its address, its title, and the document and tag that it shows.

    Without a ``tag`` it shows the whole document.
    """

    name: str
    title: str
    document: str
    tag: str | None


_SCREENS = (
    Screen("authorization", "Authorization", "tpp", "Authorization"),
    Screen("account", "Account", "tpp", "Account"),
    Screen("payments", "Payments", "tpp", "Payments"),
    Screen("cards", "Cards", "cards", None),
)
SCREENS: Sequence[Screen] = tuple(screen for screen in _SCREENS if screen.document in DOCUMENTS)
"""The screens whose document exists."""

_MENU = (
    ("/clients", "Clients"),
    ("/authorize", "Authorize"),
    (f"/specifications/{SCREENS[0].name}", "API"),
    ("/deliveries", "Deliveries"),
)


@dataclass(frozen=True, slots=True)
class Entry:
    """An entry of the menu; ``is_current`` where the page is, or belongs below it."""

    place: str
    title: str
    is_current: bool


def entries(place: str) -> Sequence[Entry]:
    """The menu as it stands on the page at ``place``."""
    return [Entry(target, title, _section(place) == _section(target)) for target, title in _MENU]


def _section(place: str) -> str:
    return f"{place}/".split("/")[1]
