"""Tests of clauses of the FAPI 2.0 Security Profile for a client with ``fapi2``.

The other clauses are in ``test_security_profile.py``, ``test_attacks.py``, ``oauth/`` and ``flows/``.
"""

import re
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

from chalicelib.openbanking.records.client_validation import InvalidClient
from tests.causeway import Answer, Causeway
from tests.openbanking.key_holder import BASE, VERIFIER, KeyHolder, approve_pushed, open_pushed, secure
from tests.openbanking.kit import VERSIONS

SECRET = re.compile(r"[A-Za-z0-9_-]{43}")
"""The pattern of 256 random bits in base64url."""


@pytest.fixture
def holder(causeway: Causeway) -> KeyHolder:
    made = KeyHolder()
    secure(causeway, made, security_profile="fapi2")
    return made


# -- General requirements of authorization servers (5.3.2.1)


@pytest.mark.parametrize("grant", ["password", "client_credentials", "implicit"])
def test_unsupported_grant_types_are_refused(causeway: Causeway, holder: KeyHolder, grant: str) -> None:
    form = {"grant_type": grant, "username": "lena", "password": "sandbox-lena", "code": "a.b"}

    answer = holder.token_call(causeway, form)

    assert (answer.status, answer.body["error"]) == (400, "unsupported_grant_type")


@pytest.mark.parametrize("method", [None, "none", "client_secret_basic", "client_secret_post"])
def test_the_profile_requires_a_key_or_a_certificate(causeway: Causeway, method: str | None) -> None:
    with pytest.raises(InvalidClient, match="needs the authentication method private_key_jwt or tls_client_auth"):
        causeway.hub.openbanking.clients.update(
            causeway.tpp.client_id, security={"auth_method": method, "security_profile": "fapi2"}
        )


@VERSIONS
def test_unbound_tokens_issued_before_the_profile_was_set_are_refused(causeway: Causeway, version: int) -> None:
    tokens, holder = causeway.tpp.tokens(version), KeyHolder()
    secure(causeway, holder, security_profile="fapi2")

    assert causeway.tpp.call("GET", "/tpp/consent", bearer=tokens["access_token"]).status == 401
    renewed = holder.refresh(causeway, tokens["refresh_token"])
    assert (renewed.status, renewed.body["token_type"]) == (200, "DPoP")
    assert holder.read(causeway, renewed.body["access_token"]).status == 200


# -- The authorization code flow (5.3.2.2)


@pytest.mark.parametrize("kind", ["token", "code id_token", None])
def test_a_pushed_request_requires_the_response_type_code(
    causeway: Causeway, holder: KeyHolder, kind: str | None
) -> None:
    assert holder.push(causeway, response_type=kind).status == 400
    assert holder.push(causeway).status == 201


@pytest.mark.parametrize("wrong", [{"code_verifier": None}, {"code_verifier": VERIFIER[::-1]}, {"redirect_uri": None}])
def test_exchanging_a_code_requires_the_code_verifier_and_the_redirect_uri(
    causeway: Causeway, holder: KeyHolder, wrong: dict[str, Any]
) -> None:
    code = holder.code(causeway)

    assert holder.redeem(causeway, code, **wrong).status == 400
    assert holder.redeem(causeway, code).status == 200


@VERSIONS
def test_every_authorization_response_contains_the_issuer(causeway: Causeway, holder: KeyHolder, version: int) -> None:
    url = open_pushed(causeway, holder.push(causeway, version).body["request_uri"]).headers["location"]
    asked = (
        causeway.banks[version].call("/init_authorization", {"request_url" if version == 1 else "requestUrl": url}).body
    )
    cancelled = causeway.call("GET", urlsplit(asked.get("cancel_url") or asked["cancelUrl"]).path)
    other = open_pushed(causeway, holder.push(causeway, version).body["request_uri"]).headers["location"]
    saved = causeway.banks[version].call("/consent", causeway.banks[version].consent_body(other)).body
    approved = parse_qs(urlsplit(saved.get("callback_url") or saved["callbackUrl"]).query)

    assert queried(cancelled)["iss"] == BASE
    assert approved["iss"] == [BASE]


@VERSIONS
def test_init_authorization_shows_the_bank_the_tpp_and_its_scopes(
    causeway: Causeway, holder: KeyHolder, version: int
) -> None:
    url = open_pushed(causeway, holder.push(causeway, version).body["request_uri"]).headers["location"]

    asked = (
        causeway.banks[version].call("/init_authorization", {"request_url" if version == 1 else "requestUrl": url}).body
    )

    assert asked.get("tpp_name", asked.get("tppName")) == causeway.tpp.client.title
    assert (
        asked.get("tpp_registration_number", asked.get("tppRegistrationNumber"))
        == causeway.tpp.client.registration_number
    )
    assert asked["scopes"] == causeway.banks[version].scopes


# -- Cryptography and secrets (5.4)


def test_credentials_have_256_random_bits(causeway: Causeway, holder: KeyHolder) -> None:
    pushed = [holder.push(causeway).body["request_uri"] for _ in range(2)]
    codes = [approve_pushed(causeway, each) for each in pushed]
    answers = [holder.redeem(causeway, code).body for code in codes]
    tokens = [each[name] for each in answers for name in ("access_token", "refresh_token")]
    secrets = [text.rpartition(".")[2] for text in (*pushed, *codes, *tokens)]

    assert all(SECRET.fullmatch(secret) for secret in secrets)
    assert len(set(secrets)) == len(secrets)


def test_the_key_set_contains_each_kid_once_and_no_links_to_keys(causeway: Causeway) -> None:
    keys = causeway.call("GET", "/.well-known/jwks.json").body["keys"]

    assert len({key["kid"] for key in keys}) == len(keys) > 0
    assert all(key.keys() <= {"kty", "use", "alg", "kid", "n", "e"} for key in keys)


def test_signature_verification_tries_every_key_with_the_same_key_id(causeway: Causeway) -> None:
    first, second = KeyHolder("ES256"), KeyHolder("EdDSA")
    keys = [*first.jwks["keys"], *second.jwks["keys"]]
    secure(causeway, first, security_profile="fapi2", jwks={"keys": keys})

    assert {key["kid"] for key in keys} == {"key-1"}
    assert (first.push(causeway).status, second.push(causeway).status) == (201, 201)
    assert KeyHolder("ES256").push(causeway).status == 401


# -- Network layer (5.2)


def test_the_authorization_endpoint_sends_no_cors_headers(causeway: Causeway) -> None:
    for method in ("GET", "OPTIONS"):
        headers = {"origin": "https://evil.example", "access-control-request-method": "GET"}
        answer = causeway.call(method, "/oauth/authorize", headers=headers)
        assert [name for name in answer.headers if name.startswith("access-control-")] == []


def queried(answer: Answer) -> dict[str, str]:
    return {name: values[0] for name, values in parse_qs(urlsplit(answer.headers["location"]).query).items()}
