"""Authorize: the request that is shown is the one that runs, and the journey from there to tokens and their end."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from dataclasses import replace
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

from chalicelib.openbanking.bank_record import NewBank
from tests.website.person import Person
from tests.world import IBAN, World

SCOPES = ["account.list", "account.balance"]
SECRET = re.compile(r'<code id="client-secret">([^<]+)</code>')


@pytest.fixture
def client_id(user: Person) -> str:
    return user.create_client()


def shown_request(user: Person) -> dict[str, Any]:
    """The JSON on the page that is shown."""
    found = re.search(r'id="request".*?<pre[^>]*><code[^>]*>(.*?)</code>', user.last.text, re.DOTALL)
    assert found is not None
    body: dict[str, Any] = json.loads(found[1].replace("&#34;", '"').replace("&amp;", "&"))
    return body


def open_request(user: Person, client_id: str, bic: str = "ALPHGB21") -> None:
    assert user.get(f"/authorize?client_id={client_id}&bic={bic}").status == 200


def run(user: Person, client_id: str, **changes: Any) -> str:
    """Run the request of the page that is shown; answers the address at the bank."""
    fields = {
        "client_id": client_id,
        "bic": user.hidden("bic"),
        "draft": user.hidden("draft"),
        "scope": SCOPES,
        "consent_type": "reusable",
        "pkce": "yes",
    }
    user.post("/authorize", **(fields | changes))
    return user.last.headers.get("location", "")


def approve(world: World, url: str, version: int = 1) -> str:
    """The bank saves the consent; answers where it sends the browser, in this service."""
    scopes = parse_qs(urlsplit(url).query)["scope"][0].split()
    answer = world.bank(version, "/consent", {"request_url": url, "scopes": scopes, "ibans": [IBAN]})
    assert answer.status == 200, answer.text
    return str(answer.body["callback_url"]).removeprefix("http://127.0.0.1:8000")


def with_tokens(world: World, user: Person, client_id: str) -> str:
    """A journey up to its tokens; answers its state."""
    open_request(user, client_id)
    user.get(approve(world, run(user, client_id)))
    user.follow()
    assert "You have tokens" in user.text
    return user.hidden("state")


def token(user: Person, name: str) -> str:
    found = re.search(rf'<code id="{name}">([^<]+)</code>', user.last.text)
    assert found is not None
    return found[1]


# -- choosing


def test_who_has_no_client_is_led_to_one(user: Person) -> None:
    user.get("/authorize")

    assert "You have no active client" in user.text
    assert 'href="/clients/new"' in user.last.text


def test_banks_are_searched_by_name_and_bic(user: Person, client_id: str) -> None:
    for wanted, there, not_there in (("version 2", "BETADEF1", "ALPHGB21"), ("alph", "ALPHGB21", "BETADEF1")):
        text = user.get(f"/authorize?client_id={client_id}&bank={wanted.replace(' ', '+')}").text
        assert there in text
        assert not_there not in text
    user.get("/authorize?bank=%3Cnothing%3E")
    assert "No bank fits <nothing>" in user.text
    assert "<nothing>" not in user.last.text


def test_an_inactive_client_cannot_be_chosen(user: Person) -> None:
    client_id = user.create_client("Sleeping", active=None)

    assert "Sleeping" not in user.get("/authorize").text
    assert "who asks, and at which bank" in (user.get(f"/authorize?client_id={client_id}&bic=ALPHGB21") and user.text)


def test_the_scopes_of_the_chosen_bank_are_shown_with_their_meaning(user: Person, client_id: str) -> None:
    open_request(user, client_id, "BETADEF1")

    assert "accounts.transactions transactions" in user.text
    assert "account.list" not in user.text
    assert set(user.checked("scope")) == set(shown_request(user)["scopes"])
    assert user.checked("pkce") == ["yes"]


def test_the_request_follows_what_is_chosen(user: Person, client_id: str) -> None:
    open_request(user, client_id)
    draft = user.hidden("draft")
    user.get(f"/authorize?client_id={client_id}&bic=ALPHGB21&draft={draft}&scope=payment.init&consent_type=one_time")
    body = shown_request(user)

    assert (body["scopes"], body["consent_type"]) == (["payment.init"], "one_time")
    assert "code_challenge" not in body
    assert user.hidden("draft") == draft


def test_the_form_token_never_gets_into_an_address(user: Person, client_id: str) -> None:
    """The page's form is sent by GET, too, to show the request: only the button that runs it carries the token."""
    open_request(user, client_id)

    assert re.findall(r"<(\w+)[^>]*name=\"form_token\"", user.last.text) == ["button"]


