"""Tests of lone surrogates in JSON, JWTs and bank responses: the documented error, no change, and no 5xx response."""

import base64
import json
from collections.abc import Mapping
from typing import Any

import pytest

from app import app
from chalicelib.foundation import jsontext
from chalicelib.foundation.requests.claims import Claim
from chalicelib.openbanking.protocol.bank_calls import BANK_CALLS
from chalicelib.openbanking.protocol.oauth_security import ENDPOINTS, PROOF_ROUTES
from chalicelib.openbanking.protocol.tpp_calls import (
    AuthorizeRequest,
    IntrospectionRequest,
    RevokeRequest,
    TokenRequest,
)
from chalicelib.openbanking.protocol.versions import VERSIONS
from chalicelib.openbanking.records.order_answers import KIND, OrderClaim
from tests.causeway import Answer, Causeway
from tests.kit.inputs import HALF, spoil
from tests.kit.storage import address, nothing_changes
from tests.openbanking.key_holder import KeyHolder, secure
from tests.openbanking.odd_input import documented
from tests.openbanking.relay import error_of

TPP_BODIES: Mapping[str, Any] = {
    "/tpp/authorize": AuthorizeRequest,
    "/tpp/token": TokenRequest,
    "/tpp/token/revoke": RevokeRequest,
    "/oauth/introspect": IntrospectionRequest,
}
BANK_BODIES = [(call, version) for version in VERSIONS.values() for call in BANK_CALLS if call.name in version.calls]
TPP_ROUTES = sorted(
    (path, method)
    for path, methods in app.routes.items()
    for method in methods
    if path.startswith(("/tpp/", "/oauth/")) and method in ("GET", "POST") and path != "/oauth/authorize"
)


def example(model: Any) -> dict[str, Any]:
    return {field.alias or name: ["a"] for name, field in model.model_fields.items()}


# -- JSON bodies


@pytest.mark.parametrize("path", TPP_BODIES)
def test_a_tpp_body_with_invalid_utf_8_returns_400(
    causeway: Causeway, monkeypatch: pytest.MonkeyPatch, path: str
) -> None:
    with nothing_changes(causeway, monkeypatch):
        for body in spoil(example(TPP_BODIES[path])):
            answer = causeway.tpp.call("POST", path, body)
            assert (answer.status, answer.body["code"]) == (400, "FORMAT_ERROR"), body
            assert "half of a surrogate pair" in answer.body["title"]


@pytest.mark.parametrize(("call", "version"), BANK_BODIES, ids=lambda each: getattr(each, "path", str(each)))
def test_a_bank_body_with_invalid_utf_8_returns_400(
    causeway: Causeway, monkeypatch: pytest.MonkeyPatch, call: Any, version: Any
) -> None:
    with nothing_changes(causeway, monkeypatch):
        for body in spoil(example(version.calls[call.name])):
            answer = causeway.banks[version.number].call(call.path, raw=json.dumps(body).encode())
            documented(answer, version.number)
            assert answer.status == 400
            assert answer.body.get("error_code", answer.body.get("code")) in (4003, "FORMAT_ERROR")


# -- client assertions and proofs


SPOILT_CLAIMS: list[dict[str, Any]] = [{name: HALF} for name in ("iss", "sub", "aud", "jti", "exp", "iat", "nbf", HALF)]
SPOILT_PROOFS: list[dict[str, Any]] = [{name: HALF} for name in ("jti", "htm", "htu", "iat", "ath", "nonce", HALF)]
AUTHENTICATED = (*PROOF_ROUTES, "/tpp/authorize")
"""The calls in which the client authenticates with an assertion and can bind the result to the key of a proof."""


