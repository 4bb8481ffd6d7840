"""Tests of attacks on a client with the profile ``fapi2``. Every attack fails, and the error reveals no details."""

import uuid
from collections.abc import Iterator, Mapping
from datetime import timedelta
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

from chalicelib.foundation.crypto.certificates import read_certificate
from chalicelib.foundation.http.outbound import NotReached, ResponseTooLarge, TimedOut
from chalicelib.openbanking.protocol import refusals
from chalicelib.openbanking.protocol.refusals import RefusalRow
from tests.causeway import Answer, Causeway
from tests.kit import certificates
from tests.kit.certificates import Authority
from tests.kit.logs import Lines
from tests.openbanking.key_holder import (
    BASE,
    VERIFIER,
    KeyHolder,
    approve_pushed,
    forged,
    issue,
    open_pushed,
    secure,
    stage_with,
)


@pytest.fixture
def tpp(causeway: Causeway) -> KeyHolder:
    """Configure the client that the attacks target: the service's client, with the profile ``fapi2``."""
    holder = KeyHolder()
    secure(causeway, holder, security_profile="fapi2")
    return holder


@pytest.fixture
def thief() -> KeyHolder:
    return KeyHolder()


def answered(answer: Answer, row: RefusalRow) -> bool:
    return answer.status in (400, 401) and answer.body["title"] == row().message


def reasons(lines: Lines, message: str) -> list[str]:
    return [line["reason"] for line in lines.all() if line["message"] == message]


# -- stolen credentials


def test_a_stolen_access_token_is_rejected_without_the_clients_key(
    causeway: Causeway, tpp: KeyHolder, thief: KeyHolder, lines: Lines
) -> None:
    token = tpp.tokens(causeway)["access_token"]

    attempts = {
        "as a bearer": causeway.tpp.call("GET", "/tpp/consent", bearer=token),
        "with a key of the thief": thief.read(causeway, token),
        "as a bearer with a proof": causeway.tpp.call(
            "GET", "/tpp/consent", bearer=token, headers={"dpop": thief.proof(causeway, "GET", "/tpp/consent", token)}
        ),
    }

    assert {name: answered(answer, refusals.BEARER_INVALID) for name, answer in attempts.items()} == dict.fromkeys(
        attempts, True
    )
    assert tpp.read(causeway, token).status == 200
    assert reasons(lines, "token refused") == [
        "it is bound to a key, and sent as a bearer",
        "the proof is that of another key",
        "it is bound to a key, and sent as a bearer",
    ]


def test_a_stolen_refresh_token_is_rejected_without_the_clients_key(
    causeway: Causeway, tpp: KeyHolder, thief: KeyHolder
) -> None:
    tokens = tpp.tokens(causeway)
    form = {"grant_type": "refresh_token", "refresh_token": tokens["refresh_token"]}

    by_id = causeway.tpp.call("POST", "/tpp/token", form=form, headers={"dpop": thief.proof(causeway)})
    by_own_key = thief.token_call(causeway, form)

    assert answered(by_id, refusals.ASSERTION_WRONG)
    assert answered(by_own_key, refusals.ASSERTION_WRONG)
    assert tpp.read(causeway, tokens["access_token"]).status == 200
    assert tpp.refresh(causeway, tokens["refresh_token"]).status == 200


def test_a_stolen_code_requires_the_clients_key_and_the_code_verifier(
    causeway: Causeway, tpp: KeyHolder, thief: KeyHolder
) -> None:
    code = tpp.code(causeway)

    assert answered(thief.redeem(causeway, code), refusals.ASSERTION_WRONG)
    assert answered(tpp.redeem(causeway, code, code_verifier="x" * 43), refusals.CODE_VERIFIER_WRONG)
    assert tpp.redeem(causeway, code).status == 200


