"""Tests of DPoP proofs and DPoP nonces. A proof is valid for one request, one key and one use."""

from typing import Any

import pytest

from chalicelib.foundation.settings import Settings
from chalicelib.openbanking.protocol import refusals
from chalicelib.openbanking.protocol.oauth_security import PROOF_SECONDS, SIGNING_ALGORITHMS
from tests.causeway import Answer, Causeway
from tests.openbanking.key_holder import BASE, KeyHolder, forged, secure

ALGS = 'algs="PS256 ES256 EdDSA Ed25519"'


@pytest.fixture
def holder(causeway: Causeway) -> KeyHolder:
    made = KeyHolder()
    secure(causeway, made)
    return made


@pytest.fixture
def token(causeway: Causeway, holder: KeyHolder) -> str:
    return str(holder.tokens(causeway)["access_token"])


def is_refused(answer: Answer) -> bool:
    challenge = f'DPoP realm="causeway", error="invalid_dpop_proof", {ALGS}'
    wrong = refusals.PROOF_WRONG()
    return (answer.status, answer.headers["www-authenticate"], answer.body["title"]) == (401, challenge, wrong.message)


@pytest.mark.parametrize("algorithm", SIGNING_ALGORITHMS)
def test_a_bound_token_accepts_a_proof_with_any_allowed_algorithm(causeway: Causeway, algorithm: str) -> None:
    holder = KeyHolder(algorithm)
    secure(causeway, holder)

    tokens = holder.tokens(causeway)

    assert tokens["token_type"] == "DPoP"
    assert holder.read(causeway, tokens["access_token"]).status == 200


@pytest.mark.parametrize(
    "claims",
    [
        {"htm": None},
        {"htm": "POST"},
        {"htm": "get"},
        {"htu": None},
        {"htu": BASE},
        {"htu": f"{BASE}/tpp/accounts"},
        {"htu": "https://127.0.0.1:8000/tpp/consent"},
        {"htu": "http://127.0.0.1:9000/tpp/consent"},
        {"htu": "http://[/tpp/consent"},
        {"htu": 5},
        {"htu": "http://user@127.0.0.1:8000/tpp/consent"},
        {"htu": "http://user:password@127.0.0.1:8000/tpp/consent"},
        {"htu": "http://@127.0.0.1:8000/tpp/consent"},
        {"htu": f" {BASE}/tpp/consent"},
        {"htu": f"{BASE}/tpp/con\nsent"},
        {"htu": f"{BASE}/tpp/consent\t"},
        {"iat": None},
        {"iat": "now"},
        {"jti": None},
        {"jti": ""},
        {"jti": "x" * 257},
        {"ath": None},
        {"ath": "other"},
    ],
    ids=str,
)
def test_a_proof_with_a_wrong_claim_is_refused(
    causeway: Causeway, holder: KeyHolder, token: str, claims: dict[str, Any]
) -> None:
    proof = holder.proof(causeway, "GET", "/tpp/consent", token, **claims)

    assert is_refused(holder.read(causeway, token, proof=proof))


@pytest.mark.parametrize(
    "htu", [f"{BASE}/tpp/consent?page=1", f"{BASE}/tpp/consent#part", "HTTP://127.0.0.1:8000/tpp/consent"]
)
def test_the_comparison_of_the_claim_htu_ignores_query_fragment_and_letter_case(
    causeway: Causeway, holder: KeyHolder, token: str, htu: str
) -> None:
    assert holder.read(causeway, token, proof=holder.proof(causeway, "GET", "", token, htu=htu)).status == 200


@pytest.mark.parametrize("header", [{"typ": "jwt"}, {"typ": "jwt+dpop"}, {"typ": None}, {"jwk": None}, {"jwk": {}}])
def test_a_proof_with_a_wrong_header_is_refused(
    causeway: Causeway, holder: KeyHolder, token: str, header: dict[str, Any]
) -> None:
    members = {"typ": "dpop+jwt", "jwk": holder.public, **header}
    claims = {"jti": "1", "htm": "GET", "htu": f"{BASE}/tpp/consent", "iat": causeway.clock.time()}
    proof = holder.sign(claims, {name: value for name, value in members.items() if value is not None})

    assert is_refused(holder.read(causeway, token, proof=proof))


def test_a_proof_with_a_private_key_in_its_header_is_refused(causeway: Causeway, holder: KeyHolder, token: str) -> None:
    proof = holder.proof(causeway, "GET", "/tpp/consent", token, header={"jwk": holder.key.as_dict(private=True)})

    assert is_refused(holder.read(causeway, token, proof=proof))


@pytest.mark.parametrize("algorithm", ["none", "HS256"])
def test_a_proof_without_a_signature_or_with_an_hs256_signature_is_refused(
    causeway: Causeway, holder: KeyHolder, token: str, algorithm: str
) -> None:
    claims = {"jti": "1", "htm": "GET", "htu": f"{BASE}/tpp/consent", "iat": causeway.clock.time()}
    secret = holder.key.as_pem(private=False) if algorithm == "HS256" else b""
    proof = forged(claims, algorithm, secret, typ="dpop+jwt", jwk=holder.public)

    assert is_refused(holder.read(causeway, token, proof=proof))


