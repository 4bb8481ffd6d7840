"""Authorizations: the redirect of the PSU to the bank, and the client's assertions and DPoP proofs."""

import asyncio
import base64
from typing import Any
from urllib.parse import parse_qs, urlsplit

import httpx
import pytest

from causeway.errors import (
    ApiError,
    AuthorizationEnded,
    ConfigurationError,
    ConnectionLost,
    ConsentRefused,
    ForgedCallback,
    UnexpectedAnswer,
)
from causeway.tpp import AsyncTpp, Tokens, Tpp, new_code_verifier
from causeway.tpp.pkce import code_challenge
from tests.sdk.scripted_hub import BASE, ScriptedHub, accounts, answer, failure, token_answer, tokens

pytestmark = pytest.mark.usefixtures("clock")
ASKED = {"redirect_url": "https://bank.example/authorize", "state": "visit-1", "expires_in": 1800}
METADATA = {"issuer": BASE}
CALLBACK = f"https://tpp.example.com/callback?code=c1&authorization_code=c1&state=visit-1&iss={BASE}"


class Assertion:
    """A fake assertion that contains client and audience as text and has no signature."""

    def __init__(self) -> None:
        self.signed = 0

    def sign(self, client_id: str, audience: str, now: float) -> str:
        self.signed += 1
        return f"assertion-{self.signed} of {client_id} for {audience}"


class Key:
    """A fake DPoP key. A proof is the text of the claims, without a signature."""

    thumbprint = "the-thumbprint"

    def prove(self, method: str, url: str, now: float, *, access_token: str | None, nonce: str | None) -> str:
        return f"{method} {url} {access_token} {nonce}"


def test_an_authorization_contains_bank_scopes_and_state() -> None:
    hub = ScriptedHub(answer(body=ASKED))

    asked = hub.tpp().authorize(bic="DEMODEF1", scopes=["accounts", "payments.single"], state="visit-1")

    assert asked.redirect_url == ASKED["redirect_url"]
    assert hub.json() == {"bic": "DEMODEF1", "scopes": ["accounts", "payments.single"], "state": "visit-1"}
    assert hub.header("Authorization") == ["Basic " + base64.b64encode(b"client-1:secret-1").decode()]
    assert hub.header("X-Api-Key") == ["client-1"]


def test_an_authorization_sends_a_code_challenge_and_the_code_exchange_sends_the_verifier() -> None:
    verifier = new_code_verifier()
    hub = ScriptedHub(answer(body=ASKED), token_answer())
    tpp = hub.tpp()

    tpp.authorize(bic="DEMODEF1", scopes=["accounts"], code_verifier=verifier)
    tpp.redeem("c1", code_verifier=verifier)

    assert hub.json(0)["code_challenge"] == code_challenge(verifier)
    assert hub.json(0)["code_challenge_method"] == "S256"
    assert hub.form(1)["code_verifier"] == verifier


def test_an_authorization_with_a_custom_state_is_not_retried_after_a_lost_response() -> None:
    hub = ScriptedHub(httpx.ReadError("reset"))

    with pytest.raises(ConnectionLost) as caught:
        hub.tpp().authorize(bic="DEMODEF1", scopes=["accounts"], state="visit-1")
    assert "new state" in caught.value.advice


@pytest.mark.parametrize(("state", "lost"), [(None, httpx.ReadError("reset")), ("s", httpx.ConnectError("refused"))])
def test_an_authorization_without_a_custom_state_or_after_a_refused_connection_is_retried(
    state: str | None, lost: Exception
) -> None:
    hub = ScriptedHub(lost, answer(body=ASKED))

    assert hub.tpp().authorize(bic="DEMODEF1", scopes=["accounts"], state=state).state == "visit-1"


def test_a_redeemed_code_returns_a_consent_that_uses_the_new_tokens() -> None:
    hub = ScriptedHub(token_answer(number=7), accounts())

    consent = hub.tpp().redeem("c1", redirect_uri="https://tpp.example.com/callback")
    list(consent.accounts())

    assert (consent.consent_id, consent.native.version()) == ("consent-1", 2)
    assert hub.form(0) == {
        "client_id": "client-1",
        "grant_type": "authorization_code",
        "code": "c1",
        "redirect_uri": "https://tpp.example.com/callback",
    }
    assert hub.header("Authorization")[1] == "Bearer access-7"


