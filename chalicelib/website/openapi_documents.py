"""The OpenAPI documents as ``make docs`` wrote them, with this stage's own address, and the screens on them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from chalicelib.foundation.identifiers import digest

_FOLDER = Path(__file__).parent / "openapi"
DOCUMENTS = tuple(sorted(file.stem for file in _FOLDER.glob("*.json")))  # the names of the documents that exist
_PLACEHOLDER_URL = "http://127.0.0.1:8000"


@dataclass(frozen=True, slots=True)
class OpenApiDocument:
    """A document's text, and its entity tag (RFC 9110 §8.8.3)."""

    text: str
    tag: str

    def matches(self, if_none_match: str) -> bool:
        """Whether a caller who sends this ``If-None-Match`` has the document already."""
        return bool({self.tag, "*"} & {entry.strip().removeprefix("W/") for entry in if_none_match.split(",")})


@cache
def load_document(name: str, address: str) -> OpenApiDocument:
    text = (_FOLDER / f"{name}.json").read_text(encoding="utf-8").replace(_PLACEHOLDER_URL, address)
    return OpenApiDocument(text, f'"{digest(text)[:32]}"')


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