def test_a_stolen_code_is_rejected_for_another_client(
    causeway: Causeway, tpp: KeyHolder, thief: KeyHolder, lines: Lines
) -> None:
    code, victim = tpp.code(causeway), causeway.tpp.client
    causeway.tpp.client = causeway.hub.openbanking.clients.create(owner="thief@example.com", title="Thief").client
    secure(causeway, thief, security_profile="fapi2")

    assert answered(thief.redeem(causeway, code), refusals.CODE_INVALID)
    assert answered(thief.redeem(causeway, "unknown"), refusals.CODE_INVALID)
    assert reasons(lines, "token request refused") == ["the code is another client's"]
    causeway.tpp.client = victim
    assert tpp.redeem(causeway, code).status == 200


def test_a_code_with_dpop_jkt_requires_a_proof_with_the_same_key(
    causeway: Causeway, tpp: KeyHolder, thief: KeyHolder
) -> None:
    code = tpp.code(causeway, dpop_jkt=tpp.thumbprint)

    assert answered(tpp.redeem(causeway, code, proof=thief.proof(causeway)), refusals.CODE_INVALID)
    assert tpp.redeem(causeway, code).status == 200


# -- replays


def test_a_replayed_proof_is_refused(causeway: Causeway, tpp: KeyHolder) -> None:
    token = tpp.tokens(causeway)["access_token"]
    proof = tpp.proof(causeway, "GET", "/tpp/consent", token)

    assert tpp.read(causeway, token, proof=proof).status == 200
    assert answered(tpp.read(causeway, token, proof=proof), refusals.PROOF_WRONG)


def test_a_replayed_assertion_is_refused(causeway: Causeway, tpp: KeyHolder, lines: Lines) -> None:
    headers = {"x-client-assertion": tpp.assertion(causeway)}

    assert causeway.tpp.call("GET", "/tpp/banks", headers=headers).status == 200
    assert answered(causeway.tpp.call("GET", "/tpp/banks", headers=headers), refusals.ASSERTION_WRONG)
    form = {"token": "x", "client_assertion": headers["x-client-assertion"], "client_assertion_type": _TYPE}
    assert answered(causeway.tpp.call("POST", "/oauth/introspect", form=form), refusals.ASSERTION_WRONG)
    assert reasons(lines, "client assertion refused") == ["its jti was used before"] * 2


def test_a_dpop_proof_for_another_url_is_refused(causeway: Causeway, tpp: KeyHolder) -> None:
    token = tpp.tokens(causeway)["access_token"]

    for htu in (f"{BASE}/tpp/accounts", "https://evil.example.com/tpp/consent", f"{BASE}/tpp/consent/"):
        proof = tpp.proof(causeway, "GET", "", token, htu=htu)
        assert answered(tpp.read(causeway, token, proof=proof), refusals.PROOF_WRONG)


def test_a_dpop_proof_for_another_http_method_is_refused(causeway: Causeway, tpp: KeyHolder) -> None:
    token = tpp.tokens(causeway)["access_token"]

    proof = tpp.proof(causeway, "POST", "/tpp/consent", token)

    assert answered(tpp.read(causeway, token, proof=proof), refusals.PROOF_WRONG)


def test_a_dpop_proof_for_another_access_token_is_refused(causeway: Causeway, tpp: KeyHolder) -> None:
    token, other = (tpp.tokens(causeway)["access_token"] for _ in range(2))

    proof = tpp.proof(causeway, "GET", "/tpp/consent", other)

    assert answered(tpp.read(causeway, token, proof=proof), refusals.PROOF_WRONG)


# -- signatures


def claims_of(causeway: Causeway) -> dict[str, Any]:
    client_id, now = causeway.tpp.client_id, causeway.clock.time()
    return {"iss": client_id, "sub": client_id, "aud": BASE, "jti": uuid.uuid4().hex, "exp": now + 60, "iat": now}