# -- running


def test_what_is_shown_is_what_runs(world: World, user: Person, client_id: str) -> None:
    open_request(user, client_id)
    body = shown_request(user)
    sent = {
        name: values[0] for name, values in parse_qs(urlsplit(run(user, client_id, scope=body["scopes"])).query).items()
    }

    assert sent["state"] == body["state"]
    assert sent["code_challenge"] == body["code_challenge"]
    assert sent["scope"] == " ".join(body["scopes"])
    assert (sent["client_id"], sent["redirect_uri"]) == (client_id, body["redirect_uri"])


def test_the_curl_that_is_shown_works(world: World, user: Person, client_id: str) -> None:
    open_request(user, client_id)
    body = shown_request(user)

    assert f"X-Api-Key: {client_id}" in user.text
    assert world.tpp("POST", "/tpp/authorize", body, client_id=client_id).status == 200


def test_a_quote_in_a_callback_url_does_not_break_out_of_the_curl(user: Person) -> None:
    client_id = user.create_client(callback_url="https://tpp.example/'$(id)'")
    open_request(user, client_id)

    assert "https://tpp.example/'\\''$(id)'\\''" in user.text


def test_the_page_may_lead_to_the_bank_and_to_the_callback_and_nowhere_else(user: Person) -> None:
    client_id = user.create_client(callback_url="https://tpp.example/back")
    open_request(user, client_id)

    policy = user.last.headers["content-security-policy"]
    assert "form-action 'self' http://127.0.0.1:1 https://tpp.example;" in policy
    assert user.last.headers["referrer-policy"] == "same-origin"


def test_a_request_that_is_refused_says_why_and_what_to_do(
    world: World, user: Person, client_id: str, email: str
) -> None:
    open_request(user, client_id)
    for changes, said in (
        ({"scope": []}, "Scopes must not be empty"),
        ({"consent_type": "one_time"}, "goes with payment scopes only"),
        ({"scope": ["accounts"]}, "does not provide"),
        ({"consent_type": "<b>"}, "Change the request, and run it again"),
    ):
        run(user, client_id, **changes)
        assert user.last.status == 400
        assert said in user.text
    assert world.hub.journeys.latest(email) == []


def test_a_second_click_leads_to_the_same_place_at_the_bank(user: Person, client_id: str) -> None:
    open_request(user, client_id)
    page = user.last
    first = run(user, client_id)
    user.last = page

    assert run(user, client_id) == first
    assert first.startswith("http://127.0.0.1:1/bank-1/authorize")


def test_a_request_that_has_ended_is_made_anew(world: World, user: Person, client_id: str) -> None:
    open_request(user, client_id)
    before, page = shown_request(user), user.last
    approve(world, run(user, client_id))
    user.last = page
    run(user, client_id)

    assert user.last.status == 400
    assert "has ended or expired" in user.text
    assert shown_request(user)["state"] != before["state"]
    assert run(user, client_id).startswith("http://127.0.0.1:1/bank-1/authorize")


def test_a_client_that_was_switched_off_meanwhile_does_not_ask(world: World, user: Person, client_id: str) -> None:
    open_request(user, client_id)
    world.hub.clients.deactivate(client_id)
    run(user, client_id)

    assert "You have no active client" in user.text


# -- coming back


