"""Tests of the stricter rules in production, which require secrets and PKCE."""

import base64
import hashlib
from collections.abc import Iterator
from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit

import pytest

from chalicelib.foundation.settings import Settings
from chalicelib.openbanking.protocol import refusals
from tests.causeway import Causeway
from tests.openbanking.kit import VERSIONS

VERIFIER = "v" * 43
CHALLENGE = {
    "code_challenge": base64.urlsafe_b64encode(hashlib.sha256(VERIFIER.encode()).digest()).rstrip(b"=").decode(),
    "code_challenge_method": "S256",
}


@pytest.fixture
def prod(shared_causeway: Causeway) -> Iterator[Causeway]:
    of = shared_causeway.hub.settings
    settings = Settings.from_environment(
        {
            "STAGE": "prod",
            "PUBLIC_URL": "https://hub.example.com",
            "RESOURCE_PREFIX": of.prefix,
            "KEYS_SECRET": of.keys_secret,
            "KMS_KEY_ID": of.kms_key_id,
        }
    )
    causeway = shared_causeway.again(settings)
    with causeway.installed():
        yield causeway


def authorize(causeway: Causeway, version: int, **members: Any) -> Any:
    request = {"bic": causeway.banks[version].bic, "scopes": causeway.banks[version].scopes} | members
    return causeway.tpp.call("POST", "/tpp/authorize", request)


@VERSIONS
def test_an_authorization_request_without_pkce_is_refused_in_production(prod: Causeway, version: int) -> None:
    without = authorize(prod, version)

    assert (without.status, without.body["code"]) == (400, "FORMAT_ERROR")
    assert "PKCE" in without.body["title"]
    assert authorize(prod, version, **CHALLENGE).status == 200


def test_pkce_is_mandatory_at_the_oauth_authorize_endpoint(prod: Causeway) -> None:
    query = {"response_type": "code", "client_id": prod.tpp.client_id, "scope": "account.list", "bic": "ALPHGB21"}

    without = prod.call("GET", f"/oauth/authorize?{urlencode(query)}").headers["location"]
    with_it = prod.call("GET", f"/oauth/authorize?{urlencode(query | CHALLENGE)}").headers["location"]

    assert without.startswith("https://hub.example.com/authorize/callback?")
    assert parse_qs(urlsplit(without).query)["error"] == ["invalid_request"]
    assert with_it.startswith(prod.banks[1].record.authorization_url)


@pytest.mark.parametrize("asked", [True, False])
def test_every_client_gets_a_secret(prod: Causeway, asked: bool) -> None:
    made = prod.hub.openbanking.clients.create(owner="a@example.com", title="New", secret=asked)
    client, secret = made.client, made.secret

    assert secret is not None
    assert client.accepts_secret(secret, prod.clock.time())
    assert not client.accepts_secret(None, prod.clock.time())
    assert secret not in repr(client)


@VERSIONS
def test_authorize_without_a_client_secret_returns_401(prod: Causeway, version: int) -> None:
    request = {"bic": prod.banks[version].bic, "scopes": prod.banks[version].scopes} | CHALLENGE

    answer = prod.tpp.call("POST", "/tpp/authorize", request, headers={"authorization": ""})

    assert (answer.status, answer.body["code"]) == (401, "WRONG_CREDENTIALS")


@VERSIONS
def test_the_token_endpoint_requires_the_secret_and_the_code_verifier(prod: Causeway, version: int) -> None:
    code = prod.psu.approve(version, **CHALLENGE).query["code"]
    good = {"code": code, "code_verifier": VERIFIER, "client_secret": prod.tpp.client_secret}

    for left_out, error in (("client_secret", "invalid_client"), ("code_verifier", "invalid_grant")):
        body = {name: value for name, value in good.items() if name != left_out}
        answer = prod.tpp.call("POST", "/tpp/token", body, headers={"authorization": ""})
        assert answer.body["error"] == error
    assert prod.tpp.call("POST", "/tpp/token", good).status == 200


def test_a_code_expires_after_60_seconds(prod: Causeway) -> None:
    code = prod.psu.approve(1, **CHALLENGE).query["code"]
    prod.clock.advance(60)

    answer = prod.tpp.call(
        "POST", "/tpp/token", {"code": code, "code_verifier": VERIFIER, "client_secret": prod.tpp.client_secret}
    )

    assert answer.body["error"] == "invalid_grant"


def test_metadata_lists_no_authentication_without_a_secret(prod: Causeway) -> None:
    body = prod.call("GET", "/.well-known/oauth-authorization-server").body

    assert "none" not in body["token_endpoint_auth_methods_supported"]
    assert body["issuer"] == "https://hub.example.com"


@VERSIONS
def test_the_error_for_a_wrong_signature_gives_no_details(prod: Causeway, version: int) -> None:
    answer = prod.banks[version].call("/consent", {}, headers={"x-signature": "%%%"})

    said = answer.body["message" if version == 1 else "title"]
    assert said.endswith(refusals.SIGNATURE_WRONG.sentence)