def test_an_rs256_proof_is_refused(causeway: Causeway, token: str) -> None:
    rsa = KeyHolder("RS256")

    assert is_refused(rsa.read(causeway, token))


@pytest.mark.parametrize("proof", ["", "a", "a.b.c"])
def test_a_malformed_proof_is_refused(causeway: Causeway, holder: KeyHolder, token: str, proof: str) -> None:
    headers = {"authorization": f"DPoP {token}", "dpop": proof}

    assert is_refused(causeway.tpp.call("GET", "/tpp/consent", headers=headers))


def test_the_dpop_scheme_without_a_proof_is_refused(causeway: Causeway, holder: KeyHolder, token: str) -> None:
    assert is_refused(holder.read(causeway, token, proof=None))


@pytest.mark.parametrize(
    ("age", "status"), [(0, 200), (PROOF_SECONDS - 1, 200), (PROOF_SECONDS, 401), (-10, 200), (-60, 200), (-61, 401)]
)
def test_a_proof_is_accepted_for_five_minutes(
    causeway: Causeway, holder: KeyHolder, token: str, age: int, status: int
) -> None:
    proof = holder.proof(causeway, "GET", "/tpp/consent", token, iat=causeway.clock.time() - age)

    assert holder.read(causeway, token, proof=proof).status == status


def test_a_replayed_proof_is_refused(causeway: Causeway, holder: KeyHolder, token: str) -> None:
    proof = holder.proof(causeway, "GET", "/tpp/consent", token)

    assert holder.read(causeway, token, proof=proof).status == 200
    assert is_refused(holder.read(causeway, token, proof=proof))


def test_the_jti_of_a_proof_is_stored_until_the_proof_expires(
    causeway: Causeway, holder: KeyHolder, token: str
) -> None:
    """A proof is valid for the longest time if the client's clock is ahead of the service's clock."""
    issued_at = causeway.clock.time() + 60
    holder.read(causeway, token, proof=holder.proof(causeway, "GET", "/tpp/consent", token, iat=issued_at, jti="one"))

    kept = [
        item for item in causeway.hub.store.scan("idempotency") if item["claim"].startswith(f"jti#{holder.thumbprint}")
    ]
    assert max(item["expires_at"] for item in kept) >= issued_at + PROOF_SECONDS


def test_a_wrong_proof_at_the_token_endpoint_returns_invalid_dpop_proof(causeway: Causeway, holder: KeyHolder) -> None:
    code = holder.code(causeway)

    wrong = holder.redeem(causeway, code, proof=holder.proof(causeway, "POST", "/tpp/other"))

    assert (wrong.status, wrong.body["error"]) == (400, "invalid_dpop_proof")
    assert holder.redeem(causeway, code).status == 200


def test_a_request_with_two_dpop_proofs_is_refused(causeway: Causeway, holder: KeyHolder, token: str) -> None:
    proofs = [holder.proof(causeway, "GET", "/tpp/consent", token) for _ in range(2)]
    headers = {"authorization": f"DPoP {token}", "dpop": proofs[1]}

    assert is_refused(causeway.tpp.call("GET", "/tpp/consent", headers=headers, several={"dpop": proofs}))
    spelled = {"DPoP": proofs[:1], "dpop": proofs[1:]}
    assert is_refused(causeway.tpp.call("GET", "/tpp/consent", headers=headers, several=spelled))
    assert causeway.tpp.call("GET", "/tpp/consent", headers=headers, several={"dpop": proofs[1:]}).status == 200


# -- nonces


def test_every_response_to_a_dpop_request_has_a_nonce(causeway: Causeway, holder: KeyHolder, token: str) -> None:
    good, bad, without = (holder.read(causeway, token, proof=proof) for proof in ("made", "wrong", None))

    assert all("dpop-nonce" in answer.headers for answer in (good, bad, without))
    assert "dpop-nonce" not in causeway.tpp.call("GET", "/tpp/consent", bearer="x").headers


def test_error_responses_contain_a_nonce_even_before_the_first_proof_of_a_client(
    causeway: Causeway, holder: KeyHolder
) -> None:
    answers = (holder.push(causeway, scope="unknown"), holder.redeem(causeway, "unknown", proof=None))

    assert all(causeway.hub.openbanking.dpop_nonces.is_valid(answer.headers["dpop-nonce"]) for answer in answers)