@pytest.mark.parametrize(("version", "bic", "scopes"), [(1, "ALPHGB21", SCOPES), (2, "BETADEF1", ["accounts"])])
@pytest.mark.parametrize("pkce", ["yes", None])
def test_a_journey_of_ones_own_ends_with_tokens_that_work(
    world: World, user: Person, client_id: str, version: int, bic: str, scopes: list[str], pkce: str | None
) -> None:
    open_request(user, client_id, bic)
    url = run(user, client_id, scope=scopes, pkce=pkce)
    if version == 1:
        back = approve(world, url)
    else:
        answer = world.bank(2, "/consent", {"requestUrl": url, "scopes": scopes, "ibans": [IBAN]})
        back = str(answer.body["callbackUrl"]).removeprefix("http://127.0.0.1:8000")
    user.get(back)
    user.follow()

    assert user.last.headers["referrer-policy"] == "no-referrer"
    assert "You have tokens" in user.text
    assert "valid for 1 hour" in user.text
    assert parse_qs(urlsplit(back).query)["code"][0] in user.text
    consent = world.tpp("GET", "/tpp/consent", client_id=client_id, bearer=token(user, "access-token"))
    assert consent.body["scopes"] == scopes


def test_the_verifier_that_is_shown_belongs_to_the_challenge_that_was_sent(
    world: World, user: Person, client_id: str
) -> None:
    open_request(user, client_id)
    challenge = shown_request(user)["code_challenge"]
    user.get(approve(world, run(user, client_id)))
    user.follow()
    verifier = re.search(r"code_verifier (\S{43}) ", user.text)

    assert verifier is not None
    hashed = hashlib.sha256(verifier[1].encode()).digest()
    assert base64.urlsafe_b64encode(hashed).rstrip(b"=").decode() == challenge


def test_a_page_that_is_loaded_again_never_uses_the_code_twice(world: World, user: Person, client_id: str) -> None:
    open_request(user, client_id)
    back = approve(world, run(user, client_id))
    for _ in range(3):
        user.get(back)
        user.follow()

    assert "You have tokens" in user.text
    bearer = token(user, "access-token")
    assert world.tpp("GET", "/tpp/consent", client_id=client_id, bearer=bearer).status == 200


@pytest.mark.parametrize("signed_in", [True, False])
def test_a_code_of_somebody_elses_journey_is_only_shown(
    world: World, user: Person, client_id: str, signed_in: bool
) -> None:
    open_request(user, client_id)
    back = approve(world, run(user, client_id))
    other = Person(world)
    if signed_in:
        other.cookies = {"causeway_session": world.hub.sessions.begin("other@example.com").cookie}
    answer = other.get(back)

    code = parse_qs(urlsplit(back).query)["code"][0]
    assert (answer.status, code in other.text) == (200, True)
    assert "it is only shown" in other.text
    user.get(back)
    assert "You have tokens" in (user.follow() and user.text)


def test_a_journey_of_somebody_else_does_not_exist(world: World, user: Person, client_id: str) -> None:
    state = with_tokens(world, user, client_id)
    other = Person(world)
    other.cookies = {"causeway_session": world.hub.sessions.begin("other@example.com").cookie}

    assert "authorize/callback" not in (other.get(f"/authorize/callback?state={state}").headers.get("location", ""))
    assert "access-token" not in other.last.text
    for action in ("exchange", "refresh", "end"):
        assert other.post("/authorize/callback", state=state, action=action).status == 404
    assert "access_token" not in other.get(f"/specifications/account?state={state}").text


def test_an_answer_of_another_issuer_is_not_taken(world: World, user: Person, client_id: str) -> None:
    open_request(user, client_id)
    back = approve(world, run(user, client_id))
    user.get(re.sub(r"iss=[^&]+", "iss=https%3A%2F%2Fevil.example", back))

    assert "it is only shown" in user.text
    user.get(back)
    assert "You have tokens" in (user.follow() and user.text)