@pytest.mark.parametrize(("path", "method"), TPP_ROUTES)
def test_a_client_assertion_with_invalid_utf_8_is_refused_at_every_endpoint(
    causeway: Causeway, monkeypatch: pytest.MonkeyPatch, path: str, method: str
) -> None:
    holder = KeyHolder()
    secure(causeway, holder)
    body: Any = {} if method == "POST" else None
    made = [holder.assertion(causeway, **claims) for claims in SPOILT_CLAIMS]
    made += [holder.assertion(causeway, {name: HALF}) for name in ("kid", "typ", HALF)]
    with nothing_changes(causeway, monkeypatch):
        for client_id in ("", None):
            for assertion in made:
                headers = {"x-client-assertion": assertion}
                is_documented(
                    path, causeway.tpp.call(method, address(path), body, client_id=client_id, headers=headers)
                )


@pytest.mark.parametrize(("path", "method"), TPP_ROUTES)
def test_a_proof_with_invalid_utf_8_is_refused_at_every_endpoint(
    causeway: Causeway, monkeypatch: pytest.MonkeyPatch, path: str, method: str
) -> None:
    holder = KeyHolder()
    secure(causeway, holder, dpop_bound_access_tokens=True)
    token = holder.redeem(causeway, holder.code(causeway)).body["access_token"]
    body, authenticated = {"code": holder.code(causeway)} if method == "POST" else None, path in AUTHENTICATED
    place: dict[str, Any] = {"method": method, "path": address(path), "token": None if authenticated else token}
    made = [holder.proof(causeway, **place, **claims) for claims in SPOILT_PROOFS]
    spoilt = ({"kid": HALF}, {"typ": HALF}, {HALF: 1}, {"jwk": {**holder.public, "x": HALF}}, {"jwk": {HALF: HALF}})
    made += [holder.proof(causeway, **place, header=header) for header in spoilt]
    with nothing_changes(causeway, monkeypatch):
        for proof in made:
            proves = (
                {"x-client-assertion": holder.assertion(causeway)}
                if authenticated
                else {"authorization": f"DPoP {token}"}
            )
            is_documented(path, causeway.tpp.call(method, address(path), body, headers={**proves, "dpop": proof}))


def is_documented(path: str, answer: Answer) -> None:
    assert answer.status in (400, 401), answer
    assert "error" in answer.body or path not in ENDPOINTS.values()
    assert answer.body["code"]


@pytest.mark.parametrize("dpop", [False, True])
def test_a_jti_with_invalid_utf_8_is_refused(causeway: Causeway, dpop: bool) -> None:
    holder = KeyHolder()
    secure(causeway, holder)
    claims = {} if dpop else {"jti": HALF}
    headers = {"dpop": holder.proof(causeway, path="/oauth/par", jti=HALF)} if dpop else {}

    answer = causeway.tpp.call(
        "POST", "/oauth/par", form=holder.form(causeway, {}, **claims), client_id="", headers=headers
    )

    error = "invalid_dpop_proof" if dpop else "invalid_client"
    assert (answer.status, answer.body["error"]) == (400 if dpop else 401, error)


@pytest.mark.parametrize("pair", ["%FF:secret", "id:%FF", "id:\xff"])
def test_basic_credentials_with_invalid_utf_8_return_401(causeway: Causeway, pair: str) -> None:
    sent = "Basic " + base64.b64encode(pair.encode("latin-1")).decode()

    answer = causeway.tpp.call("GET", "/tpp/banks", client_id="", headers={"authorization": sent})

    assert error_of(answer)[:2] == (401, "WRONG_CREDENTIALS")


# -- stored answers


def test_a_stored_response_with_a_lone_surrogate_is_returned_unchanged(causeway: Causeway) -> None:
    """Earlier releases stored lone surrogates as escape sequences."""
    claim = OrderClaim(Claim(KIND, "key", "digest", "attempt"), None)
    stored = causeway.hub.vault.seal(jsontext.dumps({"answer": {"note": HALF}}), "key")
    item = {"body_digest": "digest", "outcome": stored, "expires_at": 2**40}

    found = causeway.hub.openbanking.order_answers.find_outcome(claim, item)

    assert isinstance(found, dict)
    assert jsontext.dumps(found) == r'{"note":"\ud800"}'