def test_a_rejected_authorization_code_raises_authorization_ended() -> None:
    hub = ScriptedHub(failure(400, "FORMAT_ERROR", "the authorization code has expired", error="invalid_grant"))

    with pytest.raises(AuthorizationEnded):
        hub.tpp().redeem("c1")


def test_the_code_of_a_valid_callback_is_exchanged_for_tokens() -> None:
    hub = ScriptedHub(answer(body=METADATA), token_answer())

    assert hub.tpp().redeem_callback(CALLBACK, state="visit-1").consent_id == "consent-1"
    assert hub.form(1)["code"] == "c1"


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        (CALLBACK.replace("visit-1", "another"), ForgedCallback),
        (CALLBACK.replace(f"iss={BASE}", "iss=https://evil.example"), ForgedCallback),
        (CALLBACK.replace(f"&iss={BASE}", ""), ForgedCallback),
        ("https://[tpp.example.com/callback", ForgedCallback),
        (f"https://tpp.example.com/callback?error=access_denied&state=visit-1&iss={BASE}", ConsentRefused),
    ],
)
def test_a_forged_or_refused_callback_is_rejected(url: str, expected: type[Exception]) -> None:
    with pytest.raises(expected):
        ScriptedHub(answer(body=METADATA)).tpp().redeem_callback(url, state="visit-1")


def test_a_pushed_request_is_opened_by_its_request_uri() -> None:
    hub = ScriptedHub(answer(201, {"request_uri": "urn:x", "expires_in": 60}))
    tpp = hub.tpp()

    pushed = tpp.push_authorization(scopes=["accounts", "accounts.balances"], state="s")

    assert hub.form(0)["scope"] == "accounts accounts.balances"
    assert hub.form(0)["response_type"] == "code"
    assert tpp.authorization_url(request_uri=pushed.request_uri) == (
        f"{BASE}/oauth/authorize?client_id=client-1&request_uri=urn%3Ax"
    )


def test_the_authorization_url_contains_all_parameters() -> None:
    url = ScriptedHub().tpp(dpop=Key()).authorization_url(scopes=["accounts"], state="s", code_verifier="v" * 43)

    found = {name: value for name, (value,) in parse_qs(urlsplit(url).query).items()}
    assert found == {
        "client_id": "client-1",
        "response_type": "code",
        "scope": "accounts",
        "state": "s",
        "code_challenge": code_challenge("v" * 43),
        "code_challenge_method": "S256",
        "dpop_jkt": "the-thumbprint",
    }


def test_a_new_assertion_is_signed_for_each_attempt() -> None:
    hub = ScriptedHub(answer(body=METADATA), httpx.ReadError("reset"), answer(body=ASKED), token_answer())
    tpp = hub.tpp(client_secret=None, assertion=Assertion())

    tpp.authorize(bic="DEMODEF1", scopes=["accounts"])
    tpp.redeem("c1")

    assert hub.header("X-Client-Assertion")[1:3] == [f"assertion-{number} of client-1 for {BASE}" for number in (1, 2)]
    assert hub.form(3)["client_assertion"] == f"assertion-3 of client-1 for {BASE}"
    assert hub.form(3)["client_assertion_type"].endswith("jwt-bearer")
    assert hub.header("Authorization") == [None] * 4


@pytest.mark.parametrize("name", ["WWW-Authenticate", "x-amzn-Remapped-WWW-Authenticate"])
def test_a_new_dpop_proof_with_the_newest_nonce_is_sent_in_each_attempt(name: str) -> None:
    demanded = failure(401, "AUTHENTICATION_REQUIRED", "the DPoP proof must contain the nonce in the header DPoP-Nonce")
    demanded.headers["DPoP-Nonce"] = "n1"
    demanded.headers[name] = 'DPoP algs="ES256", error="use_dpop_nonce"'
    hub = ScriptedHub(demanded, accounts())
    bound = Tokens.from_json({**tokens().to_json(), "token_type": "DPoP"})

    list(hub.tpp(dpop=Key()).consent(bound).accounts())

    assert hub.header("Authorization") == ["DPoP access-1"] * 2
    assert hub.header("DPoP") == [
        f"GET {BASE}/tpp/unified/accounts access-1 None",
        f"GET {BASE}/tpp/unified/accounts access-1 n1",
    ]