def forgeries(causeway: Causeway, tpp: KeyHolder) -> Mapping[str, str]:
    claims = claims_of(causeway)
    return {
        "none": forged(claims, "none"),
        "none, as a known key": forged(claims, "none", kid="key-1"),
        "HS256 with the public key": forged(claims, "HS256", tpp.key.as_pem(private=False), kid="key-1"),
        "HS256 with the Client ID": forged(claims, "HS256", causeway.tpp.client_id.encode()),
        "RS256": KeyHolder("RS256").assertion(causeway),
        "RS256 with the client's kid": KeyHolder("RS256").assertion(causeway, {"kid": "key-1"}),
        "a key in the header": KeyHolder().assertion(causeway, {"jwk": KeyHolder().public}),
        "an unknown key": KeyHolder(kid="key-2").assertion(causeway),
        "without a signature": tpp.assertion(causeway).rpartition(".")[0] + ".",
    }


def test_forged_assertions_all_get_the_same_error_response(causeway: Causeway, tpp: KeyHolder, lines: Lines) -> None:
    made = forgeries(causeway, tpp)

    answers = {
        name: causeway.tpp.call("GET", "/tpp/banks", headers={"x-client-assertion": text})
        for name, text in made.items()
    }

    assert {name: answered(answer, refusals.ASSERTION_WRONG) for name, answer in answers.items()} == dict.fromkeys(
        made, True
    )
    assert all("www-authenticate" in answer.headers for answer in answers.values())
    assert set(reasons(lines, "client assertion refused")) == {
        "its algorithm is not allowed",
        "its kid is not that of a known key",
        "its signature is wrong",
    }


def test_an_rs256_assertion_is_refused_even_if_signed_with_the_key_of_the_client(causeway: Causeway) -> None:
    rsa = KeyHolder("PS256")
    secure(causeway, rsa, security_profile="fapi2")
    rsa.algorithm = "RS256"

    answer = causeway.tpp.call("GET", "/tpp/banks", headers={"x-client-assertion": rsa.assertion(causeway)})

    assert answered(answer, refusals.ASSERTION_WRONG)


def test_an_assertion_with_the_kid_of_another_client_is_refused(
    causeway: Causeway, tpp: KeyHolder, thief: KeyHolder
) -> None:
    """The attacker is another registered client that signs an assertion for the target's client_id with the attacker's
    key.
    """
    victim = causeway.tpp.client
    thief.kid = "thief"
    causeway.tpp.client = causeway.hub.openbanking.clients.create(owner="thief@example.com", title="Thief").client
    secure(causeway, thief)
    assert (
        causeway.tpp.call("GET", "/tpp/banks", headers={"x-client-assertion": thief.assertion(causeway)}).status == 200
    )

    causeway.tpp.client = victim
    answer = causeway.tpp.call("GET", "/tpp/banks", headers={"x-client-assertion": thief.assertion(causeway)})
    assert answered(answer, refusals.ASSERTION_WRONG)


def test_an_assertion_of_another_client_is_refused(causeway: Causeway, tpp: KeyHolder) -> None:
    assertion, victim = tpp.assertion(causeway), causeway.tpp.client
    causeway.tpp.client = causeway.hub.openbanking.clients.create(owner="thief@example.com", title="Thief").client

    answer = causeway.tpp.call("GET", "/tpp/banks", headers={"x-client-assertion": assertion})

    assert answered(answer, refusals.ASSERTION_WRONG)
    assert victim.client_id != causeway.tpp.client_id


