"""The authorize page: the choice of client and bank, and the displayed request, which is sent unchanged."""

import re
from urllib.parse import parse_qs, urlsplit

import pytest

from chalicelib.openbanking.protocol.unified_scopes import UNIFIED_SCOPES
from chalicelib.openbanking.records.bank_record import NewBank
from tests.causeway import Causeway
from tests.website.web_user import WebUser

# -- choosing


def test_a_user_without_a_client_sees_a_link_to_create_a_client(user: WebUser) -> None:
    user.get("/authorize")

    assert "You have no active client" in user.text
    assert 'href="/clients/new"' in user.last.text


def test_the_authorize_page_finds_a_bank_by_its_name_and_by_its_bic(user: WebUser, client_id: str) -> None:
    for wanted, there, not_there in (("version 2", "BETADEF1", "ALPHGB21"), ("alph", "ALPHGB21", "BETADEF1")):
        text = user.get(f"/authorize?client_id={client_id}&bank={wanted.replace(' ', '+')}").text
        assert there in text
        assert not_there not in text
    assert "No bank matches" in user.get(f"/authorize?client_id={client_id}&bank=1+ALPH").text, "neither name nor BIC"
    user.get("/authorize?bank=%3Cnothing%3E")
    assert "No bank matches <nothing>" in user.text
    assert "<nothing>" not in user.last.text


def test_an_inactive_client_cannot_be_chosen(user: WebUser) -> None:
    client_id = user.create_client("Sleeping", active=None)

    assert "Sleeping" not in user.get("/authorize").text
    user.get(f"/authorize?client_id={client_id}&bic=ALPHGB21")
    assert "choose the client and the bank" in user.text


def test_the_scopes_of_the_chosen_bank_are_shown_with_descriptions(user: WebUser, client_id: str) -> None:
    user.open_request(client_id, "BETADEF1", scopes="native")

    assert "accounts.transactions Transactions: GET /tpp/account_transactions" in user.text
    assert "account.list" not in user.text
    assert set(user.checked("scope")) == set(user.shown_request()["scopes"])
    assert user.checked("pkce") == ["yes"]


@pytest.mark.parametrize("bic", ["ALPHGB21", "BETADEF1"])
def test_the_page_first_shows_the_unified_scopes_of_the_bank(user: WebUser, client_id: str, bic: str) -> None:
    user.open_request(client_id, bic)

    assert user.checked("scope") == user.shown_request()["scopes"] == list(UNIFIED_SCOPES)
    assert 'href="/authorize?client_id=' in user.last.text.partition('aria-label="Scopes"')[2]


def test_a_bank_without_unified_scopes_has_only_its_own(causeway: Causeway, user: WebUser, client_id: str) -> None:
    causeway.hub.openbanking.banks.add(
        NewBank(
            bic="DELTFRPP",
            name="Delta",
            country="FR",
            api_version=1,
            domain="https://delta.example",
            authorization_url="https://delta.example/oauth",
            scopes=["account.list"],
        )
    )
    try:
        user.open_request(client_id, "DELTFRPP")
    finally:
        causeway.hub.openbanking.banks.remove("DELTFRPP")

    assert user.checked("scope") == ["account.list"]
    assert 'aria-label="Scopes"' not in user.last.text


def test_the_bank_gets_the_native_scopes_of_a_request_with_unified_scopes(
    causeway: Causeway, user: WebUser, client_id: str, email: str
) -> None:
    user.open_request(client_id)
    sent = user.run_request(client_id, scope=["accounts:read", "payments:write"])

    assert parse_qs(urlsplit(sent).query)["scope"] == ["account.list account.details payment.init"]
    (journey,) = causeway.hub.website.journeys.list_latest(email)
    assert journey.scopes == ("accounts:read", "payments:write")


def test_the_displayed_request_contains_the_chosen_options(user: WebUser, client_id: str) -> None:
    user.open_request(client_id)
    draft = user.hidden("draft")
    user.get(f"/authorize?client_id={client_id}&bic=ALPHGB21&draft={draft}&scope=payment.init&consent_type=one_time")
    body = user.shown_request()

    assert (body["scopes"], body["consent_type"]) == (["payment.init"], "one_time")
    assert "code_challenge" not in body
    assert user.hidden("draft") == draft


def test_the_authorize_form_does_not_put_the_form_token_into_the_url(user: WebUser, client_id: str) -> None:
    """The form that updates the displayed request uses GET. Only the form that sends the request has the token."""
    user.open_request(client_id)

    assert re.findall(r"<(\w+)[^>]*name=\"form_token\"", user.last.text.partition("<main")[2]) == ["button"]


def test_the_authorize_page_lists_the_latest_authorization_journeys_newest_first(
    causeway: Causeway, user: WebUser, client_id: str
) -> None:
    for bic in ("ALPHGB21", "BETADEF1"):
        user.open_request(client_id, bic)
        user.run_request(client_id, scope=list(user.checked("scope")))
        causeway.clock.advance(60)
    user.get("/authorize")

    assert re.findall(r">(Bank of version \d)</td>", user.last.text) == ["Bank of version 2", "Bank of version 1"]
    assert "at the bank" in user.text


