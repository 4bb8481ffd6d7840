"""Clauses of the FAPI 2.0 Security Profile, for a client with ``fapi2`` (docs/reference/security-profile.md).

Tests of single credentials are elsewhere: ``oauth/``, ``flows/test_pushed_authorization.py``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit

import pytest
from cryptography import x509
from cryptography.x509.oid import ExtendedKeyUsageOID

from chalicelib.foundation.settings import Settings
from chalicelib.openbanking.records.client_validation import InvalidClient
from tests.certificates import Authority
from tests.openbanking.key_holder import BASE, CHALLENGE, VERIFIER, KeyHolder, approve_pushed, open_pushed, secure
from tests.world import Answer, World

VERSIONS = pytest.mark.parametrize("version", [1, 2])
MTLS = "https://mtls.causeway.example"
SECRET = re.compile(r"[A-Za-z0-9_-]{43}")
"""256 bits in base64url."""


@pytest.fixture
def holder(world: World) -> KeyHolder:
    """The key of the world's client, which has the profile."""
    made = KeyHolder()
    secure(world, made, security_profile="fapi2")
    return made


# -- General requirements of authorization servers (5.3.2.1)


def test_metadata_names_endpoints_methods_and_algorithms(world: World) -> None:
    found = world.call("GET", "/.well-known/oauth-authorization-server").body
    algorithms = ["PS256", "ES256", "EdDSA", "Ed25519"]

    assert found["issuer"] == BASE
    for name, path in {
        "authorization_endpoint": "/oauth/authorize",
        "pushed_authorization_request_endpoint": "/oauth/par",
        "token_endpoint": "/tpp/token",
        "introspection_endpoint": "/oauth/introspect",
        "revocation_endpoint": "/tpp/token/revoke",
        "jwks_uri": "/.well-known/jwks.json",
    }.items():
        assert found[name] == BASE + path
    for endpoint in ("token", "revocation", "introspection"):
        assert "private_key_jwt" in found[f"{endpoint}_endpoint_auth_methods_supported"]
        assert found[f"{endpoint}_endpoint_auth_signing_alg_values_supported"] == algorithms
    assert found["dpop_signing_alg_values_supported"] == algorithms
    assert found["authorization_response_iss_parameter_supported"] is True


@pytest.mark.parametrize("grant", ["password", "client_credentials", "implicit"])
def test_no_other_grant_is_accepted(world: World, holder: KeyHolder, grant: str) -> None:
    form = {"grant_type": grant, "username": "lena", "password": "sandbox-lena", "code": "a.b"}

    answer = holder.token_call(world, form)

    assert (answer.status, answer.body["error"]) == (400, "unsupported_grant_type")


@pytest.mark.parametrize("method", [None, "none", "client_secret_basic", "client_secret_post"])
def test_a_client_without_a_key_cannot_have_the_profile(world: World, method: str | None) -> None:
    with pytest.raises(InvalidClient, match="needs the authentication method private_key_jwt or tls_client_auth"):
        world.hub.openbanking.clients.update(
            world.client.client_id, security={"auth_method": method, "security_profile": "fapi2"}
        )


@VERSIONS
def test_no_token_is_issued_without_a_key_that_binds_it(world: World, holder: KeyHolder, version: int) -> None:
    code = holder.code(world, version)

    without = holder.redeem(world, code, proof=None)
    issued = holder.redeem(world, code)
    refreshed = holder.refresh(world, issued.body["refresh_token"], proof=None)

    assert (without.status, without.body["error"]) == (400, "invalid_dpop_proof")
    assert (issued.status, issued.body["token_type"]) == (200, "DPoP")
    assert (refreshed.status, refreshed.body["error"]) == (400, "invalid_dpop_proof")


