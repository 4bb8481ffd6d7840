"""Clauses of the FAPI 2.0 Security Profile, for a client with ``fapi2`` (docs/concepts/security-profile.md).

What is not tested in ``test_security_profile.py``, ``test_attacks.py``, ``oauth/`` or ``flows/``.
"""

from __future__ import annotations

import re
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

from chalicelib.openbanking.records.client_validation import InvalidClient
from tests.openbanking.key_holder import BASE, VERIFIER, KeyHolder, approve_pushed, open_pushed, secure
from tests.world import Answer, World

VERSIONS = pytest.mark.parametrize("version", [1, 2])
SECRET = re.compile(r"[A-Za-z0-9_-]{43}")
"""256 bits in base64url."""


@pytest.fixture
def holder(world: World) -> KeyHolder:
    """The key of the world's client, which has the profile."""
    made = KeyHolder()
    secure(world, made, security_profile="fapi2")
    return made


# -- General requirements of authorization servers (5.3.2.1)


@pytest.mark.parametrize("grant", ["password", "client_credentials", "implicit"])
def test_unsupported_grant_types_are_refused(world: World, holder: KeyHolder, grant: str) -> None:
    form = {"grant_type": grant, "username": "lena", "password": "sandbox-lena", "code": "a.b"}

    answer = holder.token_call(world, form)

    assert (answer.status, answer.body["error"]) == (400, "unsupported_grant_type")


@pytest.mark.parametrize("method", [None, "none", "client_secret_basic", "client_secret_post"])
def test_the_profile_requires_a_key_or_a_certificate(world: World, method: str | None) -> None:
    with pytest.raises(InvalidClient, match="needs the authentication method private_key_jwt or tls_client_auth"):
        world.hub.openbanking.clients.update(
            world.client.client_id, security={"auth_method": method, "security_profile": "fapi2"}
        )


@VERSIONS
def test_unbound_tokens_from_before_the_profile_are_refused(world: World, version: int) -> None:
    tokens, holder = world.tokens(version), KeyHolder()
    secure(world, holder, security_profile="fapi2")

    assert world.tpp("GET", "/tpp/consent", bearer=tokens["access_token"]).status == 401
    renewed = holder.refresh(world, tokens["refresh_token"])
    assert (renewed.status, renewed.body["token_type"]) == (200, "DPoP")
    assert holder.read(world, renewed.body["access_token"]).status == 200


# -- The authorization code flow (5.3.2.2)


@pytest.mark.parametrize("kind", ["token", "code id_token", None])
def test_a_pushed_request_requires_the_response_type_code(world: World, holder: KeyHolder, kind: str | None) -> None:
    assert holder.push(world, response_type=kind).status == 400
    assert holder.push(world).status == 201


@pytest.mark.parametrize("wrong", [{"code_verifier": None}, {"code_verifier": VERIFIER[::-1]}, {"redirect_uri": None}])
def test_redeeming_a_code_requires_its_verifier_and_redirect_uri(
    world: World, holder: KeyHolder, wrong: dict[str, Any]
) -> None:
    code = holder.code(world)

    assert holder.redeem(world, code, **wrong).status == 400
    assert holder.redeem(world, code).status == 200


@VERSIONS
def test_every_authorization_response_names_the_issuer(world: World, holder: KeyHolder, version: int) -> None:
    url = open_pushed(world, holder.push(world, version).body["request_uri"]).headers["location"]
    asked = world.bank(version, "/init_authorization", {"request_url" if version == 1 else "requestUrl": url}).body
    cancelled = world.call("GET", urlsplit(asked.get("cancel_url") or asked["cancelUrl"]).path)
    other = open_pushed(world, holder.push(world, version).body["request_uri"]).headers["location"]
    saved = world.bank(version, "/consent", world.consent_body(version, other)).body
    approved = parse_qs(urlsplit(saved.get("callback_url") or saved["callbackUrl"]).query)

    assert queried(cancelled)["iss"] == BASE
    assert approved["iss"] == [BASE]


@VERSIONS
def test_init_authorization_shows_the_bank_the_tpp_and_its_scopes(
    world: World, holder: KeyHolder, version: int
) -> None:
    url = open_pushed(world, holder.push(world, version).body["request_uri"]).headers["location"]

    asked = world.bank(version, "/init_authorization", {"request_url" if version == 1 else "requestUrl": url}).body

    assert asked.get("tpp_name", asked.get("tppName")) == world.client.title
    assert asked.get("tpp_registration_number", asked.get("tppRegistrationNumber")) == world.client.registration_number
    assert asked["scopes"] == world.scopes(version)


# -- Cryptography and secrets (5.4)


def test_credentials_have_256_random_bits(world: World, holder: KeyHolder) -> None:
    pushed = [holder.push(world).body["request_uri"] for _ in range(2)]
    codes = [approve_pushed(world, each) for each in pushed]
    answers = [holder.redeem(world, code).body for code in codes]
    tokens = [each[name] for each in answers for name in ("access_token", "refresh_token")]
    secrets = [text.rpartition(".")[2] for text in (*pushed, *codes, *tokens)]

    assert all(SECRET.fullmatch(secret) for secret in secrets)
    assert len(set(secrets)) == len(secrets)


def test_the_key_set_lists_each_kid_once_and_no_key_links(world: World) -> None:
    keys = world.call("GET", "/.well-known/jwks.json").body["keys"]

    assert len({key["kid"] for key in keys}) == len(keys) > 0
    assert all(key.keys() <= {"kty", "use", "alg", "kid", "n", "e"} for key in keys)


def test_verification_tries_every_key_with_the_same_kid(world: World) -> None:
    first, second = KeyHolder("ES256"), KeyHolder("EdDSA")
    keys = [*first.jwks["keys"], *second.jwks["keys"]]
    secure(world, first, security_profile="fapi2", jwks={"keys": keys})

    assert {key["kid"] for key in keys} == {"key-1"}
    assert (first.push(world).status, second.push(world).status) == (201, 201)
    assert KeyHolder("ES256").push(world).status == 401


# -- Network layer (5.2)


def test_the_authorization_endpoint_sends_no_cors_headers(world: World) -> None:
    for method in ("GET", "OPTIONS"):
        headers = {"origin": "https://evil.example", "access-control-request-method": "GET"}
        answer = world.call(method, "/oauth/authorize", headers=headers)
        assert [name for name in answer.headers if name.startswith("access-control-")] == []


def queried(answer: Answer) -> dict[str, str]:
    """The query of the address that an answer redirects to."""
    return {name: values[0] for name, values in parse_qs(urlsplit(answer.headers["location"]).query).items()}
