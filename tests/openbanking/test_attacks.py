"""Attacks on a client of the profile ``fapi2``. Nothing gets in, and the answer does not say how close it was."""

from __future__ import annotations

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
from tests import certificates
from tests.certificates import Authority
from tests.log_lines import Lines
from tests.openbanking.key_holder import BASE, VERIFIER, KeyHolder, approve_pushed, forged, open_pushed, secure
from tests.openbanking.tpp_certificates import issue, stage_with
from tests.world import Answer, World


@pytest.fixture
def tpp(world: World) -> KeyHolder:
    """The victim: the world's client, with the profile ``fapi2``."""
    holder = KeyHolder()
    secure(world, holder, security_profile="fapi2")
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
    world: World, tpp: KeyHolder, thief: KeyHolder, lines: Lines
) -> None:
    token = tpp.tokens(world)["access_token"]

    attempts = {
        "as a bearer": world.tpp("GET", "/tpp/consent", bearer=token),
        "with a key of the thief": thief.read(world, token),
        "as a bearer with a proof": world.tpp(
            "GET", "/tpp/consent", bearer=token, headers={"dpop": thief.proof(world, "GET", "/tpp/consent", token)}
        ),
    }

    assert {name: answered(answer, refusals.BEARER_INVALID) for name, answer in attempts.items()} == dict.fromkeys(
        attempts, True
    )
    assert tpp.read(world, token).status == 200
    assert reasons(lines, "token refused") == [
        "it is bound to a key, and sent as a bearer",
        "the proof is that of another key",
        "it is bound to a key, and sent as a bearer",
    ]


def test_a_stolen_refresh_token_is_rejected_without_the_clients_key(
    world: World, tpp: KeyHolder, thief: KeyHolder
) -> None:
    tokens = tpp.tokens(world)
    form = {"grant_type": "refresh_token", "refresh_token": tokens["refresh_token"]}

    by_id = world.tpp("POST", "/tpp/token", form=form, headers={"dpop": thief.proof(world)})
    by_own_key = thief.token_call(world, form)

    assert answered(by_id, refusals.ASSERTION_WRONG)
    assert answered(by_own_key, refusals.ASSERTION_WRONG)
    assert tpp.read(world, tokens["access_token"]).status == 200
    assert tpp.refresh(world, tokens["refresh_token"]).status == 200


def test_a_stolen_code_requires_the_clients_key_and_the_code_verifier(
    world: World, tpp: KeyHolder, thief: KeyHolder
) -> None:
    code = tpp.code(world)

    assert answered(thief.redeem(world, code), refusals.ASSERTION_WRONG)
    assert answered(tpp.redeem(world, code, code_verifier="x" * 43), refusals.CODE_VERIFIER_WRONG)
    assert tpp.redeem(world, code).status == 200


def test_a_stolen_code_is_rejected_for_another_client(
    world: World, tpp: KeyHolder, thief: KeyHolder, lines: Lines
) -> None:
    code, victim = tpp.code(world), world.client
    world.client = world.hub.openbanking.clients.create(owner="thief@example.com", title="Thief").client
    secure(world, thief, security_profile="fapi2")

    assert answered(thief.redeem(world, code), refusals.CODE_INVALID)
    assert answered(thief.redeem(world, "unknown"), refusals.CODE_INVALID)
    assert reasons(lines, "token request refused") == ["the code is another client's"]
    world.client = victim
    assert tpp.redeem(world, code).status == 200


def test_a_code_with_dpop_jkt_requires_a_proof_of_that_key(world: World, tpp: KeyHolder, thief: KeyHolder) -> None:
    code = tpp.code(world, dpop_jkt=tpp.thumbprint)

    assert answered(tpp.redeem(world, code, proof=thief.proof(world)), refusals.CODE_INVALID)
    assert tpp.redeem(world, code).status == 200


# -- replays


def test_a_replayed_proof_is_refused(world: World, tpp: KeyHolder) -> None:
    token = tpp.tokens(world)["access_token"]
    proof = tpp.proof(world, "GET", "/tpp/consent", token)

    assert tpp.read(world, token, proof=proof).status == 200
    assert answered(tpp.read(world, token, proof=proof), refusals.PROOF_WRONG)