@VERSIONS
def test_unbound_tokens_from_before_the_profile_are_refused(world: World, version: int) -> None:
    tokens, holder = world.tokens(version), KeyHolder()
    secure(world, holder, security_profile="fapi2")

    assert world.tpp("GET", "/tpp/consent", bearer=tokens["access_token"]).status == 401
    renewed = holder.refresh(world, tokens["refresh_token"])
    assert (renewed.status, renewed.body["token_type"]) == (200, "DPoP")
    assert holder.read(world, renewed.body["access_token"]).status == 200


@VERSIONS
def test_a_refresh_returns_the_same_refresh_token(world: World, holder: KeyHolder, version: int) -> None:
    first = holder.tokens(world, version)
    world.clock.advance(seconds=1000)

    second = holder.refresh(world, first["refresh_token"]).body
    world.clock.advance(seconds=1000)
    third = holder.refresh(world, first["refresh_token"]).body

    assert first["refresh_token"] == second["refresh_token"] == third["refresh_token"]
    assert len({each["access_token"] for each in (first, second, third)}) == 3
    assert all(holder.read(world, each["access_token"]).status == 200 for each in (first, second, third))


@pytest.mark.parametrize(("seconds", "status"), [(59, 200), (60, 400)])
def test_a_code_lives_60_seconds_in_every_stage(world: World, holder: KeyHolder, seconds: int, status: int) -> None:
    code = holder.code(world)
    world.clock.advance(seconds=seconds)

    assert holder.redeem(world, code).status == status


# -- The authorization code flow (5.3.2.2)


@pytest.mark.parametrize("kind", ["token", "code id_token", None])
def test_only_the_response_type_code_can_be_pushed(world: World, holder: KeyHolder, kind: str | None) -> None:
    assert holder.push(world, response_type=kind).status == 400
    assert holder.push(world).status == 201


def test_a_request_that_was_not_pushed_is_refused(world: World, holder: KeyHolder) -> None:
    members = {"redirect_uri": world.client.callback_url, "code_challenge": CHALLENGE, "code_challenge_method": "S256"}
    scopes = world.scopes(2)
    headers = {"x-client-assertion": holder.assertion(world)}
    query = {"response_type": "code", "client_id": world.client.client_id, "bic": "BETADEF1", "scope": scopes[0]}

    direct = world.tpp("POST", "/tpp/authorize", {"bic": "BETADEF1", "scopes": scopes, **members}, headers=headers)
    in_browser = world.call("GET", f"/oauth/authorize?{urlencode({**query, **members})}")

    assert (direct.status, direct.body["code"]) == (400, "FORMAT_ERROR")
    assert "POST /oauth/par" in direct.body["title"]
    assert in_browser.headers["location"].startswith(world.client.callback_url)
    assert queried(in_browser)["error"] == "invalid_request"


@pytest.mark.parametrize(
    "missing",
    [
        {"code_challenge": None, "code_challenge_method": None},
        {"code_challenge_method": "plain"},
        {"code_challenge_method": None},
        {"redirect_uri": None},
    ],
)
def test_pkce_with_s256_and_a_redirect_uri_are_required(
    world: World, holder: KeyHolder, missing: dict[str, Any]
) -> None:
    answer = holder.push(world, **missing)

    assert (answer.status, answer.body["error"]) == (400, "invalid_request")


@pytest.mark.parametrize("wrong", [{"code_verifier": None}, {"code_verifier": VERIFIER[::-1]}, {"redirect_uri": None}])
def test_a_code_needs_its_verifier_and_redirect_uri(world: World, holder: KeyHolder, wrong: dict[str, Any]) -> None:
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


def test_a_second_use_of_a_code_ends_its_tokens(world: World, holder: KeyHolder) -> None:
    code = holder.code(world)
    token = holder.redeem(world, code).body["access_token"]

    again = holder.redeem(world, code)

    assert (again.status, again.body["error"]) == (400, "invalid_grant")
    assert holder.read(world, token).status == 401


def test_browsers_are_redirected_with_303(world: World, holder: KeyHolder) -> None:
    to_bank = open_pushed(world, holder.push(world).body["request_uri"])
    with_error = world.call("GET", f"/oauth/authorize?client_id={world.client.client_id}&response_type=code")

    assert (to_bank.status, with_error.status) == (303, 303)