def test_a_token_request_succeeds_without_a_nonce_when_the_key_service_fails(
    causeway: Causeway, holder: KeyHolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(purpose: str) -> bytes:
        raise RuntimeError("KMS cannot be reached")

    code = holder.code(causeway)
    monkeypatch.setattr(causeway.hub.keyring, "derived_signing_key", fail)

    tokens = holder.redeem(causeway, code)

    assert (tokens.status, "dpop-nonce" in tokens.headers) == (200, False)
    assert holder.read(causeway, tokens.body["access_token"]).status == 200


def test_responses_to_clients_without_dpop_have_no_nonce(causeway: Causeway) -> None:
    answer = causeway.tpp.call("POST", "/tpp/token", {"code": causeway.psu.approve(2).query["code"]})

    assert (answer.status, "dpop-nonce" in answer.headers) == (200, False)


def test_a_client_with_dpop_nonce_required_needs_a_nonce(causeway: Causeway) -> None:
    holder = KeyHolder()
    secure(causeway, holder, dpop_nonce_required=True)
    code = holder.code(causeway)

    first = holder.redeem(causeway, code)
    assert (first.status, first.body["error"]) == (400, "use_dpop_nonce")
    nonce = first.headers["dpop-nonce"]
    tokens = holder.redeem(causeway, code, proof=holder.proof(causeway, nonce=nonce))
    assert tokens.status == 200
    token = tokens.body["access_token"]

    without = holder.read(causeway, token)
    assert without.status == 401
    assert without.headers["www-authenticate"] == f'DPoP realm="causeway", error="use_dpop_nonce", {ALGS}'
    proof = holder.proof(causeway, "GET", "/tpp/consent", token, nonce=without.headers["dpop-nonce"])
    assert holder.read(causeway, token, proof=proof).status == 200


def test_a_client_assertion_can_be_used_again_after_a_request_without_the_required_nonce(causeway: Causeway) -> None:
    holder = KeyHolder()
    secure(causeway, holder, dpop_nonce_required=True)
    form = holder.form(causeway, {"grant_type": "authorization_code", "code": "unknown"})

    first = causeway.tpp.call("POST", "/tpp/token", form=form, client_id="", headers={"dpop": holder.proof(causeway)})
    proof = holder.proof(causeway, nonce=first.headers["dpop-nonce"])
    second = causeway.tpp.call("POST", "/tpp/token", form=form, client_id="", headers={"dpop": proof})

    assert (first.body["error"], second.body["error"]) == ("use_dpop_nonce", "invalid_grant")


@pytest.mark.parametrize(("later", "is_valid"), [(0, True), (239, True), (300, False), (3600, False)])
def test_a_nonce_is_valid_for_several_minutes_in_every_process(causeway: Causeway, later: int, is_valid: bool) -> None:
    nonce = causeway.hub.openbanking.dpop_nonces.make()
    causeway.clock.advance(later)

    assert causeway.another_process().openbanking.dpop_nonces.is_valid(nonce) == is_valid


@pytest.mark.parametrize("nonce", ["", "x", "1.", ".x", "é", "29540700.forged", f"{'9' * 13}.x", 5, None])
def test_a_forged_nonce_is_refused(causeway: Causeway, nonce: object) -> None:
    assert not causeway.hub.openbanking.dpop_nonces.is_valid(nonce)


def test_a_nonce_from_the_future_is_refused(causeway: Causeway) -> None:
    causeway.clock.advance(3600)
    nonce = causeway.hub.openbanking.dpop_nonces.make()
    causeway.clock.advance(-3600)

    assert not causeway.hub.openbanking.dpop_nonces.is_valid(nonce)


def test_a_wrong_nonce_is_refused_even_when_no_nonce_is_required(
    causeway: Causeway, holder: KeyHolder, token: str
) -> None:
    answer = holder.read(causeway, token, proof=holder.proof(causeway, "GET", "/tpp/consent", token, nonce="old"))

    assert answer.status == 401
    assert 'error="use_dpop_nonce"' in answer.headers["www-authenticate"]


# -- addresses


def test_a_proof_may_contain_the_mutual_tls_url_in_the_claim_htu(shared_causeway: Causeway) -> None:
    settings = Settings.from_environment({"STAGE": "local", "MTLS_URL": "https://127.0.0.1:8443", "TPP_CA_BUNDLE": "x"})
    causeway = shared_causeway.again(settings)
    with causeway.installed():
        holder = KeyHolder()
        secure(causeway, holder)
        token = holder.tokens(causeway)["access_token"]
        for base, status in ((BASE, 200), ("https://127.0.0.1:8443", 200), ("https://127.0.0.1:8444", 401)):
            proof = holder.proof(causeway, "GET", "", token, htu=f"{base}/tpp/consent")
            assert holder.read(causeway, token, proof=proof).status == status


def test_the_claim_htu_must_contain_the_path_with_the_values_of_its_parameters(
    causeway: Causeway, holder: KeyHolder, token: str
) -> None:
    answer = holder.read(causeway, token, "/tpp/requests/abc")
    assert (answer.status, answer.body["code"]) == (404, "RESOURCE_UNKNOWN")
    other = holder.proof(causeway, "GET", "/tpp/requests/other", token)
    assert is_refused(holder.read(causeway, token, "/tpp/requests/abc", proof=other))
