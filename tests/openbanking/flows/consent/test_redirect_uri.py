"""Tests of ``redirect_uri``: a code can be redeemed only with the ``redirect_uri`` of its authorization request.

See RFC 6749, section 4.1.3.
"""

from collections.abc import Callable
from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit

import pytest

from chalicelib.openbanking.protocol import refusals
from tests.causeway import Answer, Causeway
from tests.openbanking.key_holder import open_pushed

NAMED, UNNAMED = True, False


def members(causeway: Causeway, named: bool, bank: bool = True) -> dict[str, str]:
    return {
        "response_type": "code",
        "client_id": causeway.tpp.client_id,
        "scope": "accounts",
        "state": "visit-1",
        **({"bic": causeway.banks[2].bic} if bank else {}),
        **({"redirect_uri": causeway.tpp.client.callback_url} if named else {}),
    }


def start_in_browser(causeway: Causeway, named: bool) -> str:
    return causeway.call("GET", f"/oauth/authorize?{urlencode(members(causeway, named))}").headers["location"]


def start_by_choice(causeway: Causeway, named: bool) -> str:
    query = members(causeway, named, bank=False) | {"chosen_bic": causeway.banks[2].bic}
    return causeway.call("GET", f"/oauth/authorize?{urlencode(query)}").headers["location"]


def start_pushed(causeway: Causeway, named: bool) -> str:
    pushed = causeway.tpp.call("POST", "/oauth/par", form=members(causeway, named))
    return str(open_pushed(causeway, pushed.body["request_uri"]).headers["location"])


def start_by_client(causeway: Causeway, named: bool) -> str:
    named_uri = {"redirect_uri": causeway.tpp.client.callback_url} if named else {}
    request = {"bic": causeway.banks[2].bic, "scopes": ["accounts"], **named_uri}
    return str(causeway.tpp.call("POST", "/tpp/authorize", request).body["redirect_url"])


STANDARD = (start_in_browser, start_by_choice, start_pushed)
Start = Callable[[Causeway, bool], str]


def code_of(causeway: Causeway, url: str) -> str:
    saved = causeway.banks[2].call("/consent", causeway.banks[2].consent_body(url, scopes=["accounts"]))
    assert saved.status == 200, saved
    return str(parse_qs(urlsplit(saved.body["callbackUrl"]).query)["code"][0])


def redeem(causeway: Causeway, code: str, **more: Any) -> Answer:
    return causeway.tpp.call("POST", "/tpp/token", form={"grant_type": "authorization_code", "code": code, **more})


@pytest.mark.parametrize("start", STANDARD)
def test_a_code_of_a_request_with_a_redirect_uri_requires_the_same_redirect_uri(
    causeway: Causeway, start: Start
) -> None:
    code = code_of(causeway, start(causeway, NAMED))

    without = redeem(causeway, code)
    assert (without.status, without.body["error"]) == (400, "invalid_request")
    assert without.body["title"] == refusals.REDIRECT_URI_MISSING().message
    assert redeem(causeway, code, redirect_uri="https://other.example.com/").body["error"] == "invalid_grant"
    assert redeem(causeway, code, redirect_uri=causeway.tpp.client.callback_url).status == 200


@pytest.mark.parametrize("start", [*STANDARD, start_by_client])
def test_a_code_of_a_request_without_a_redirect_uri_can_be_exchanged_without_a_redirect_uri(
    causeway: Causeway, start: Start
) -> None:
    assert redeem(causeway, code_of(causeway, start(causeway, UNNAMED))).status == 200


def test_a_code_of_tpp_authorize_can_be_exchanged_without_a_redirect_uri(causeway: Causeway) -> None:
    assert redeem(causeway, code_of(causeway, start_by_client(causeway, NAMED))).status == 200


@pytest.mark.parametrize("start", STANDARD)
def test_a_code_stored_by_an_earlier_release_can_be_exchanged_without_a_redirect_uri(
    causeway: Causeway, start: Start
) -> None:
    code = code_of(causeway, start(causeway, NAMED))
    (grant,) = [item for item in causeway.hub.store.scan("consents") if item["part"] == "grant"]
    causeway.hub.store.put("consents", {name: grant[name] for name in grant if name != "names_redirect_uri"})

    assert redeem(causeway, code).status == 200


@pytest.mark.parametrize("start", STANDARD)
def test_an_authorization_request_stored_by_an_earlier_release_can_be_completed(
    causeway: Causeway, start: Start
) -> None:
    url = start(causeway, NAMED)
    for item in [*causeway.hub.store.scan("authorizations")]:
        request = {name: value for name, value in item.get("request", {}).items() if name != "names_redirect_uri"}
        kept = {name: value for name, value in item.items() if name != "names_redirect_uri"}
        causeway.hub.store.put("authorizations", kept | ({"request": request} if request else {}))

    if start is not start_pushed:
        assert start(causeway, NAMED) == url
    assert redeem(causeway, code_of(causeway, url)).status == 200