def test_a_replayed_assertion_is_refused(world: World, tpp: KeyHolder, lines: Lines) -> None:
    headers = {"x-client-assertion": tpp.assertion(world)}

    assert world.tpp("GET", "/tpp/banks", headers=headers).status == 200
    assert answered(world.tpp("GET", "/tpp/banks", headers=headers), refusals.ASSERTION_WRONG)
    form = {"token": "x", "client_assertion": headers["x-client-assertion"], "client_assertion_type": _TYPE}
    assert answered(world.tpp("POST", "/oauth/introspect", form=form), refusals.ASSERTION_WRONG)
    assert reasons(lines, "client assertion refused") == ["its jti was used before"] * 2


def test_a_proof_for_another_address_is_refused(world: World, tpp: KeyHolder) -> None:
    token = tpp.tokens(world)["access_token"]

    for htu in (f"{BASE}/tpp/accounts", "https://evil.example.com/tpp/consent", f"{BASE}/tpp/consent/"):
        proof = tpp.proof(world, "GET", "", token, htu=htu)
        assert answered(tpp.read(world, token, proof=proof), refusals.PROOF_WRONG)


def test_a_proof_for_another_method_is_refused(world: World, tpp: KeyHolder) -> None:
    token = tpp.tokens(world)["access_token"]

    proof = tpp.proof(world, "POST", "/tpp/consent", token)

    assert answered(tpp.read(world, token, proof=proof), refusals.PROOF_WRONG)


def test_a_proof_for_another_token_is_refused(world: World, tpp: KeyHolder) -> None:
    token, other = (tpp.tokens(world)["access_token"] for _ in range(2))

    proof = tpp.proof(world, "GET", "/tpp/consent", other)

    assert answered(tpp.read(world, token, proof=proof), refusals.PROOF_WRONG)


# -- signatures


def claims_of(world: World) -> dict[str, Any]:
    client_id, now = world.client.client_id, world.clock.time()
    return {"iss": client_id, "sub": client_id, "aud": BASE, "jti": uuid.uuid4().hex, "exp": now + 60, "iat": now}


def forgeries(world: World, tpp: KeyHolder) -> Mapping[str, str]:
    claims = claims_of(world)
    return {
        "none": forged(claims, "none"),
        "none, as a known key": forged(claims, "none", kid="key-1"),
        "HS256 with the public key": forged(claims, "HS256", tpp.key.as_pem(private=False), kid="key-1"),
        "HS256 with the Client ID": forged(claims, "HS256", world.client.client_id.encode()),
        "RS256": KeyHolder("RS256").assertion(world),
        "RS256 with the client's kid": KeyHolder("RS256").assertion(world, {"kid": "key-1"}),
        "a key in the header": KeyHolder().assertion(world, {"jwk": KeyHolder().public}),
        "an unknown key": KeyHolder(kid="key-2").assertion(world),
        "without a signature": tpp.assertion(world).rpartition(".")[0] + ".",
    }