@pytest.mark.parametrize(
    "failure",
    [NotReached("the address is not public"), TimedOut("no answer came in time"), ResponseTooLarge("10 MB")],
    ids=["points inside", "trickles", "answers 10 MB"],
)
def test_an_assertion_is_refused_when_the_key_set_cannot_be_fetched(
    causeway: Causeway, failure: Exception, lines: Lines
) -> None:
    """The limits of the fetch itself are tested with sockets in ``oauth/test_key_sets.py``."""

    def get(url: str, **limits: Any) -> Any:
        raise failure

    causeway.hub.outbound.get = get  # type: ignore[method-assign]
    holder = KeyHolder()
    secure(causeway, holder, jwks=None, jwks_uri="http://127.0.0.1:1/jwks", security_profile="fapi2")

    answer = causeway.tpp.call("GET", "/tpp/banks", headers={"x-client-assertion": holder.assertion(causeway)})

    assert answered(answer, refusals.ASSERTION_WRONG)
    assert reasons(lines, "key set not fetched") == [str(failure)]


# -- pushed requests


def test_a_pushed_request_of_another_client_is_refused(causeway: Causeway, tpp: KeyHolder, lines: Lines) -> None:
    request_uri = tpp.push(causeway).body["request_uri"]
    other = causeway.hub.openbanking.clients.create(owner="thief@example.com", title="Thief").client

    stolen = open_pushed(causeway, request_uri, other.client_id)
    unknown = open_pushed(causeway, request_uri[:-43] + "A" * 43)

    assert (stolen.status, unknown.status) == (400, 400)
    assert stolen.text == unknown.text
    assert reasons(lines, "request_uri refused") == ["it is another client's", "it is unknown"]
    assert open_pushed(causeway, request_uri).status == 303


def test_a_used_request_uri_is_refused(causeway: Causeway, tpp: KeyHolder) -> None:
    request_uri = tpp.push(causeway).body["request_uri"]
    approve_pushed(causeway, request_uri)

    assert open_pushed(causeway, request_uri).status == 400
    assert len([item for item in causeway.hub.store.scan("consents") if item["part"] == "consent"]) == 1


# -- mix-up and downgrade


def test_authorization_responses_and_errors_contain_the_issuer(causeway: Causeway, tpp: KeyHolder) -> None:
    """Every authorization response contains the issuer (RFC 9207), including error responses."""
    opened = open_pushed(causeway, tpp.push(causeway).body["request_uri"])
    saved = causeway.banks[2].call("/consent", causeway.banks[2].consent_body(opened.headers["location"]))
    refused = open_pushed(causeway, tpp.push(causeway, state="abc").body["request_uri"]).headers["location"]
    cancel_url = causeway.banks[2].call("/init_authorization", {"requestUrl": refused}).body["cancelUrl"]
    cancelled = causeway.call("GET", urlsplit(cancel_url).path)

    for url in (saved.body["callbackUrl"], cancelled.headers["location"]):
        assert parse_qs(urlsplit(url).query)["iss"] == [BASE]
    metadata = causeway.call("GET", "/.well-known/oauth-authorization-server").body
    assert metadata["issuer"] == BASE
    assert metadata["authorization_response_iss_parameter_supported"] is True


def test_an_assertion_with_the_audience_of_another_server_is_refused(causeway: Causeway, tpp: KeyHolder) -> None:
    """A malicious server forwards an assertion that the server received from the client."""
    assertion = tpp.assertion(causeway, aud="https://evil.example.com")

    assert answered(
        causeway.tpp.call("GET", "/tpp/banks", headers={"x-client-assertion": assertion}), refusals.ASSERTION_WRONG
    )


def test_a_refresh_of_a_bound_token_without_a_proof_is_refused(
    causeway: Causeway, tpp: KeyHolder, lines: Lines
) -> None:
    tokens = tpp.tokens(causeway)

    without = tpp.refresh(causeway, tokens["refresh_token"], proof=None)

    assert answered(without, refusals.PROOF_WRONG_FOR_TOKEN)
    assert reasons(lines, "proof refused") == ["there is none"]
    assert tpp.refresh(causeway, tokens["refresh_token"]).body["token_type"] == "DPoP"


