"""The menu of the web interface, as data."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from chalicelib.website.screens import SCREENS

_MENU = (
    ("/clients", "Clients"),
    ("/authorize", "Authorize"),
    (f"/specifications/{SCREENS[0].name}", "API"),
    ("/deliveries", "Deliveries"),
    ("/cards", "Cards"),
    ("/performance", "Performance"),
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