@pytest.mark.parametrize(
    ("error", "advice"),
    [
        ("access_denied", "approve every permission at the bank"),
        ("temporarily_unavailable", "Wait a minute"),
        ("something_else", "a new request begins with a new state"),
    ],
)
def test_who_comes_back_without_a_consent_is_told_what_to_do(
    user: Person, client_id: str, error: str, advice: str
) -> None:
    open_request(user, client_id)
    state = shown_request(user)["state"]
    run(user, client_id)
    user.get(f"/authorize/callback?error={error}&error_description=%3Ci%3ENo&state={state}")
    user.follow()

    assert advice in user.text
    assert "<i>No." in user.text
    assert "<i>" not in user.last.text
    assert "not approved" in (user.get("/authorize") and user.text)


def test_a_code_that_has_expired_is_said_in_a_sentence(world: World, user: Person, client_id: str) -> None:
    open_request(user, client_id)
    back = approve(world, run(user, client_id))
    world.clock.advance(world.hub.settings.code_lifetime)
    user.get(back)

    assert "The authorization code has expired." in user.text


@pytest.fixture
def interrupted(world: World, user: Person, client_id: str, email: str) -> str:
    """A journey whose exchange of the code began half a minute ago and never ended; answers its code."""
    open_request(user, client_id)
    state = shown_request(user)["state"]
    code = parse_qs(urlsplit(approve(world, run(user, client_id))).query)["code"][0]
    journey = world.hub.journeys.find(email, state)
    assert journey is not None
    world.hub.journeys.exchanging(world.hub.journeys.returned(journey, code))
    world.clock.advance(29)
    user.get(f"/authorize/callback?state={state}")
    assert user.post("/authorize/callback", state=state, action="exchange").status == 303
    assert "You have tokens" not in (user.follow() and user.text)
    world.clock.advance(1)
    user.get(f"/authorize/callback?state={state}")
    assert "was interrupted" in user.text
    return code


def test_an_exchange_that_was_interrupted_before_the_code_was_used_is_repeated(user: Person, interrupted: str) -> None:
    user.post("/authorize/callback", state=user.hidden("state"), action="exchange")
    user.follow()

    assert "You have tokens" in user.text


def test_a_wrong_secret_does_not_hide_that_an_exchange_was_interrupted(
    world: World, user: Person, secret_client: tuple[str, str], email: str
) -> None:
    client_id, secret = secret_client
    open_request(user, client_id)
    user.get(approve(world, run(user, client_id)))
    user.follow()
    state = user.hidden("state")
    journey = world.hub.journeys.find(email, state)
    assert journey is not None
    world.hub.journeys.exchanging(journey)
    known = world.hub.journeys.secrets(journey)
    world.hub.token_flow.redeem(client_id, secret, known["code"], None, known["code_verifier"])
    world.clock.advance(30)
    assert user.post("/authorize/callback", state=state, action="exchange", client_secret="x").status == 400
    assert "was interrupted" in user.text
    user.post("/authorize/callback", state=state, action="exchange", client_secret=secret)

    assert "No tokens came of it" in user.text


def test_an_exchange_that_was_interrupted_after_the_code_was_used_ends_the_consent(
    world: World, user: Person, client_id: str, email: str, interrupted: str
) -> None:
    (journey,) = world.hub.journeys.latest(email)
    verifier = world.hub.journeys.secrets(journey)["code_verifier"]
    lost = world.hub.token_flow.redeem(client_id, None, interrupted, None, verifier)
    answer = user.post("/authorize/callback", state=user.hidden("state"), action="exchange")

    assert answer.status == 400
    assert "No tokens came of it" in user.text
    consent = world.tpp("GET", "/tpp/consent", client_id=client_id, bearer=lost["access_token"])
    assert consent.status == 401


def test_a_code_counts_whatever_the_browser_brought_before(world: World, user: Person, client_id: str) -> None:
    """The PSU may open the cancel address in another tab, after the approval."""
    open_request(user, client_id)
    state = shown_request(user)["state"]
    back = approve(world, run(user, client_id))
    user.get(f"/authorize/callback?error=access_denied&state={state}")
    assert "No consent came of it" in (user.follow() and user.text)
    user.get(back)

    assert "You have tokens" in (user.follow() and user.text)
    assert "without a consent" not in user.text