def test_bound_tokens_require_their_key_after_the_profile_is_removed(causeway: Causeway, tpp: KeyHolder) -> None:
    tokens = tpp.tokens(causeway)
    secure(causeway, tpp, security_profile=None)

    assert answered(tpp.refresh(causeway, tokens["refresh_token"], proof=None), refusals.REFRESH_TOKEN_INVALID)
    assert answered(causeway.tpp.call("GET", "/tpp/consent", bearer=tokens["access_token"]), refusals.BEARER_INVALID)


def test_an_authorization_request_made_before_the_client_had_the_profile_fapi2_is_refused(causeway: Causeway) -> None:
    """The request was neither pushed nor protected by a code challenge."""
    url = causeway.tpp.authorize(2)["redirect_url"]
    secure(causeway, KeyHolder(), security_profile="fapi2")

    assert causeway.banks[2].call("/init_authorization", {"requestUrl": url}).status == 400
    assert causeway.banks[2].call("/consent", causeway.banks[2].consent_body(url)).status == 400


def test_a_code_issued_before_the_client_had_the_profile_needs_a_code_challenge(
    causeway: Causeway, lines: Lines
) -> None:
    code, holder = causeway.psu.approve(2).query["code"], KeyHolder()
    secure(causeway, holder, security_profile="fapi2")

    assert answered(holder.redeem(causeway, code, code_verifier=None), refusals.CODE_INVALID)
    assert reasons(lines, "token request refused") == ["the authorization request had no code_challenge"]


def test_a_code_with_a_code_challenge_requires_the_code_verifier(causeway: Causeway, tpp: KeyHolder) -> None:
    code = tpp.code(causeway)

    assert answered(tpp.redeem(causeway, code, code_verifier=None), refusals.CODE_VERIFIER_MISSING)
    assert tpp.redeem(causeway, code, code_verifier=VERIFIER).status == 200


# -- certificates


@pytest.fixture(scope="module")
def authority() -> Authority:
    return Authority()


@pytest.fixture
def mutual(shared_causeway: Causeway, authority: Authority, tmp_path: Path) -> Iterator[Causeway]:
    causeway = shared_causeway.again(stage_with(authority, tmp_path))
    with causeway.installed():
        security = {
            "auth_method": "tls_client_auth",
            "organization_identifier": "PSDGB-FCA-123456",
            "tls_client_certificate_bound_access_tokens": True,
            "security_profile": "fapi2",
        }
        causeway.tpp.client = causeway.hub.openbanking.clients.update(causeway.tpp.client_id, security=security).client
        yield causeway


def test_wrong_client_certificates_all_get_the_same_error_response(
    mutual: Causeway, authority: Authority, lines: Lines
) -> None:
    revoked = issue(authority)
    parsed = read_certificate(revoked)
    mutual.hub.openbanking.certificate_blocklist.block(parsed.issuer, parsed.serial_number, "key lost")
    attempts = {
        "none": None,
        "another client's": issue(authority, subject="CN=Thief,2.5.4.97=PSDGB-FCA-654321,O=Thief,C=GB"),
        "expired": issue(authority, starts=certificates.NOW - timedelta(days=200), days=90),
        "self-made": issue(Authority()),
        "revoked": revoked,
        "with too small a role": issue(authority, ["PSP_AI"]),
        "of a bank": issue(authority, ["PSP_AS"]),
    }
    body = {"bic": mutual.banks[2].bic}

    answers = {
        name: mutual.tpp.call("POST", "/tpp/direct_payment_initiation", body, certificate=pem)
        for name, pem in attempts.items()
    }

    assert {name: answered(answer, refusals.TPP_CERTIFICATE_WRONG) for name, answer in answers.items()} == (
        dict.fromkeys(attempts, True)
    )
    assert len(set(reasons(lines, "certificate refused"))) == len(attempts) - 1  # two lack one role
    good = mutual.tpp.call("POST", "/tpp/direct_payment_initiation", body, certificate=issue(authority))
    assert (good.status, good.body["code"]) == (400, "FORMAT_ERROR")


_TYPE = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer"