def test_forged_assertions_all_get_the_same_error_response(world: World, tpp: KeyHolder, lines: Lines) -> None:
    made = forgeries(world, tpp)

    answers = {
        name: world.tpp("GET", "/tpp/banks", headers={"x-client-assertion": text}) for name, text in made.items()
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


def test_rs256_is_refused_even_with_the_clients_own_key(world: World) -> None:
    rsa = KeyHolder("PS256")
    secure(world, rsa, security_profile="fapi2")
    rsa.algorithm = "RS256"

    answer = world.tpp("GET", "/tpp/banks", headers={"x-client-assertion": rsa.assertion(world)})

    assert answered(answer, refusals.ASSERTION_WRONG)


def test_an_assertion_with_the_kid_of_another_client_is_refused(world: World, tpp: KeyHolder, thief: KeyHolder) -> None:
    """Another registered client signs for the victim's client_id with its own key."""
    victim = world.client
    thief.kid = "thief"
    world.client = world.hub.openbanking.clients.create(owner="thief@example.com", title="Thief").client
    secure(world, thief)
    assert world.tpp("GET", "/tpp/banks", headers={"x-client-assertion": thief.assertion(world)}).status == 200

    world.client = victim
    answer = world.tpp("GET", "/tpp/banks", headers={"x-client-assertion": thief.assertion(world)})
    assert answered(answer, refusals.ASSERTION_WRONG)


def test_an_assertion_of_another_client_is_refused(world: World, tpp: KeyHolder) -> None:
    assertion, victim = tpp.assertion(world), world.client
    world.client = world.hub.openbanking.clients.create(owner="thief@example.com", title="Thief").client

    answer = world.tpp("GET", "/tpp/banks", headers={"x-client-assertion": assertion})

    assert answered(answer, refusals.ASSERTION_WRONG)
    assert victim.client_id != world.client.client_id


@pytest.mark.parametrize(
    "failure",
    [NotReached("the address is not public"), TimedOut("no answer came in time"), ResponseTooLarge("10 MB")],
    ids=["points inside", "trickles", "answers 10 MB"],
)
def test_an_assertion_is_refused_when_the_key_set_cannot_be_fetched(
    world: World, failure: Exception, lines: Lines
) -> None:
    """The limits of the fetch itself are tested with sockets in ``oauth/test_key_sets.py``."""

    def get(url: str, **limits: Any) -> Any:
        raise failure

    world.hub.outbound.get = get  # type: ignore[method-assign]
    holder = KeyHolder()
    secure(world, holder, jwks=None, jwks_uri="http://127.0.0.1:1/jwks", security_profile="fapi2")

    answer = world.tpp("GET", "/tpp/banks", headers={"x-client-assertion": holder.assertion(world)})

    assert answered(answer, refusals.ASSERTION_WRONG)
    assert reasons(lines, "key set not fetched") == [str(failure)]


# -- pushed requests


def test_a_pushed_request_of_another_client_is_refused(world: World, tpp: KeyHolder, lines: Lines) -> None:
    request_uri = tpp.push(world).body["request_uri"]
    other = world.hub.openbanking.clients.create(owner="thief@example.com", title="Thief").client

    stolen = open_pushed(world, request_uri, other.client_id)
    unknown = open_pushed(world, request_uri[:-43] + "A" * 43)

    assert (stolen.status, unknown.status) == (400, 400)
    assert stolen.text == unknown.text
    assert reasons(lines, "request_uri refused") == ["it is another client's", "it is unknown"]
    assert open_pushed(world, request_uri).status == 303


def test_a_used_request_uri_is_refused(world: World, tpp: KeyHolder) -> None:
    request_uri = tpp.push(world).body["request_uri"]
    approve_pushed(world, request_uri)

    assert open_pushed(world, request_uri).status == 400
    assert len([item for item in world.hub.store.scan("consents") if item["part"] == "consent"]) == 1


# -- mix-up and downgrade


def test_authorization_responses_and_errors_name_the_issuer_against_mix_up(world: World, tpp: KeyHolder) -> None:
    """Every answer to an authorization request names its issuer (RFC 9207), refusals too."""
    opened = open_pushed(world, tpp.push(world).body["request_uri"])
    saved = world.bank(2, "/consent", world.consent_body(2, opened.headers["location"]))
    refused = open_pushed(world, tpp.push(world, state="abc").body["request_uri"]).headers["location"]
    cancel_url = world.bank(2, "/init_authorization", {"requestUrl": refused}).body["cancelUrl"]
    cancelled = world.call("GET", urlsplit(cancel_url).path)

    for url in (saved.body["callbackUrl"], cancelled.headers["location"]):
        assert parse_qs(urlsplit(url).query)["iss"] == [BASE]
    metadata = world.call("GET", "/.well-known/oauth-authorization-server").body
    assert metadata["issuer"] == BASE
    assert metadata["authorization_response_iss_parameter_supported"] is True


def test_an_assertion_with_the_audience_of_another_server_is_refused(world: World, tpp: KeyHolder) -> None:
    """A malicious server forwards an assertion that it received."""
    assertion = tpp.assertion(world, aud="https://evil.example.com")

    assert answered(world.tpp("GET", "/tpp/banks", headers={"x-client-assertion": assertion}), refusals.ASSERTION_WRONG)


def test_a_refresh_of_a_bound_token_without_a_proof_is_refused(world: World, tpp: KeyHolder, lines: Lines) -> None:
    tokens = tpp.tokens(world)

    without = tpp.refresh(world, tokens["refresh_token"], proof=None)

    assert answered(without, refusals.PROOF_WRONG_FOR_TOKEN)
    assert reasons(lines, "proof refused") == ["there is none"]
    assert tpp.refresh(world, tokens["refresh_token"]).body["token_type"] == "DPoP"


def test_tokens_stay_bound_after_the_profile_is_removed(world: World, tpp: KeyHolder) -> None:
    tokens = tpp.tokens(world)
    secure(world, tpp, security_profile=None)

    assert answered(tpp.refresh(world, tokens["refresh_token"], proof=None), refusals.REFRESH_TOKEN_INVALID)
    assert answered(world.tpp("GET", "/tpp/consent", bearer=tokens["access_token"]), refusals.BEARER_INVALID)


def test_an_authorization_request_from_before_the_profile_is_refused(world: World) -> None:
    """The request was neither pushed nor protected by a code challenge."""
    url = world.authorize(2)["redirect_url"]
    secure(world, KeyHolder(), security_profile="fapi2")

    assert world.bank(2, "/init_authorization", {"requestUrl": url}).status == 400
    assert world.bank(2, "/consent", world.consent_body(2, url)).status == 400


def test_a_code_from_before_the_profile_without_a_code_challenge_is_refused(world: World, lines: Lines) -> None:
    code, holder = world.approve(2).query["code"], KeyHolder()
    secure(world, holder, security_profile="fapi2")

    assert answered(holder.redeem(world, code, code_verifier=None), refusals.CODE_INVALID)
    assert reasons(lines, "token request refused") == ["the authorization request had no code_challenge"]


def test_a_code_with_a_code_challenge_requires_the_code_verifier(world: World, tpp: KeyHolder) -> None:
    code = tpp.code(world)

    assert answered(tpp.redeem(world, code, code_verifier=None), refusals.CODE_VERIFIER_MISSING)
    assert tpp.redeem(world, code, code_verifier=VERIFIER).status == 200


# -- certificates


@pytest.fixture(scope="module")
def authority() -> Authority:
    return Authority()


@pytest.fixture
def mutual(shared_world: World, authority: Authority, tmp_path: Path) -> Iterator[World]:
    """The victim authenticates with a PSD2 certificate."""
    world = shared_world.again(stage_with(authority, tmp_path))
    with world.installed():
        security = {
            "auth_method": "tls_client_auth",
            "organization_identifier": "PSDGB-FCA-123456",
            "tls_client_certificate_bound_access_tokens": True,
            "security_profile": "fapi2",
        }
        world.client = world.hub.openbanking.clients.update(world.client.client_id, security=security).client
        yield world


def test_wrong_client_certificates_all_get_the_same_error_response(
    mutual: World, authority: Authority, lines: Lines
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
    body = {"bic": mutual.banks[2].bank.bic}

    answers = {
        name: mutual.tpp("POST", "/tpp/direct_payment_initiation", body, certificate=pem)
        for name, pem in attempts.items()
    }

    assert {name: answered(answer, refusals.TPP_CERTIFICATE_WRONG) for name, answer in answers.items()} == (
        dict.fromkeys(attempts, True)
    )
    assert len(set(reasons(lines, "certificate refused"))) == len(attempts) - 1  # two lack one role
    good = mutual.tpp("POST", "/tpp/direct_payment_initiation", body, certificate=issue(authority))
    assert (good.status, good.body["code"]) == (400, "FORMAT_ERROR")


_TYPE = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer"
