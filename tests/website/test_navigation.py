"""The menu: on every page the entry is marked that the page belongs to."""

from __future__ import annotations

import pytest

from chalicelib.website.navigation import build_menu


@pytest.mark.parametrize(
    ("place", "marked"),
    [
        ("/", []),
        ("/clients", ["Clients"]),
        ("/clients/new", ["Clients"]),
        ("/authorize/callback", ["Authorize"]),
        ("/specifications/payments", ["API"]),
        ("/deliveries/some-id", ["Deliveries"]),
        ("/cards/{card_id}", ["Cards"]),
        ("/specifications/cards", ["API"]),
        ("/performance", ["Performance"]),
        ("/payments/callback", []),
        ("", []),
    ],
)
def test_the_entry_that_a_page_belongs_to_is_marked(place: str, marked: list[str]) -> None:
    assert [entry.title for entry in build_menu(place) if entry.is_current] == marked