def test_a_dpop_nonce_of_a_token_response_is_used_in_the_next_request() -> None:
    demanded = failure(400, "FORMAT_ERROR", "the DPoP proof must contain the nonce", error="use_dpop_nonce")
    demanded.headers["DPoP-Nonce"] = "n1"
    hub = ScriptedHub(demanded, token_answer())

    hub.tpp(dpop=Key()).redeem("c1")

    assert hub.header("DPoP") == [f"POST {BASE}/tpp/token None {nonce}" for nonce in (None, "n1")]


def test_a_rejected_dpop_proof_does_not_cause_a_token_refresh() -> None:
    refused = failure(401, "AUTHENTICATION_REQUIRED", "the DPoP proof is missing or not valid")
    refused.headers["WWW-Authenticate"] = 'DPoP algs="ES256", error="invalid_dpop_proof"'
    hub = ScriptedHub(refused)

    with pytest.raises(ApiError) as caught:
        list(hub.tpp(dpop=Key()).consent(tokens()).accounts())
    assert not isinstance(caught.value, AuthorizationEnded)


@pytest.mark.parametrize(
    ("address", "options"),
    [
        ("hub.example", {}),
        ("ftp://hub.example", {}),
        ("", {}),
        ("https://hub.example\n", {}),
        ("https://hub.example:99999", {}),
        ("https://user:secret-1@hub.example", {}),
        ("https://hub.example?stage=1", {}),
        ("https://hub.example#top", {}),
        (BASE, {"client_secret": ""}),
        (BASE, {"client_id": ""}),
        (BASE, {"client_secret": "s", "assertion": Assertion()}),
    ],
)
def test_an_invalid_client_configuration_is_rejected(address: str, options: dict[str, Any]) -> None:
    for kind in (Tpp, AsyncTpp):
        with pytest.raises(ConfigurationError) as raised:
            kind(address, **{"client_id": "client-1", **options})
        assert "secret-1" not in str(raised.value)


def test_a_base_url_may_have_a_path_and_a_trailing_slash() -> None:
    hub = ScriptedHub(answer(body={"bic": "DEMODEF1", "scopes": []}))
    client = httpx.Client(transport=httpx.MockTransport(hub))

    Tpp(f"{BASE}/stage/", client_id="client-1", http_client=client).scopes("DEMODEF1")

    assert str(hub.requests[0].url) == f"{BASE}/stage/tpp/scope?bic=DEMODEF1"


def test_metadata_without_an_issuer_raises_the_unexpected_answer_error() -> None:
    with pytest.raises(UnexpectedAnswer, match="issuer"):
        ScriptedHub(answer(body={"token_endpoint": "x"})).tpp().redeem_callback(CALLBACK, state="visit-1")


def test_a_callback_without_an_expected_state_is_rejected() -> None:
    with pytest.raises(ForgedCallback):
        ScriptedHub(answer(body=METADATA)).tpp().redeem_callback(CALLBACK.replace("visit-1", ""), state="")


def test_revoking_a_consent_sends_its_refresh_token() -> None:
    hub = ScriptedHub(answer())

    hub.tpp().consent(tokens()).revoke()

    assert hub.form()["token"] == "refresh-1"


def test_no_repr_contains_a_secret() -> None:
    tpp = ScriptedHub().tpp()
    consent = tpp.consent(tokens())

    shown = f"{tpp!r} {consent!r} {consent.tokens!r} {vars(tpp)!r}"
    assert "client-1" in shown
    for secret in ("secret-1", "access-1", "refresh-1"):
        assert secret not in shown


def test_an_asynchronous_client_exchanges_the_code_of_a_callback_for_tokens() -> None:
    hub = ScriptedHub(answer(body=METADATA), token_answer())

    async def run() -> str:
        async with hub.async_tpp() as tpp:
            return (await tpp.redeem_callback(CALLBACK, state="visit-1")).consent_id

    assert asyncio.run(run()) == "consent-1"
