"""The web interface as a TPP: interrupted exchanges, concurrent refreshes, and the end of a consent."""

from urllib.parse import parse_qs, urlsplit

import pytest

from chalicelib.openbanking.flows.consent.tokens import redeem
from chalicelib.openbanking.oauth.tpp_request import TppCredentials
from chalicelib.website.records.journeys import EXCHANGE_SECONDS
from tests.causeway import Causeway
from tests.website.web_user import WebUser

# -- an exchange that was interrupted


@pytest.fixture
def interrupted(causeway: Causeway, user: WebUser, client_id: str, email: str) -> str:
    """Begin a code exchange that is interrupted, and wait until its time limit has passed. Return the code."""
    user.open_request(client_id)
    state = user.shown_request()["state"]
    code = parse_qs(urlsplit(user.approve(user.run_request(client_id))).query)["code"][0]
    journey = causeway.hub.website.journeys.find(email, state)
    assert journey is not None
    causeway.hub.website.journeys.begin_exchange(causeway.hub.website.journeys.record_code(journey, code))
    causeway.clock.advance(EXCHANGE_SECONDS - 1)
    user.get(f"/authorize/callback?state={state}")
    assert user.post("/authorize/callback", state=state, action="exchange").status == 303
    user.follow()
    assert "You have tokens" not in user.text
    causeway.clock.advance(1)
    user.get(f"/authorize/callback?state={state}")
    assert "was interrupted" in user.text
    return code


def test_an_exchange_that_was_interrupted_before_the_code_was_used_is_retried(user: WebUser, interrupted: str) -> None:
    user.post("/authorize/callback", state=user.hidden("state"), action="exchange")
    user.follow()

    assert "You have tokens" in user.text


def test_an_exchange_that_was_interrupted_after_the_code_was_used_ends_the_consent(
    causeway: Causeway, user: WebUser, client_id: str, email: str, interrupted: str
) -> None:
    (journey,) = causeway.hub.website.journeys.list_latest(email)
    verifier = causeway.hub.website.journeys.unseal_secrets(journey)["code_verifier"]
    proof = {"redirect_uri": journey.callback_url, "code_verifier": verifier}
    lost = causeway.hub.openbanking.call(redeem, TppCredentials(client_id), interrupted, **proof)
    answer = user.post("/authorize/callback", state=user.hidden("state"), action="exchange")

    assert answer.status == 400
    assert "No tokens came of it" in user.text
    consent = causeway.tpp.call("GET", "/tpp/consent", client_id=client_id, bearer=lost["access_token"])
    assert consent.status == 401


def test_a_wrong_secret_does_not_delete_the_record_of_an_interrupted_exchange(
    causeway: Causeway, user: WebUser, secret_client: tuple[str, str], email: str
) -> None:
    client_id, secret = secret_client
    state = user.get_code(client_id)
    journey = causeway.hub.website.journeys.find(email, state)
    assert journey is not None
    causeway.hub.website.journeys.begin_exchange(journey)
    known = causeway.hub.website.journeys.unseal_secrets(journey)
    proof = {"redirect_uri": journey.callback_url, "code_verifier": known["code_verifier"]}
    causeway.hub.openbanking.call(redeem, TppCredentials(client_id, secret), known["code"], **proof)
    causeway.clock.advance(EXCHANGE_SECONDS)
    assert user.post("/authorize/callback", state=state, action="exchange", client_secret="x").status == 400
    assert "was interrupted" in user.text
    user.post("/authorize/callback", state=state, action="exchange", client_secret=secret)

    assert "No tokens came of it" in user.text


# -- refreshing


def test_the_refresh_button_refreshes_expired_tokens(causeway: Causeway, user: WebUser, client_id: str) -> None:
    state = user.get_tokens(client_id)
    before = user.code("access-token")
    causeway.clock.advance(3600)
    user.get(f"/authorize/callback?state={state}")
    assert "expired: refresh it" in user.text
    user.post("/authorize/callback", state=state, action="refresh")
    user.follow()

    assert user.code("access-token") != before
    assert "refreshed them once" in user.text
    bearer = user.code("access-token")
    assert causeway.tpp.call("GET", "/tpp/consent", client_id=client_id, bearer=bearer).status == 200


def test_a_duplicate_refresh_request_leaves_the_tokens_valid(causeway: Causeway, user: WebUser, client_id: str) -> None:
    state = user.get_tokens(client_id)
    for _ in range(2):
        assert user.post("/authorize/callback", state=state, action="refresh").status == 303
        user.follow()

    bearer = user.code("access-token")
    assert causeway.tpp.call("GET", "/tpp/consent", client_id=client_id, bearer=bearer).status == 200


def test_a_refresh_in_progress_is_not_started_twice(
    causeway: Causeway, user: WebUser, client_id: str, email: str
) -> None:
    """A concurrent refresh could reuse a rotated token, which would end the consent."""
    state = user.get_tokens(client_id)
    journey = causeway.hub.website.journeys.find(email, state)
    assert journey is not None
    causeway.hub.website.journeys.begin_refresh(journey)
    before = user.code("access-token")
    assert user.post("/authorize/callback", state=state, action="refresh").status == 303
    user.follow()
    assert user.code("access-token") == before
    causeway.clock.advance(EXCHANGE_SECONDS)
    user.post("/authorize/callback", state=state, action="refresh")
    user.follow()

    assert user.code("access-token") != before


def test_a_refresh_of_a_revoked_consent_returns_400(causeway: Causeway, user: WebUser, client_id: str) -> None:
    state = user.get_tokens(client_id)
    bearer = user.code("access-token")
    causeway.tpp.call("POST", "/tpp/token/revoke", {"token": bearer}, client_id=client_id)
    answer = user.post("/authorize/callback", state=state, action="refresh")

    assert answer.status == 400
    assert "The refresh token is not valid." in user.text
    assert "The consent has ended" in user.text


# -- the end


def test_the_button_for_ending_a_consent_on_a_journey_page_ends_the_consent(
    causeway: Causeway, user: WebUser, client_id: str
) -> None:
    state = user.get_tokens(client_id)
    bearer = user.code("access-token")
    user.post("/authorize/callback", state=state, action="end")
    user.follow()

    assert "The consent has ended" in user.text
    assert causeway.tpp.call("GET", "/tpp/consent", client_id=client_id, bearer=bearer).status == 401