@VERSIONS
def test_the_bank_learns_who_asks_for_what(world: World, holder: KeyHolder, version: int) -> None:
    url = open_pushed(world, holder.push(world, version).body["request_uri"]).headers["location"]

    asked = world.bank(version, "/init_authorization", {"request_url" if version == 1 else "requestUrl": url}).body

    assert asked.get("tpp_name", asked.get("tppName")) == world.client.title
    assert asked.get("tpp_registration_number", asked.get("tppRegistrationNumber")) == world.client.registration_number
    assert asked["scopes"] == world.scopes(version)


# -- Resource servers (5.3.4)


@VERSIONS
def test_a_bound_token_is_worth_nothing_without_its_key(world: World, holder: KeyHolder, version: int) -> None:
    token, thief = holder.tokens(world, version)["access_token"], KeyHolder()

    assert world.tpp("GET", "/tpp/consent", bearer=token).status == 401
    assert thief.read(world, token).status == 401
    assert holder.read(world, token, proof=None).status == 401
    assert holder.read(world, token).status == 200


def test_a_token_in_the_query_or_the_body_is_none(world: World, holder: KeyHolder) -> None:
    token = holder.tokens(world)["access_token"]
    proof = {"dpop": holder.proof(world, "GET", "/tpp/consent", token)}

    answer = world.tpp("GET", f"/tpp/consent?{urlencode({'access_token': token})}", headers=proof)

    assert (answer.status, answer.body["code"]) == (401, "AUTHENTICATION_REQUIRED")
    assert "error=" not in answer.headers["www-authenticate"]  # as if there were none (RFC 6750 §3.1)


# -- Cryptography and secrets (5.4)


def test_credentials_have_256_random_bits(world: World, holder: KeyHolder) -> None:
    pushed = [holder.push(world).body["request_uri"] for _ in range(2)]
    codes = [approve_pushed(world, each) for each in pushed]
    answers = [holder.redeem(world, code).body for code in codes]
    tokens = [each[name] for each in answers for name in ("access_token", "refresh_token")]
    secrets = [text.rpartition(".")[2] for text in (*pushed, *codes, *tokens)]

    assert all(SECRET.fullmatch(secret) for secret in secrets)
    assert len(set(secrets)) == len(secrets)


def test_the_key_set_has_each_kid_once_and_no_links(world: World) -> None:
    keys = world.call("GET", "/.well-known/jwks.json").body["keys"]

    assert len({key["kid"] for key in keys}) == len(keys) > 0
    assert all(key.keys() <= {"kty", "use", "alg", "kid", "n", "e"} for key in keys)


def test_of_keys_with_one_kid_the_one_that_fits_verifies(world: World) -> None:
    first, second = KeyHolder("ES256"), KeyHolder("EdDSA")
    keys = [*first.jwks["keys"], *second.jwks["keys"]]
    secure(world, first, security_profile="fapi2", jwks={"keys": keys})

    assert {key["kid"] for key in keys} == {"key-1"}
    assert (first.push(world).status, second.push(world).status) == (201, 201)
    assert KeyHolder("ES256").push(world).status == 401


# -- Network layer (5.2)


def test_no_other_origin_may_call_the_authorization_endpoint(world: World) -> None:
    for method in ("GET", "OPTIONS"):
        headers = {"origin": "https://evil.example", "access-control-request-method": "GET"}
        answer = world.call(method, "/oauth/authorize", headers=headers)
        assert [name for name in answer.headers if name.startswith("access-control-")] == []


