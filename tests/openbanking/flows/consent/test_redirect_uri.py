"""The redirect_uri of an authorization request comes again when its code is redeemed (RFC 6749, section 4.1.3)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit

import pytest

from chalicelib.openbanking.protocol import refusals
from tests.openbanking.key_holder import open_pushed
from tests.world import Answer, World

NAMED, UNNAMED = True, False


def members(world: World, named: bool, bank: bool = True) -> dict[str, str]:
    """The parameters of a request that names ``redirect_uri`` or leaves it out, with or without a bank."""
    return {
        "response_type": "code",
        "client_id": world.client.client_id,
        "scope": "accounts",
        "state": "visit-1",
        **({"bic": world.banks[2].bank.bic} if bank else {}),
        **({"redirect_uri": world.client.callback_url} if named else {}),
    }


def start_in_browser(world: World, named: bool) -> str:
    """The bank's address after ``GET /oauth/authorize``."""
    return world.call("GET", f"/oauth/authorize?{urlencode(members(world, named))}").headers["location"]


def start_by_choice(world: World, named: bool) -> str:
    """The same for a request whose user has chosen the bank."""
    query = members(world, named, bank=False) | {"chosen_bic": world.banks[2].bank.bic}
    return world.call("GET", f"/oauth/authorize?{urlencode(query)}").headers["location"]


def start_pushed(world: World, named: bool) -> str:
    """The same for a pushed request."""
    pushed = world.tpp("POST", "/oauth/par", form=members(world, named))
    return str(open_pushed(world, pushed.body["request_uri"]).headers["location"])


def start_by_client(world: World, named: bool) -> str:
    """The bank's address after ``POST /tpp/authorize``."""
    named_uri = {"redirect_uri": world.client.callback_url} if named else {}
    request = {"bic": world.banks[2].bank.bic, "scopes": ["accounts"], **named_uri}
    return str(world.tpp("POST", "/tpp/authorize", request).body["redirect_url"])


STANDARD = (start_in_browser, start_by_choice, start_pushed)
Start = Callable[[World, bool], str]


def code_of(world: World, url: str) -> str:
    saved = world.bank(2, "/consent", world.consent_body(2, url, scopes=["accounts"]))
    assert saved.status == 200, saved
    return str(parse_qs(urlsplit(saved.body["callbackUrl"]).query)["code"][0])


def redeem(world: World, code: str, **more: Any) -> Answer:
    return world.tpp("POST", "/tpp/token", form={"grant_type": "authorization_code", "code": code, **more})


@pytest.mark.parametrize("start", STANDARD)
def test_code_of_a_request_with_redirect_uri_requires_the_same_redirect_uri(world: World, start: Start) -> None:
    code = code_of(world, start(world, NAMED))

    without = redeem(world, code)
    assert (without.status, without.body["error"]) == (400, "invalid_request")
    assert without.body["title"] == refusals.REDIRECT_URI_MISSING().message
    assert redeem(world, code, redirect_uri="https://other.example.com/").body["error"] == "invalid_grant"
    assert redeem(world, code, redirect_uri=world.client.callback_url).status == 200


@pytest.mark.parametrize("start", [*STANDARD, start_by_client])
def test_code_of_a_request_without_redirect_uri_needs_none(world: World, start: Start) -> None:
    assert redeem(world, code_of(world, start(world, UNNAMED))).status == 200


def test_code_of_tpp_authorize_needs_no_redirect_uri(world: World) -> None:
    assert redeem(world, code_of(world, start_by_client(world, NAMED))).status == 200


@pytest.mark.parametrize("start", STANDARD)
def test_code_stored_by_an_earlier_release_needs_no_redirect_uri(world: World, start: Start) -> None:
    code = code_of(world, start(world, NAMED))
    (grant,) = [item for item in world.hub.store.scan("consents") if item["part"] == "grant"]
    world.hub.store.put("consents", {name: grant[name] for name in grant if name != "names_redirect_uri"})

    assert redeem(world, code).status == 200


@pytest.mark.parametrize("start", STANDARD)
def test_request_stored_by_an_earlier_release_still_completes(world: World, start: Start) -> None:
    url = start(world, NAMED)
    for item in [*world.hub.store.scan("authorizations")]:
        request = {name: value for name, value in item.get("request", {}).items() if name != "names_redirect_uri"}
        kept = {name: value for name, value in item.items() if name != "names_redirect_uri"}
        world.hub.store.put("authorizations", kept | ({"request": request} if request else {}))

    if start is not start_pushed:
        assert start(world, NAMED) == url
    assert redeem(world, code_of(world, url)).status == 200
