"""The profile ``fapi2``: what the FAPI 2.0 Security Profile demands holds for its clients, in every stage."""

from __future__ import annotations

from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit

import pytest

from chalicelib.openbanking.protocol import refusals
from tests.openbanking.key_holder import CHALLENGE, VERIFIER, KeyHolder, open_pushed, secure
from tests.world import World, basic


@pytest.fixture
def tpp(world: World) -> KeyHolder:
    holder = KeyHolder()
    secure(world, holder, security_profile="fapi2")
    return holder


def test_an_authorization_request_that_is_not_pushed_is_refused(world: World, tpp: KeyHolder) -> None:
    request = {"bic": world.banks[2].bank.bic, "scopes": ["accounts"], "code_challenge": CHALLENGE}
    request |= {"code_challenge_method": "S256", "redirect_uri": world.client.callback_url}
    query = {
        "response_type": "code",
        "client_id": world.client.client_id,
        "scope": "accounts",
        **{name: value for name, value in request.items() if name != "scopes"},
    }
    wanted = refusals.REQUEST_NOT_PUSHED().message

    direct = world.tpp("POST", "/tpp/authorize", request, headers={"x-client-assertion": tpp.assertion(world)})
    by_browser = world.call("GET", f"/oauth/authorize?{urlencode(query)}")

    assert (direct.status, direct.body["title"]) == (400, wanted)
    assert by_browser.status == 303
    returned = parse_qs(urlsplit(by_browser.headers["location"]).query)
    assert (returned["error"], returned["error_description"]) == (["invalid_request"], [wanted])
    assert [*world.hub.store.scan("authorizations")] == []


@pytest.mark.parametrize(
    ("members", "row"),
    [
        ({"redirect_uri": None}, refusals.REDIRECT_URI_MISSING),
        ({"code_challenge": None, "code_challenge_method": None}, refusals.CODE_CHALLENGE_MISSING),
    ],
)
def test_redirect_uri_and_pkce_are_mandatory(
    world: World, tpp: KeyHolder, members: dict[str, Any], row: refusals.RefusalRow
) -> None:
    answer = tpp.push(world, **members)

    assert (answer.status, answer.body["error"], answer.body["title"]) == (400, "invalid_request", row().message)


@pytest.mark.parametrize("method", ["plain", "S512", None])
def test_only_s256_is_accepted_as_code_challenge_method(world: World, tpp: KeyHolder, method: str | None) -> None:
    assert tpp.push(world, code_challenge_method=method).status == 400
    assert tpp.push(world, code_challenge=VERIFIER, code_challenge_method="plain").status == 400


def test_the_token_request_requires_the_redirect_uri(world: World, tpp: KeyHolder) -> None:
    code = tpp.code(world)

    without = tpp.redeem(world, code, redirect_uri=None)
    other = tpp.redeem(world, code, redirect_uri="https://other.example.com/callback")

    assert without.body["title"] == refusals.REDIRECT_URI_MISSING().message
    assert other.body["title"] == refusals.REDIRECT_URI_OTHER().message
    assert tpp.redeem(world, code).status == 200


@pytest.mark.parametrize(("seconds", "status"), [(59, 200), (60, 400)])
def test_a_code_expires_after_60_seconds(world: World, tpp: KeyHolder, seconds: int, status: int) -> None:
    code = tpp.code(world)
    world.clock.advance(seconds)

    assert tpp.redeem(world, code).status == status


def test_a_second_use_of_a_code_revokes_its_tokens(world: World, tpp: KeyHolder) -> None:
    code = tpp.code(world)
    tokens = tpp.redeem(world, code).body

    assert tpp.redeem(world, code).body["title"] == refusals.CODE_USED().message
    assert tpp.read(world, tokens["access_token"]).status == 401


def test_a_token_request_without_a_proof_is_refused(world: World, tpp: KeyHolder) -> None:
    code = tpp.code(world)

    unbound = tpp.redeem(world, code, proof=None)

    assert (unbound.status, unbound.body["error"]) == (400, "invalid_dpop_proof")
    assert tpp.redeem(world, code).body["token_type"] == "DPoP"


def test_a_refresh_returns_the_same_refresh_token(world: World, tpp: KeyHolder) -> None:
    first = tpp.tokens(world)

    second, third = (tpp.refresh(world, first["refresh_token"]).body for _ in range(2))

    assert first["refresh_token"] == second["refresh_token"] == third["refresh_token"]
    access = [each["access_token"] for each in (first, second, third)]
    assert len(set(access)) == 3
    assert [tpp.read(world, token).status for token in access] == [200, 200, 200]
    world.clock.advance(3600)
    assert [tpp.read(world, token).status for token in access] == [401, 401, 401]
    assert tpp.refresh(world, first["refresh_token"]).status == 200


def test_a_refresh_fails_when_the_consent_is_revoked_meanwhile(world: World, tpp: KeyHolder) -> None:
    tokens = tpp.tokens(world)

    def end_consent() -> None:
        form = tpp.form(world, {"token": tokens["refresh_token"]})
        assert world.tpp("POST", "/tpp/token/revoke", form=form, client_id="").status == 200

    with world.meanwhile("transact", end_consent):
        racing = tpp.refresh(world, tokens["refresh_token"])

    assert racing.body["title"] == refusals.REFRESH_TOKEN_INVALID().message
    assert tpp.refresh(world, tokens["refresh_token"]).status == 400


def test_a_refresh_succeeds_when_the_storage_response_is_lost(world: World, tpp: KeyHolder) -> None:
    tokens = tpp.tokens(world)

    with world.answer_lost("transact", applied=True):
        answer = tpp.refresh(world, tokens["refresh_token"])

    assert answer.status == 200
    assert tpp.read(world, answer.body["access_token"]).status == 200


def test_authorization_redirects_with_303_and_names_the_issuer(world: World, tpp: KeyHolder) -> None:
    opened = open_pushed(world, tpp.push(world).body["request_uri"])
    saved = world.bank(2, "/consent", world.consent_body(2, opened.headers["location"]))

    assert opened.status == 303
    assert parse_qs(urlsplit(saved.body["callbackUrl"]).query)["iss"] == ["http://127.0.0.1:8000"]


def test_a_client_secret_is_refused(world: World, tpp: KeyHolder) -> None:
    with pytest.raises(ValueError, match="fapi2 needs the authentication method"):
        world.hub.openbanking.clients.update(world.client.client_id, security={"auth_method": "client_secret_basic"})
    answer = world.tpp("GET", "/tpp/banks", headers={"authorization": basic(world.client.client_id, "secret")})
    assert (answer.status, answer.body["title"]) == (401, refusals.SECRET_WRONG().message)


def test_an_access_token_in_the_query_is_refused(world: World, tpp: KeyHolder) -> None:
    token = tpp.tokens(world)["access_token"]

    assert world.tpp("GET", f"/tpp/consent?access_token={token}").status == 401


def test_an_authorization_request_from_the_web_interface_is_refused(world: World, tpp: KeyHolder) -> None:
    from chalicelib.openbanking.flows.consent.authorization import authorize
    from chalicelib.openbanking.protocol.errors import Refusal
    from chalicelib.openbanking.protocol.tpp_calls import AuthorizeRequest

    request = AuthorizeRequest.read({"bic": world.banks[2].bank.bic, "scopes": ["accounts"]})

    with pytest.raises(Refusal, match="must push its authorization requests"):
        world.hub.openbanking.call(authorize, world.client, request, channel="browser")
