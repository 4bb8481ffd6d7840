"""Tests of the profile ``fapi2``: clients must follow the FAPI 2.0 Security Profile in every stage."""

from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit

import pytest

from chalicelib.openbanking.protocol import refusals
from tests.causeway import Causeway
from tests.openbanking.key_holder import CHALLENGE, VERIFIER, KeyHolder, open_pushed, secure
from tests.openbanking.kit import basic


@pytest.fixture
def tpp(causeway: Causeway) -> KeyHolder:
    holder = KeyHolder()
    secure(causeway, holder, security_profile="fapi2")
    return holder


def test_an_authorization_request_that_is_not_pushed_is_refused(causeway: Causeway, tpp: KeyHolder) -> None:
    request = {"bic": causeway.banks[2].bic, "scopes": ["accounts"], "code_challenge": CHALLENGE}
    request |= {"code_challenge_method": "S256", "redirect_uri": causeway.tpp.client.callback_url}
    query = {
        "response_type": "code",
        "client_id": causeway.tpp.client_id,
        "scope": "accounts",
        **{name: value for name, value in request.items() if name != "scopes"},
    }
    wanted = refusals.REQUEST_NOT_PUSHED().message

    direct = causeway.tpp.call(
        "POST", "/tpp/authorize", request, headers={"x-client-assertion": tpp.assertion(causeway)}
    )
    by_browser = causeway.call("GET", f"/oauth/authorize?{urlencode(query)}")

    assert (direct.status, direct.body["title"]) == (400, wanted)
    assert by_browser.status == 303
    returned = parse_qs(urlsplit(by_browser.headers["location"]).query)
    assert (returned["error"], returned["error_description"]) == (["invalid_request"], [wanted])
    assert [*causeway.hub.store.scan("authorizations")] == []


@pytest.mark.parametrize(
    ("members", "row"),
    [
        ({"redirect_uri": None}, refusals.REDIRECT_URI_MISSING),
        ({"code_challenge": None, "code_challenge_method": None}, refusals.CODE_CHALLENGE_MISSING),
    ],
)
def test_redirect_uri_and_pkce_are_mandatory(
    causeway: Causeway, tpp: KeyHolder, members: dict[str, Any], row: refusals.RefusalRow
) -> None:
    answer = tpp.push(causeway, **members)

    assert (answer.status, answer.body["error"], answer.body["title"]) == (400, "invalid_request", row().message)


@pytest.mark.parametrize("method", ["plain", "S512", None])
def test_only_s256_is_accepted_as_code_challenge_method(causeway: Causeway, tpp: KeyHolder, method: str | None) -> None:
    assert tpp.push(causeway, code_challenge_method=method).status == 400
    assert tpp.push(causeway, code_challenge=VERIFIER, code_challenge_method="plain").status == 400


def test_the_token_request_requires_the_redirect_uri(causeway: Causeway, tpp: KeyHolder) -> None:
    code = tpp.code(causeway)

    without = tpp.redeem(causeway, code, redirect_uri=None)
    other = tpp.redeem(causeway, code, redirect_uri="https://other.example.com/callback")

    assert without.body["title"] == refusals.REDIRECT_URI_MISSING().message
    assert other.body["title"] == refusals.REDIRECT_URI_OTHER().message
    assert tpp.redeem(causeway, code).status == 200


@pytest.mark.parametrize(("seconds", "status"), [(59, 200), (60, 400)])
def test_a_code_expires_after_60_seconds(causeway: Causeway, tpp: KeyHolder, seconds: int, status: int) -> None:
    code = tpp.code(causeway)
    causeway.clock.advance(seconds)

    assert tpp.redeem(causeway, code).status == status


def test_a_second_use_of_a_code_revokes_its_tokens(causeway: Causeway, tpp: KeyHolder) -> None:
    code = tpp.code(causeway)
    tokens = tpp.redeem(causeway, code).body

    assert tpp.redeem(causeway, code).body["title"] == refusals.CODE_USED().message
    assert tpp.read(causeway, tokens["access_token"]).status == 401


