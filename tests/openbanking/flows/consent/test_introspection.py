"""Introspection (RFC 7662): a client learns about its own tokens, and nothing about others'."""

from __future__ import annotations

from typing import Any

import pytest

from tests.openbanking.key_holder import KeyHolder, secure
from tests.world import World

VERSIONS = pytest.mark.parametrize("version", [1, 2])
INACTIVE = {"active": False}


def introspect(world: World, token: str, **form: str) -> Any:
    answer = world.tpp("POST", "/oauth/introspect", form={"token": token, **form})
    assert answer.status == 200, answer
    assert answer.headers["cache-control"] == "no-store"
    return answer.body


@VERSIONS
def test_introspection_describes_an_access_token(world: World, version: int) -> None:
    tokens = world.tokens(version)

    assert introspect(world, tokens["access_token"]) == {
        "active": True,
        "scope": tokens["scope"],
        "client_id": world.client.client_id,
        "token_type": "Bearer",
        "exp": world.clock.time() + 3600,
        "iss": "http://127.0.0.1:8000",
        "consent_id": tokens["consent_id"],
    }


@VERSIONS
def test_introspection_describes_a_refresh_token(world: World, version: int) -> None:
    tokens = world.tokens(version)

    described = introspect(world, tokens["refresh_token"], token_type_hint="refresh_token")

    assert described["active"] is True
    assert described["exp"] == world.clock.time() + 180 * 24 * 3600
    assert "token_type" not in described


def test_introspection_shows_the_key_of_a_bound_token(world: World) -> None:
    holder = KeyHolder()
    secure(world, holder)
    tokens = holder.tokens(world)

    form = holder.form(world, {"token": tokens["access_token"]})
    body = world.tpp("POST", "/oauth/introspect", form=form, client_id="").body

    assert (body["token_type"], body["cnf"]) == ("DPoP", {"jkt": holder.thumbprint})


@pytest.mark.parametrize("token", ["unknown", "a.b", "x" * 500, "a~b~c." + "d" * 43, "a~b." + "d" * 43])
def test_an_unknown_token_is_not_active(world: World, token: str) -> None:
    assert introspect(world, token) == INACTIVE


@pytest.mark.parametrize("kind", ["access_token", "refresh_token"])
def test_a_token_of_another_client_is_not_active(world: World, kind: str) -> None:
    token = world.tokens(2)[kind]
    world.client = world.hub.openbanking.clients.create(owner="b@example.com", title="Other").client

    assert introspect(world, token) == INACTIVE


@pytest.mark.parametrize("kind", ["access_token", "refresh_token"])
def test_a_token_with_a_wrong_secret_is_not_active(world: World, kind: str) -> None:
    token = world.tokens(2)[kind]

    assert introspect(world, token[:-43] + "A" * 43) == INACTIVE


def test_an_expired_access_token_is_not_active(world: World) -> None:
    token = world.tokens(2)["access_token"]

    world.clock.advance(3599)
    assert introspect(world, token)["active"] is True
    world.clock.advance(1)
    assert introspect(world, token) == INACTIVE


def test_a_used_refresh_token_is_not_active(world: World) -> None:
    old = world.tokens(2)["refresh_token"]
    new = world.tpp("POST", "/tpp/token", {"refresh_token": old}).body["refresh_token"]

    assert introspect(world, old) == INACTIVE
    assert introspect(world, new)["active"] is True


def test_tokens_of_an_ended_consent_are_not_active(world: World) -> None:
    tokens = world.tokens(2)
    world.tpp("POST", "/tpp/token/revoke", {"token": tokens["access_token"]})

    assert introspect(world, tokens["access_token"]) == introspect(world, tokens["refresh_token"]) == INACTIVE


def test_authorization_code_is_not_active(world: World) -> None:
    assert introspect(world, world.approve(2).query["code"]) == INACTIVE


def test_introspection_requires_a_known_client(world: World) -> None:
    without = world.tpp("POST", "/oauth/introspect", form={"token": "x"}, client_id="")
    unknown = world.tpp("POST", "/oauth/introspect", form={"token": "x"}, client_id="unknown")

    assert (without.status, without.body["error"]) == (401, "invalid_client")
    assert (unknown.status, unknown.body["error"]) == (401, "invalid_client")


def test_introspection_without_a_token_returns_400(world: World) -> None:
    answer = world.tpp("POST", "/oauth/introspect", form={"token_type_hint": "access_token"})

    assert (answer.status, answer.body["error"]) == (400, "invalid_request")
