"""Authorize: client and bank are chosen, and the request that is shown is the one that runs."""

from __future__ import annotations

import re
from urllib.parse import parse_qs, urlsplit

from chalicelib.openbanking.records.bank_record import NewBank
from tests.causeway import Causeway
from tests.website.authorization.journey import approve, open_request, run, shown_request
from tests.website.person import Person

# -- choosing


def test_a_user_without_a_client_gets_a_link_to_create_one(user: Person) -> None:
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


def test_the_shown_request_reflects_the_chosen_options(user: Person, client_id: str) -> None:
    open_request(user, client_id)
    draft = user.hidden("draft")
    user.get(f"/authorize?client_id={client_id}&bic=ALPHGB21&draft={draft}&scope=payment.init&consent_type=one_time")
    body = shown_request(user)

    assert (body["scopes"], body["consent_type"]) == (["payment.init"], "one_time")
    assert "code_challenge" not in body
    assert user.hidden("draft") == draft


def test_the_authorize_form_keeps_the_form_token_out_of_the_url(user: Person, client_id: str) -> None:
    """The form that updates the shown request uses GET: only the button that runs it carries the token."""
    open_request(user, client_id)

    assert re.findall(r"<(\w+)[^>]*name=\"form_token\"", user.last.text.partition("<main")[2]) == ["button"]


def test_the_latest_journeys_are_listed_newest_first(causeway: Causeway, user: Person, client_id: str) -> None:
    for bic in ("ALPHGB21", "BETADEF1"):
        open_request(user, client_id, bic)
        run(user, client_id, scope=list(user.checked("scope")))
        causeway.clock.advance(60)
    user.get("/authorize")

    assert re.findall(r">(Bank of version \d)</td>", user.last.text) == ["Bank of version 2", "Bank of version 1"]
    assert "at the bank" in user.text


# -- running


def test_the_executed_request_equals_the_shown_request(causeway: Causeway, user: Person, client_id: str) -> None:
    open_request(user, client_id)
    body = shown_request(user)
    sent = {
        name: values[0] for name, values in parse_qs(urlsplit(run(user, client_id, scope=body["scopes"])).query).items()
    }

    assert sent["state"] == body["state"]
    assert sent["code_challenge"] == body["code_challenge"]
    assert sent["scope"] == " ".join(body["scopes"])
    assert (sent["client_id"], sent["redirect_uri"]) == (client_id, body["redirect_uri"])


def test_the_shown_curl_command_works(causeway: Causeway, user: Person, client_id: str) -> None:
    open_request(user, client_id)
    body = shown_request(user)

    assert f"X-Api-Key: {client_id}" in user.text
    assert causeway.tpp.call("POST", "/tpp/authorize", body, client_id=client_id).status == 200


def test_a_quote_in_a_callback_url_is_escaped_in_the_curl_command(user: Person) -> None:
    client_id = user.create_client(callback_urls="https://tpp.example/'$(id)'")
    open_request(user, client_id)

    assert "https://tpp.example/'\\''$(id)'\\''" in user.text


def test_form_action_allows_only_the_bank_and_the_callback(user: Person) -> None:
    client_id = user.create_client(callback_urls="https://tpp.example/back")
    open_request(user, client_id)

    policy = user.last.headers["content-security-policy"]
    assert "form-action 'self' http://127.0.0.1:1 https://tpp.example;" in policy
    assert user.last.headers["referrer-policy"] == "same-origin"


def test_form_action_contains_the_authorization_url_of_the_bank(
    causeway: Causeway, user: Person, client_id: str
) -> None:
    causeway.hub.openbanking.banks.add(
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
        causeway.hub.openbanking.banks.remove("GAMMFRPP")


def test_a_rejected_request_shows_its_error_and_the_next_step(
    causeway: Causeway, user: Person, client_id: str, email: str
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
    assert causeway.hub.website.journeys.list_latest(email) == []


def test_production_requires_pkce(causeway: Causeway, user: Person, client_id: str) -> None:
    open_request(user, client_id)
    vars(causeway.hub.openbanking)["is_sandbox"] = False
    run(user, client_id, pkce=None)

    assert "code_challenge is required (PKCE)" in user.text


def test_a_second_click_redirects_to_the_same_authorization_url(user: Person, client_id: str) -> None:
    open_request(user, client_id)
    page = user.last
    first = run(user, client_id)
    user.last = page

    assert run(user, client_id) == first
    assert first.startswith("http://127.0.0.1:1/bank-1/authorize")


def test_a_finished_request_is_replaced_by_a_new_one(causeway: Causeway, user: Person, client_id: str) -> None:
    open_request(user, client_id)
    before, page = shown_request(user), user.last
    approve(causeway, run(user, client_id))
    user.last = page
    run(user, client_id)

    assert user.last.status == 400
    assert "has ended or expired" in user.text
    assert shown_request(user)["state"] != before["state"]
    assert run(user, client_id).startswith("http://127.0.0.1:1/bank-1/authorize")


def test_a_deactivated_client_cannot_run_a_request(causeway: Causeway, user: Person, client_id: str) -> None:
    open_request(user, client_id)
    causeway.hub.openbanking.clients.deactivate(client_id)
    run(user, client_id)

    assert "You have no active client" in user.text


def test_each_scope_lists_its_permitted_calls(user: Person, client_id: str) -> None:
    open_request(user, client_id, "BETADEF1")

    assert "accounts Account list and details: GET /tpp/accounts, GET /tpp/account " in user.text
    assert "payments.bulk Bulk payment initiation: POST /tpp/bulk_payment_initiation " in user.text