@dataclass(frozen=True)
class CertificateHolder:
    """A TPP with a certificate, at the base URL for mutual TLS."""

    world: World
    pem: str

    def call(self, method: str, path: str, form: Any = None, token: str = "", pem: str = "") -> Answer:
        headers = {"x-api-key": self.world.client.client_id}
        headers |= {"authorization": f"Bearer {token}"} if token else {}
        headers |= {"content-type": "application/x-www-form-urlencoded"} if form else {}
        body = urlencode(form).encode() if form else None
        certificate = {"clientCert": {"clientCertPem": pem or self.pem}} if pem != "none" else {}
        return self.world.call(method, path, body, headers, certificate)

    def tokens(self) -> Answer:
        """A journey to the first tokens, with the certificate at each step."""
        members = {"redirect_uri": self.world.client.callback_url}
        pkce = {"code_challenge": CHALLENGE, "code_challenge_method": "S256"}
        scope = " ".join(self.world.scopes(2))
        pushed = self.call(
            "POST", "/oauth/par", {"response_type": "code", "bic": "BETADEF1", "scope": scope, **members, **pkce}
        )
        code = approve_pushed(self.world, pushed.body["request_uri"])
        return self.call("POST", "/tpp/token", {"code": code, "code_verifier": VERIFIER, **members})


def issue(authority: Authority, subject: str) -> str:
    for_clients = x509.ExtendedKeyUsage([ExtendedKeyUsageOID.CLIENT_AUTH])
    return authority.issue(subject, extensions=[(for_clients, False)])


@pytest.fixture
def authority() -> Authority:
    return Authority()


@pytest.fixture
def certified(shared_world: World, authority: Authority, tmp_path: Path) -> Iterator[CertificateHolder]:
    """A client with the profile that authenticates by a certificate, to which its tokens are bound."""
    bundle = tmp_path / "authorities.pem"
    bundle.write_text(authority.pem)
    settings = Settings.from_environment({"STAGE": "local", "MTLS_URL": MTLS, "TPP_CA_BUNDLE": str(bundle)})
    world = shared_world.again(settings)
    with world.installed():
        security = {
            "auth_method": "tls_client_auth",
            "tls_client_auth_subject_dn": "CN=TPP,O=Example,C=GB",
            "security_profile": "fapi2",
            "tls_client_certificate_bound_access_tokens": True,
        }
        world.client = world.hub.openbanking.clients.update(world.client.client_id, security=security).client
        yield CertificateHolder(world, issue(authority, "CN=TPP,O=Example,C=GB"))


def test_the_metadata_names_the_addresses_for_mutual_tls(certified: CertificateHolder) -> None:
    found = certified.call("GET", "/.well-known/oauth-authorization-server").body

    assert found["issuer"] == BASE
    assert found["tls_client_certificate_bound_access_tokens"] is True
    assert "tls_client_auth" in found["token_endpoint_auth_methods_supported"]
    for name, address in found["mtls_endpoint_aliases"].items():
        assert address == found[name].replace(BASE, MTLS)


def test_tokens_that_are_bound_to_a_certificate_need_it(certified: CertificateHolder, authority: Authority) -> None:
    issued = certified.tokens()
    token = issued.body["access_token"]
    renewed = issue(authority, "CN=TPP,O=Example,C=GB")

    assert (issued.status, issued.body["token_type"]) == (200, "Bearer")
    assert certified.call("GET", "/tpp/consent", token=token).status == 200
    assert certified.call("GET", "/tpp/consent", token=token, pem=renewed).status == 401
    assert certified.call("GET", "/tpp/consent", token=token, pem="none").status == 401


def test_a_certificate_authenticates_the_client(certified: CertificateHolder, authority: Authority) -> None:
    others = ["none", issue(authority, "CN=Other,O=Example,C=GB"), issue(Authority(), "CN=TPP,O=Example,C=GB")]

    assert certified.call("GET", "/tpp/banks").status == 200
    for pem in others:
        answer = certified.call("GET", "/tpp/banks", pem=pem)
        assert (answer.status, answer.body["code"]) == (401, "SSL_CREDENTIALS_NOT_FOUND")


def queried(answer: Answer) -> dict[str, str]:
    """The query of the address that an answer redirects to."""
    return {name: values[0] for name, values in parse_qs(urlsplit(answer.headers["location"]).query).items()}
