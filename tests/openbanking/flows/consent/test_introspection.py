"""Tests of token introspection (RFC 7662): a client gets information about its own tokens only."""

from typing import Any

import pytest

from tests.causeway import Causeway
from tests.openbanking.key_holder import KeyHolder, secure
from tests.openbanking.kit import VERSIONS

INACTIVE = {"active": False}


def introspect(causeway: Causeway, token: str, **form: str) -> Any:
    answer = causeway.tpp.call("POST", "/oauth/introspect", form={"token": token, **form})
    assert answer.status == 200, answer
    assert answer.headers["cache-control"] == "no-store"
    return answer.body


@VERSIONS
def test_introspection_describes_an_access_token(causeway: Causeway, version: int) -> None:
    tokens = causeway.tpp.tokens(version)

    assert introspect(causeway, tokens["access_token"]) == {
        "active": True,
        "scope": tokens["scope"],
        "client_id": causeway.tpp.client_id,
        "token_type": "Bearer",
        "exp": causeway.clock.time() + 3600,
        "iss": "http://127.0.0.1:8000",
        "consent_id": tokens["consent_id"],
    }


@VERSIONS
def test_introspection_describes_a_refresh_token(causeway: Causeway, version: int) -> None:
    tokens = causeway.tpp.tokens(version)

    described = introspect(causeway, tokens["refresh_token"], token_type_hint="refresh_token")

    assert described["active"] is True
    assert described["exp"] == causeway.clock.time() + 180 * 24 * 3600
    assert "token_type" not in described


def test_introspection_returns_the_thumbprint_of_the_key_of_a_bound_token(causeway: Causeway) -> None:
    holder = KeyHolder()
    secure(causeway, holder)
    tokens = holder.tokens(causeway)

    form = holder.form(causeway, {"token": tokens["access_token"]})
    body = causeway.tpp.call("POST", "/oauth/introspect", form=form, client_id="").body

    assert (body["token_type"], body["cnf"]) == ("DPoP", {"jkt": holder.thumbprint})


@pytest.mark.parametrize("token", ["unknown", "a.b", "x" * 500, "a~b~c." + "d" * 43, "a~b." + "d" * 43])
def test_an_unknown_token_is_not_active(causeway: Causeway, token: str) -> None:
    assert introspect(causeway, token) == INACTIVE


@pytest.mark.parametrize("kind", ["access_token", "refresh_token"])
def test_a_token_of_another_client_is_not_active(causeway: Causeway, kind: str) -> None:
    token = causeway.tpp.tokens(2)[kind]
    causeway.tpp.client = causeway.hub.openbanking.clients.create(owner="b@example.com", title="Other").client

    assert introspect(causeway, token) == INACTIVE


@pytest.mark.parametrize("kind", ["access_token", "refresh_token"])
def test_a_token_with_a_wrong_secret_is_not_active(causeway: Causeway, kind: str) -> None:
    token = causeway.tpp.tokens(2)[kind]

    assert introspect(causeway, token[:-43] + "A" * 43) == INACTIVE


def test_an_expired_access_token_is_not_active(causeway: Causeway) -> None:
    token = causeway.tpp.tokens(2)["access_token"]

    causeway.clock.advance(3599)
    assert introspect(causeway, token)["active"] is True
    causeway.clock.advance(1)
    assert introspect(causeway, token) == INACTIVE


def test_a_used_refresh_token_is_not_active(causeway: Causeway) -> None:
    old = causeway.tpp.tokens(2)["refresh_token"]
    new = causeway.tpp.call("POST", "/tpp/token", {"refresh_token": old}).body["refresh_token"]

    assert introspect(causeway, old) == INACTIVE
    assert introspect(causeway, new)["active"] is True


def test_tokens_of_an_ended_consent_are_not_active(causeway: Causeway) -> None:
    tokens = causeway.tpp.tokens(2)
    causeway.tpp.call("POST", "/tpp/token/revoke", {"token": tokens["access_token"]})

    assert introspect(causeway, tokens["access_token"]) == introspect(causeway, tokens["refresh_token"]) == INACTIVE


def test_introspection_reports_an_authorization_code_as_not_active(causeway: Causeway) -> None:
    assert introspect(causeway, causeway.psu.approve(2).query["code"]) == INACTIVE


def test_introspection_requires_a_known_client(causeway: Causeway) -> None:
    without = causeway.tpp.call("POST", "/oauth/introspect", form={"token": "x"}, client_id="")
    unknown = causeway.tpp.call("POST", "/oauth/introspect", form={"token": "x"}, client_id="unknown")

    assert (without.status, without.body["error"]) == (401, "invalid_client")
    assert (unknown.status, unknown.body["error"]) == (401, "invalid_client")


def test_introspection_without_a_token_returns_400(causeway: Causeway) -> None:
    answer = causeway.tpp.call("POST", "/oauth/introspect", form={"token_type_hint": "access_token"})

    assert (answer.status, answer.body["error"]) == (400, "invalid_request")