def test_an_error_in_the_address_does_not_hide_a_code(
    world: World, user: Person, secret_client: tuple[str, str]
) -> None:
    client_id, secret = secret_client
    open_request(user, client_id)
    user.get(approve(world, run(user, client_id)))
    user.follow()
    state = user.hidden("state")
    user.get(f"/authorize/callback?error=access_denied&state={state}")
    user.follow()
    user.post("/authorize/callback", state=state, action="exchange", client_secret=secret)

    assert "You have tokens" in (user.follow() and user.text)


def test_a_journey_without_tokens_cannot_be_said_to_have_ended(world: World, user: Person, client_id: str) -> None:
    open_request(user, client_id)
    state = shown_request(user)["state"]
    run(user, client_id)
    user.get(f"/authorize/callback?state={state}")
    for action in ("end", "refresh", "exchange"):
        user.post(
            "/authorize/callback",
            action=action,
            state=state,
            token=world.hub.sessions.find(user.cookies["causeway_session"]).form_token,
        )

    assert "under way" in (user.follow() and user.text)


# -- with a secret


@pytest.fixture
def secret_client(user: Person) -> tuple[str, str]:
    """A client with a secret, and that secret."""
    client_id = user.create_client("Secretive", secret="yes")
    found = SECRET.search(user.last.text)
    assert found is not None
    return client_id, found[1]


def test_a_client_with_a_secret_is_asked_for_it(world: World, user: Person, secret_client: tuple[str, str]) -> None:
    client_id, secret = secret_client
    open_request(user, client_id)
    user.get(approve(world, run(user, client_id)))
    user.follow()
    state = user.hidden("state")
    assert "The client has a secret" in user.text

    wrong = user.post("/authorize/callback", state=state, action="exchange", client_secret="x")
    assert (wrong.status, "enter its secret" in user.text) == (400, True)
    user.post("/authorize/callback", state=state, action="exchange", client_secret=secret)
    user.follow()
    assert "You have tokens" in user.text
    for action in ("refresh", "end"):
        assert user.post("/authorize/callback", state=state, action=action).status == 400
        assert user.post("/authorize/callback", state=state, action=action, client_secret=secret).status == 303
        user.follow()
    assert "The consent has ended" in user.text


# -- afterwards


def test_tokens_are_refreshed(world: World, user: Person, client_id: str) -> None:
    state = with_tokens(world, user, client_id)
    before = token(user, "access-token")
    world.clock.advance(3600)
    user.get(f"/authorize/callback?state={state}")
    assert "expired: refresh it" in user.text
    user.post("/authorize/callback", state=state, action="refresh")
    user.follow()

    assert token(user, "access-token") != before
    assert "refreshed them once" in user.text
    bearer = token(user, "access-token")
    assert world.tpp("GET", "/tpp/consent", client_id=client_id, bearer=bearer).status == 200


def test_a_refresh_that_is_sent_twice_gets_one_pair(world: World, user: Person, client_id: str) -> None:
    state = with_tokens(world, user, client_id)
    for _ in range(2):
        assert user.post("/authorize/callback", state=state, action="refresh").status == 303
        user.follow()

    bearer = token(user, "access-token")
    assert world.tpp("GET", "/tpp/consent", client_id=client_id, bearer=bearer).status == 200


def test_a_refresh_that_another_press_has_begun_is_not_begun_again(
    world: World, user: Person, client_id: str, email: str
) -> None:
    """Two refreshes that overtake each other could use a token after its successor, which ends the consent."""
    state = with_tokens(world, user, client_id)
    journey = world.hub.journeys.find(email, state)
    assert journey is not None
    world.hub.journeys.refreshing(journey)
    before = token(user, "access-token")
    assert user.post("/authorize/callback", state=state, action="refresh").status == 303
    assert token(user.follow() and user, "access-token") == before
    world.clock.advance(30)
    user.post("/authorize/callback", state=state, action="refresh")

    assert token(user.follow() and user, "access-token") != before


