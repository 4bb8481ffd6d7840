"""Authorize: client and bank are chosen, and the request that is shown is the one that runs."""

from __future__ import annotations

import re
from urllib.parse import parse_qs, urlsplit

from chalicelib.openbanking.records.bank_record import NewBank
from tests.website.authorization.journey import approve, open_request, run, shown_request
from tests.website.person import Person
from tests.world import World

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
    assert "No bank matches" in user.get(f"/authorize?client_id={client_id}&bank=1+ALPH").text, "neither name nor BIC"
    user.get("/authorize?bank=%3Cnothing%3E")
    assert "No bank matches <nothing>" in user.text
    assert "<nothing>" not in user.last.text


def test_an_inactive_client_cannot_be_chosen(user: Person) -> None:
    client_id = user.create_client("Sleeping", active=None)

    assert "Sleeping" not in user.get("/authorize").text
    user.get(f"/authorize?client_id={client_id}&bic=ALPHGB21")
    assert "choose the client and the bank" in user.text


def test_the_scopes_of_the_chosen_bank_are_shown_with_their_meaning(user: Person, client_id: str) -> None:
    open_request(user, client_id, "BETADEF1")

    assert "accounts.transactions Transactions: GET /tpp/account_transactions" in user.text
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

    assert re.findall(r"<(\w+)[^>]*name=\"form_token\"", user.last.text.partition("<main")[2]) == ["button"]


def test_the_latest_journeys_are_listed_the_newest_first(world: World, user: Person, client_id: str) -> None:
    for bic in ("ALPHGB21", "BETADEF1"):
        open_request(user, client_id, bic)
        run(user, client_id, scope=list(user.checked("scope")))
        world.clock.advance(60)
    user.get("/authorize")

    assert re.findall(r">(Bank of version \d)</td>", user.last.text) == ["Bank of version 2", "Bank of version 1"]
    assert "at the bank" in user.text


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
    client_id = user.create_client(callback_urls="https://tpp.example/'$(id)'")
    open_request(user, client_id)

    assert "https://tpp.example/'\\''$(id)'\\''" in user.text


def test_the_page_may_lead_to_the_bank_and_to_the_callback_and_nowhere_else(user: Person) -> None:
    client_id = user.create_client(callback_urls="https://tpp.example/back")
    open_request(user, client_id)

    policy = user.last.headers["content-security-policy"]
    assert "form-action 'self' http://127.0.0.1:1 https://tpp.example;" in policy
    assert user.last.headers["referrer-policy"] == "same-origin"


def test_a_bank_elsewhere_is_named_in_the_policy(world: World, user: Person, client_id: str) -> None:
    world.hub.openbanking.banks.add(
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
        world.hub.openbanking.banks.remove("GAMMFRPP")


def test_a_request_that_is_refused_says_why_and_what_to_do(
    world: World, user: Person, client_id: str, email: str
) -> None:
    open_request(user, client_id)
    for changes, said in (
        ({"scope": []}, "Scopes must not be empty"),
        ({"consent_type": "one_time"}, "is allowed with payment scopes only"),
        ({"scope": ["accounts"]}, "does not provide"),
        ({"consent_type": "<b>"}, "Change the request, and run it again"),
    ):
        run(user, client_id, **changes)
        assert user.last.status == 400
        assert said in user.text
    assert world.hub.website.journeys.list_latest(email) == []


def test_in_production_a_proof_key_is_needed(world: World, user: Person, client_id: str) -> None:
    open_request(user, client_id)
    vars(world.hub.openbanking)["is_sandbox"] = False
    run(user, client_id, pkce=None)

    assert "code_challenge is required (PKCE)" in user.text


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
    world.hub.openbanking.clients.deactivate(client_id)
    run(user, client_id)

    assert "You have no active client" in user.text


def test_each_scope_names_the_calls_that_it_allows(user: Person, client_id: str) -> None:
    open_request(user, client_id, "BETADEF1")

    assert "accounts Account list and details: GET /tpp/accounts, GET /tpp/account " in user.text
    assert "payments.bulk Bulk payment initiation: POST /tpp/bulk_payment_initiation " in user.text