# -- running


def test_the_sent_request_equals_the_displayed_request(user: WebUser, client_id: str) -> None:
    user.open_request(client_id, scopes="native")
    body = user.shown_request()
    sent = {
        name: values[0]
        for name, values in parse_qs(urlsplit(user.run_request(client_id, scope=body["scopes"])).query).items()
    }

    assert sent["state"] == body["state"]
    assert sent["code_challenge"] == body["code_challenge"]
    assert sent["scope"] == " ".join(body["scopes"])
    assert (sent["client_id"], sent["redirect_uri"]) == (client_id, body["redirect_uri"])


def test_the_displayed_curl_command_sends_a_valid_request(causeway: Causeway, user: WebUser, client_id: str) -> None:
    user.open_request(client_id)
    body = user.shown_request()

    assert f"X-Api-Key: {client_id}" in user.text
    assert causeway.tpp.call("POST", "/tpp/authorize", body, client_id=client_id).status == 200


def test_a_quote_in_a_callback_url_is_escaped_in_the_curl_command(user: WebUser) -> None:
    client_id = user.create_client(callback_urls="https://tpp.example/'$(id)'")
    user.open_request(client_id)

    assert "https://tpp.example/'\\''$(id)'\\''" in user.text


def test_the_csp_directive_form_action_permits_only_the_bank_and_the_callback_url(user: WebUser) -> None:
    client_id = user.create_client(callback_urls="https://tpp.example/back")
    user.open_request(client_id)

    policy = user.last.headers["content-security-policy"]
    assert "form-action 'self' http://127.0.0.1:1 https://tpp.example;" in policy
    assert user.last.headers["referrer-policy"] == "same-origin"


def test_the_csp_directive_form_action_contains_the_authorization_url_of_the_bank(
    causeway: Causeway, user: WebUser, client_id: str
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
        user.open_request(client_id, "GAMMFRPP")
        assert (
            "form-action 'self' http://127.0.0.1:8000 https://login.gamma.example;"
            in user.last.headers["content-security-policy"]
        )
    finally:
        causeway.hub.openbanking.banks.remove("GAMMFRPP")


def test_a_rejected_request_shows_its_error_and_the_next_step(
    causeway: Causeway, user: WebUser, client_id: str, email: str
) -> None:
    user.open_request(client_id)
    for changes, said in (
        ({"scope": []}, "Scopes must not be empty"),
        ({"consent_type": "one_time"}, "is allowed with payment scopes only"),
        ({"scope": ["accounts"]}, "does not provide"),
        ({"consent_type": "<b>"}, "Change the request, and run it again"),
    ):
        user.run_request(client_id, **changes)
        assert user.last.status == 400
        assert said in user.text
    assert causeway.hub.website.journeys.list_latest(email) == []


def test_an_authorization_request_in_production_requires_pkce(
    causeway: Causeway, user: WebUser, client_id: str
) -> None:
    user.open_request(client_id)
    vars(causeway.hub.openbanking)["is_sandbox"] = False
    user.run_request(client_id, pkce=None)

    assert "code_challenge is required (PKCE)" in user.text


def test_a_repeated_click_redirects_to_the_same_authorization_url(user: WebUser, client_id: str) -> None:
    user.open_request(client_id)
    page = user.last
    first = user.run_request(client_id)
    user.last = page

    assert user.run_request(client_id) == first
    assert first.startswith("http://127.0.0.1:1/bank-1/authorize")


def test_a_finished_authorization_request_is_replaced_by_a_new_request(user: WebUser, client_id: str) -> None:
    user.open_request(client_id)
    before, page = user.shown_request(), user.last
    user.approve(user.run_request(client_id))
    user.last = page
    user.run_request(client_id)

    assert user.last.status == 400
    assert "has ended or expired" in user.text
    assert user.shown_request()["state"] != before["state"]
    assert user.run_request(client_id).startswith("http://127.0.0.1:1/bank-1/authorize")


def test_a_deactivated_client_cannot_send_a_request(causeway: Causeway, user: WebUser, client_id: str) -> None:
    user.open_request(client_id)
    causeway.hub.openbanking.clients.deactivate(client_id)
    user.run_request(client_id)

    assert "You have no active client" in user.text


def test_each_scope_lists_its_permitted_calls(user: WebUser, client_id: str) -> None:
    user.open_request(client_id, "BETADEF1")
    assert (
        "accounts:read Account list and details: GET /tpp/unified/accounts, GET /tpp/unified/account balances:read"
        in user.text
    )
    assert "bulk_payments:write Bulk payment initiation: POST /tpp/unified/bulk_payments " in user.text
    user.open_request(client_id, "BETADEF1", scopes="native")

    assert "accounts Account list and details: GET /tpp/accounts, GET /tpp/account " in user.text
    assert "payments.bulk Bulk payment initiation: POST /tpp/bulk_payment_initiation " in user.text
