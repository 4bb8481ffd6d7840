"""The forms of a page, as a browser submits them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from html.parser import HTMLParser
from typing import Any

from tests.causeway import Answer
from tests.website.person import Person

CALLBACK = "http://127.0.0.1:8000/authorize/callback"


class _Forms(HTMLParser):
    """Reads the address, the buttons and the fields of each form, with the values that a browser would send."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.forms: list[tuple[str, set[str], dict[str, str]]] = []
        self._within = False
        self._area = self._menu = ""
        self.feed(text)

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attributes}
        if tag == "form":
            self.forms.append((given.get("action", ""), set(), {}))
            self._within = True
        if not self._within:
            return
        _, buttons, fields = self.forms[-1]
        if tag == "button":
            buttons.add(given.get("value", ""))
        elif tag == "input" and "name" in given:
            if given.get("type") not in ("checkbox", "radio") or "checked" in given:
                fields[given["name"]] = given.get("value", "")
        elif tag == "textarea":
            self._area, fields[given["name"]] = given["name"], ""
        elif tag == "select":
            self._menu = given["name"]
        elif tag == "option" and (self._menu not in fields or "selected" in given):
            fields[self._menu] = given["value"]

    def handle_data(self, data: str) -> None:
        if self._area:
            self.forms[-1][2][self._area] += data.removeprefix("\n")

    def handle_endtag(self, tag: str) -> None:
        if tag == "textarea":
            self._area = ""
        self._within = self._within and tag != "form"


def form_of(user: Person, action: str) -> tuple[str, dict[str, str]]:
    """The address and the fields of the form with the button ``action`` on the page that is shown."""
    for address, buttons, fields in _Forms(user.last.text).forms:
        if action in buttons:
            return address, fields | {"action": action}
    raise AssertionError(f"the page has no button {action}")


def save(user: Person, path: str, action: str, **changes: Any) -> Answer:
    """Open a page, change the fields of its form with the button ``action``, and press the button."""
    user.get(path)
    address, fields = form_of(user, action)
    return user.post(address, form=fields | changes)


def rename(user: Person, client_id: str, **changes: Any) -> Answer:
    """Change the general settings of a client."""
    return save(user, f"/clients/{client_id}/settings", "general", **changes)


def secrets_of(user: Person) -> Mapping[str, str]:
    """The Client ID and the secrets that the page shows."""
    return dict(re.findall(r'<code id="(client-id|client-secret|events-secret)">([^<]+)</code>', user.last.text))
