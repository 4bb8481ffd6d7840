"""The menu of the web interface, and its API specification screens, as data."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from chalicelib.website.openapi_documents import DOCUMENTS


@dataclass(frozen=True, slots=True)
class SpecificationScreen:
    """An API specification screen: the last part of its address, its title, and the document and tag that it shows.

    Without a ``tag`` it shows the whole document, action by action. ``note`` is what one has to know besides,
    ``sandbox_note`` what one has to know where the demonstration banks and programmes are.
    """

    name: str
    title: str
    document: str
    tag: str | None
    note: str = ""
    sandbox_note: str = ""


_PSU = "PSU is short for payment service user: the person at the bank."
_CONFIRMATION = (
    "A payment that was initiated has a confirmation_url: the person at the bank opens it, and confirms there."
)
_REFERENCES = (
    "The demonstration banks let a payment fail as its reference says: TEST-NO-FUNDS, TEST-REFUSED, TEST-TIMEOUT, "
    "TEST-MALFORMED, TEST-LATE-REJECT, TEST-UNKNOWN."
)
_ACTIONS = (
    "Every action is a POST to one address, and its name stands in the body. What is sent again with the same "
    "request_reference_id gets the same answer; so each example has a new one."
)
_DEMONSTRATION = "On a local stack, make run prints the credential of a demonstration programme."
_SCREENS = (
    SpecificationScreen("authorization", "Authorization", "tpp", "Authorization", _PSU),
    SpecificationScreen("account", "Account", "tpp", "Account", _PSU),
    SpecificationScreen("payments", "Payments", "tpp", "Payments", _CONFIRMATION, _REFERENCES),
    SpecificationScreen("cards", "Cards", "cards", None, _ACTIONS, _DEMONSTRATION),
)
SCREENS: Sequence[SpecificationScreen] = tuple(screen for screen in _SCREENS if screen.document in DOCUMENTS)
"""The screens whose document exists."""

_MENU = (
    ("/clients", "Clients"),
    ("/authorize", "Authorize"),
    (f"/specifications/{SCREENS[0].name}", "API"),
    ("/deliveries", "Deliveries"),
    ("/cards", "Cards"),
    ("/performance", "Performance"),
)


@dataclass(frozen=True, slots=True)
class MenuItem:
    """An entry of the menu; ``is_current`` where the page is, or belongs below it."""

    place: str
    title: str
    is_current: bool


def build_menu(place: str) -> Sequence[MenuItem]:
    """The menu as it stands on the page at ``place``."""
    return [MenuItem(target, title, _section(place) == _section(target)) for target, title in _MENU]


def _section(place: str) -> str:
    return f"{place}/".split("/")[1]