def test_a_consent_that_the_bank_has_ended_is_not_refreshed(world: World, user: Person, client_id: str) -> None:
    state = with_tokens(world, user, client_id)
    bearer = token(user, "access-token")
    world.tpp("POST", "/tpp/token/revoke", {"token": bearer}, client_id=client_id)
    answer = user.post("/authorize/callback", state=state, action="refresh")

    assert answer.status == 400
    assert "The refresh token is not valid." in user.text
    assert "The consent has ended" in user.text


def test_a_consent_is_ended(world: World, user: Person, client_id: str) -> None:
    state = with_tokens(world, user, client_id)
    bearer = token(user, "access-token")
    user.post("/authorize/callback", state=state, action="end")
    user.follow()

    assert "The consent has ended" in user.text
    assert world.tpp("GET", "/tpp/consent", client_id=client_id, bearer=bearer).status == 401


def test_the_token_is_offered_to_the_api_screens(world: World, user: Person, client_id: str) -> None:
    state = with_tokens(world, user, client_id)
    bearer = token(user, "access-token")
    link = re.search(r'href="(/specifications/account\?state=[^"]+)"', user.last.text)

    assert link is not None
    assert bearer in user.get(link[1]).text
    assert user.last.headers["referrer-policy"] == "no-referrer"
    assert bearer not in user.get("/specifications/account").text
    assert state in link[1]


def test_nothing_of_a_journey_is_stored_in_clear(world: World, user: Person, client_id: str) -> None:
    with_tokens(world, user, client_id)
    stored = json.dumps([*world.hub.store.scan("website")], default=str)

    for name in ("access-token", "refresh-token"):
        assert token(user, name).partition(".")[2] not in stored
    for name in ("authorization_code", "code_verifier"):
        found = re.search(rf"{name} (\S+)", user.text)
        assert found is not None
        assert found[1] not in stored


def test_the_latest_journeys_are_listed_the_newest_first(world: World, user: Person, client_id: str) -> None:
    for bic in ("ALPHGB21", "BETADEF1"):
        open_request(user, client_id, bic)
        run(user, client_id, scope=list(user.checked("scope")))
        world.clock.advance(60)
    user.get("/authorize")

    assert re.findall(r"<td>(Bank of version \d)</td>", user.last.text) == ["Bank of version 2", "Bank of version 1"]
    assert "at the bank" in user.text


def test_a_journey_is_forgotten_after_30_days(world: World, user: Person, client_id: str) -> None:
    state = with_tokens(world, user, client_id)
    world.clock.advance(30 * 24 * 3600)
    user.cookies = {"causeway_session": world.hub.sessions.begin("x@example.com").cookie}

    assert "tokens" not in user.get(f"/authorize/callback?state={state}").text.partition("<main")[2]


def test_a_bank_elsewhere_is_named_in_the_policy(world: World, user: Person, client_id: str) -> None:
    world.hub.banks.add(
        NewBank(
            bic="GAMMFRPP",
            name="Gamma",
            country="FR",
            api_version=1,
            domain="https://gamma.example",
            authorization_url="https://login.gamma.example/oauth?brand=1",
        )
    )
    try:
        open_request(user, client_id, "GAMMFRPP")
        assert (
            "form-action 'self' http://127.0.0.1:8000 https://login.gamma.example;"
            in user.last.headers["content-security-policy"]
        )
    finally:
        world.hub.banks.remove("GAMMFRPP")


def test_in_production_a_proof_key_is_needed(world: World, user: Person, client_id: str) -> None:
    open_request(user, client_id)
    world.hub.authorization_flow = replace(
        world.hub.authorization_flow, settings=replace(world.hub.settings, stage="prod")
    )
    vars(world.hub).pop("sandbox")
    run(user, client_id, pkce=None)

    assert "Code_challenge is required (PKCE)" in user.text
