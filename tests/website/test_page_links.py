"""Redirects of forms stay within the service, and the menu marks the current page."""

import pytest

from chalicelib.website import site
from chalicelib.website.page_links import MENU, PAGES, build_menu, is_own_page


@pytest.mark.parametrize("place", PAGES)
def test_every_page_is_a_permitted_redirect_destination(place: str) -> None:
    parts = {
        "client_id": "ab-12",
        "screen": "account",
        "delivery_id": "0f",
        "consent_id": "0e",
        "card_id": "7",
        "bic": "ALPHGB21",
        "secret": "aB_1-",
        "page": "tour",
        "subpage": "tpp",
        "part": "accounts",
    }
    address = place.format(**parts)

    assert is_own_page(address)
    assert is_own_page(f"{address}?a=%20b&c=//evil.example")


@pytest.mark.parametrize(
    "address",
    [
        "",
        "//evil.example",
        "/\\evil.example",
        "https://evil.example/clients",
        "/clients/a/b",
        "/clients/..",
        "/tpp/token",
        "/clients?a b",
        "/clients?\r\n",
        "/clients\n",
        "/clients#x",
        "clients",
        "/Clients",
        "/clients/%2f%2fevil",
    ],
)
def test_an_address_outside_the_pages_is_rejected_as_a_redirect_destination(address: str) -> None:
    assert not is_own_page(address)


@pytest.mark.parametrize(
    ("place", "marked"),
    [
        ("/", ["Start"]),
        ("/clients", ["Clients"]),
        ("/clients/new", ["Clients"]),
        ("/authorize/callback", ["Authorize"]),
        ("/consents/{consent_id}", ["Consents"]),
        ("/specifications/payments", ["API"]),
        ("/deliveries/some-id", ["Events"]),
        ("/cards/{card_id}", ["Cards"]),
        ("/specifications/cards", ["API"]),
        ("/performance", ["Performance"]),
        ("/payments/callback", []),
        ("", []),
    ],
)
def test_the_menu_entry_of_the_current_page_is_marked(place: str, marked: list[str]) -> None:
    groups = build_menu(place, signed_in=True).values()

    assert [entry.title for entries in groups for entry in entries if entry.is_current] == marked


def test_a_visitor_sees_the_public_menu_entries() -> None:
    (entries,) = build_menu("/docs/tour", signed_in=False).values()

    assert [(entry.title, entry.is_current) for entry in entries] == [
        ("Docs", True),
        ("Performance", False),
        ("API", False),
    ]
    assert {
        ("GET", entry.place) for entry in entries if "specifications" not in entry.place
    } <= site.FOR_EVERYBODY.keys()


def test_every_menu_entry_links_to_a_different_page() -> None:
    places = [entry.place for entries in MENU.values() for entry in entries]

    assert all(is_own_page(place) for place in places)
    assert len(set(places)) == len(places)