def test_a_token_request_without_a_proof_is_refused(causeway: Causeway, tpp: KeyHolder) -> None:
    code = tpp.code(causeway)

    unbound = tpp.redeem(causeway, code, proof=None)

    assert (unbound.status, unbound.body["error"]) == (400, "invalid_dpop_proof")
    assert tpp.redeem(causeway, code).body["token_type"] == "DPoP"


def test_a_refresh_returns_the_same_refresh_token(causeway: Causeway, tpp: KeyHolder) -> None:
    first = tpp.tokens(causeway)

    second, third = (tpp.refresh(causeway, first["refresh_token"]).body for _ in range(2))

    assert first["refresh_token"] == second["refresh_token"] == third["refresh_token"]
    access = [each["access_token"] for each in (first, second, third)]
    assert len(set(access)) == 3
    assert [tpp.read(causeway, token).status for token in access] == [200, 200, 200]
    causeway.clock.advance(3600)
    assert [tpp.read(causeway, token).status for token in access] == [401, 401, 401]
    assert tpp.refresh(causeway, first["refresh_token"]).status == 200


def test_a_refresh_fails_when_the_consent_is_revoked_during_the_refresh(causeway: Causeway, tpp: KeyHolder) -> None:
    tokens = tpp.tokens(causeway)

    def end_consent() -> None:
        form = tpp.form(causeway, {"token": tokens["refresh_token"]})
        assert causeway.tpp.call("POST", "/tpp/token/revoke", form=form, client_id="").status == 200

    with causeway.meanwhile("transact", end_consent):
        racing = tpp.refresh(causeway, tokens["refresh_token"])

    assert racing.body["title"] == refusals.REFRESH_TOKEN_INVALID().message
    assert tpp.refresh(causeway, tokens["refresh_token"]).status == 400


def test_a_refresh_succeeds_when_the_storage_response_is_lost(causeway: Causeway, tpp: KeyHolder) -> None:
    tokens = tpp.tokens(causeway)

    with causeway.answer_lost("transact", applied=True):
        answer = tpp.refresh(causeway, tokens["refresh_token"])

    assert answer.status == 200
    assert tpp.read(causeway, answer.body["access_token"]).status == 200


def test_an_authorization_redirects_with_303_and_contains_the_issuer(causeway: Causeway, tpp: KeyHolder) -> None:
    opened = open_pushed(causeway, tpp.push(causeway).body["request_uri"])
    saved = causeway.banks[2].call("/consent", causeway.banks[2].consent_body(opened.headers["location"]))

    assert opened.status == 303
    assert parse_qs(urlsplit(saved.body["callbackUrl"]).query)["iss"] == ["http://127.0.0.1:8000"]


def test_a_client_secret_is_refused(causeway: Causeway, tpp: KeyHolder) -> None:
    with pytest.raises(ValueError, match="fapi2 needs the authentication method"):
        causeway.hub.openbanking.clients.update(causeway.tpp.client_id, security={"auth_method": "client_secret_basic"})
    answer = causeway.tpp.call("GET", "/tpp/banks", headers={"authorization": basic(causeway.tpp.client_id, "secret")})
    assert (answer.status, answer.body["title"]) == (401, refusals.SECRET_WRONG().message)


def test_an_access_token_in_the_query_is_refused(causeway: Causeway, tpp: KeyHolder) -> None:
    token = tpp.tokens(causeway)["access_token"]

    assert causeway.tpp.call("GET", f"/tpp/consent?access_token={token}").status == 401


def test_an_authorization_request_from_the_web_interface_is_refused(causeway: Causeway, tpp: KeyHolder) -> None:
    from chalicelib.openbanking.flows.consent.authorization import authorize
    from chalicelib.openbanking.protocol.errors import Refusal
    from chalicelib.openbanking.protocol.tpp_calls import AuthorizeRequest

    request = AuthorizeRequest.read({"bic": causeway.banks[2].bic, "scopes": ["accounts"]})

    with pytest.raises(Refusal, match="must push its authorization requests"):
        causeway.hub.openbanking.call(authorize, causeway.tpp.client, request, channel="browser")
