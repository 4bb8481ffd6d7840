"""The callback page of an authorization: for the user's own and for other journeys, with and without tokens."""

import base64
import hashlib
import html
import re
from typing import Any
from urllib.parse import parse_qs, quote, urlsplit

import pytest

from chalicelib.openbanking.flows.consent.tokens import end_consent
from chalicelib.openbanking.protocol.tpp_calls import EndedBy
from chalicelib.website.authorization.web_tpp_flow import check_consent
from tests.causeway import Causeway
from tests.openbanking.key_holder import KeyHolder
from tests.openbanking.kit import IBAN
from tests.website.web_user import SCOPES, WebUser

CODE = f"{'0' * 22}.{'A' * 43}"


# -- with a journey of one's own


@pytest.mark.parametrize(("version", "bic", "scopes"), [(1, "ALPHGB21", SCOPES), (2, "BETADEF1", ["accounts"])])
@pytest.mark.parametrize("pkce", ["yes", None])
def test_a_callback_of_an_authorization_journey_of_the_user_returns_valid_tokens(
    causeway: Causeway, user: WebUser, client_id: str, version: int, bic: str, scopes: list[str], pkce: str | None
) -> None:
    user.open_request(client_id, bic)
    url = user.run_request(client_id, scope=scopes, pkce=pkce)
    if version == 1:
        back = user.approve(url)
    else:
        answer = causeway.banks[2].call("/consent", {"requestUrl": url, "scopes": scopes, "ibans": [IBAN]})
        back = str(answer.body["callbackUrl"]).removeprefix("http://127.0.0.1:8000")
    user.open_callback(back)

    assert user.last.headers["referrer-policy"] == "no-referrer"
    assert "You have tokens" in user.text
    assert "valid for 1 hour" in user.text
    assert parse_qs(urlsplit(back).query)["code"][0] in user.text
    consent = causeway.tpp.call("GET", "/tpp/consent", client_id=client_id, bearer=user.code("access-token"))
    assert consent.body["scopes"] == scopes


def test_the_displayed_code_verifier_matches_the_sent_code_challenge(user: WebUser, client_id: str) -> None:
    user.open_request(client_id)
    challenge = user.shown_request()["code_challenge"]
    user.open_callback(user.approve(user.run_request(client_id)))
    verifier = re.search(r'"code_verifier" ?: ?"(\S{43})"', user.text)

    assert verifier is not None
    hashed = hashlib.sha256(verifier[1].encode()).digest()
    assert base64.urlsafe_b64encode(hashed).rstrip(b"=").decode() == challenge


def test_the_callback_page_shows_the_received_callback_parameters(user: WebUser, client_id: str) -> None:
    back = user.request_consent(client_id)
    came = {name: values[0] for name, values in parse_qs(urlsplit(back).query).items()}
    user.open_callback(back)
    shown = user.last.text.partition("<h2>Callback parameters</h2>")[2].partition("</dl>")[0]
    rows = dict(re.findall(r'<dt>(\w+)</dt><dd class="mono">([^<]+)</dd>', shown))

    assert rows == {"authorization_code": came["code"], "state": came["state"], "iss": came["iss"]}


def test_the_token_page_links_to_the_consent(user: WebUser, client_id: str) -> None:
    user.get_tokens(client_id)
    consent_id = user.code("consent-id")
    assert f'<a href="/consents/{consent_id}">' in user.last.text

    assert user.get(f"/consents/{consent_id}").status == 200


def test_reloading_the_callback_page_exchanges_the_code_only_once(
    causeway: Causeway, user: WebUser, client_id: str
) -> None:
    back = user.request_consent(client_id)
    for _ in range(3):
        user.open_callback(back)

    assert "You have tokens" in user.text
    bearer = user.code("access-token")
    assert causeway.tpp.call("GET", "/tpp/consent", client_id=client_id, bearer=bearer).status == 200


def test_a_callback_from_another_issuer_is_displayed_without_an_exchange(user: WebUser, client_id: str) -> None:
    back = user.request_consent(client_id)
    user.get(re.sub(r"iss=[^&]+", "iss=https%3A%2F%2Fevil.example", back))

    assert "it is only displayed" in user.text
    user.open_callback(back)
    assert "You have tokens" in user.text


@pytest.mark.parametrize(
    ("error", "advice"),
    [
        ("access_denied", "approve every permission at the bank"),
        ("temporarily_unavailable", "Wait a minute"),
        ("something_else", "a new request uses a new state"),
    ],
)
def test_a_callback_with_an_error_shows_advice(user: WebUser, client_id: str, error: str, advice: str) -> None:
    user.open_request(client_id)
    state = user.shown_request()["state"]
    user.run_request(client_id)
    user.get(f"/authorize/callback?error={error}&error_description=%3Ci%3ENo&state={state}")
    user.follow()

    assert advice in user.text
    assert "<i>No." in user.text
    assert "<i>" not in user.last.text
    user.get("/authorize")
    assert "not approved" in user.text


def test_an_expired_authorization_code_shows_an_explanation(causeway: Causeway, user: WebUser, client_id: str) -> None:
    back = user.request_consent(client_id)
    causeway.clock.advance(causeway.hub.settings.code_lifetime)
    user.get(back)

    assert "The authorization code has expired." in user.text


def test_a_code_received_after_an_error_callback_is_exchanged(user: WebUser, client_id: str) -> None:
    """The PSU can open the cancel address in another tab after the approval."""
    user.open_request(client_id)
    state = user.shown_request()["state"]
    back = user.approve(user.run_request(client_id))
    user.get(f"/authorize/callback?error=access_denied&state={state}")
    user.follow()
    assert "No consent came of it" in user.text
    user.open_callback(back)

    assert "You have tokens" in user.text
    assert "without a consent" not in user.text


def test_an_error_callback_after_a_code_callback_does_not_delete_the_code(
    user: WebUser, secret_client: tuple[str, str]
) -> None:
    client_id, secret = secret_client
    state = user.get_code(client_id)
    user.get(f"/authorize/callback?error=access_denied&state={state}")
    user.follow()
    user.post("/authorize/callback", state=state, action="exchange", client_secret=secret)
    user.follow()

    assert "You have tokens" in user.text


def test_actions_on_a_journey_without_tokens_change_nothing(user: WebUser, client_id: str) -> None:
    user.open_request(client_id)
    state = user.shown_request()["state"]
    user.run_request(client_id)
    user.get(f"/authorize/callback?state={state}")
    for action in ("end", "refresh", "exchange"):
        assert user.post("/authorize/callback", state=state, action=action).status == 303
        user.follow()
        assert "under way" in user.text
        assert "Nothing was done: this authorization has moved on" in user.text
        assert 'class="toast plain"' in user.last.text


def test_ending_a_consent_requires_a_confirmation(causeway: Causeway, user: WebUser, client_id: str) -> None:
    state = user.get_tokens(client_id)
    bearer = user.code("access-token")
    link = f"/authorize/callback?state={state}&amp;ask=end"
    assert f'href="{link}"' in user.last.text
    assert 'value="end"' not in user.last.text

    user.get(html.unescape(link))
    assert "End this consent?" in user.text
    assert causeway.tpp.call("GET", "/tpp/consent", bearer=bearer, client_id=client_id).status == 200
    user.post("/authorize/callback", state=user.hidden("state"), action=user.hidden("action"))
    assert causeway.tpp.call("GET", "/tpp/consent", bearer=bearer, client_id=client_id).status == 401
    assert "End this consent?" not in user.get(html.unescape(link)).text


def test_the_confirmation_page_for_ending_a_consent_requires_the_client_secret(
    user: WebUser, secret_client: tuple[str, str]
) -> None:
    client_id, secret = secret_client
    state = user.get_code(client_id)
    user.post("/authorize/callback", state=state, action="exchange", client_secret=secret)
    user.get(f"/authorize/callback?state={state}&ask=end")

    assert 'name="client_secret" type="password"' in user.last.text
    user.post("/authorize/callback", state=state, action="end", client_secret=secret)
    user.follow()
    assert "The consent has ended" in user.text


def test_each_token_action_of_a_confidential_client_requires_its_secret(
    user: WebUser, secret_client: tuple[str, str]
) -> None:
    client_id, secret = secret_client
    state = user.get_code(client_id)
    assert "Enter the client's secret" in user.text

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


def test_journey_pages_are_not_cached_send_no_referrer_and_omit_the_client_secret(
    user: WebUser, secret_client: tuple[str, str]
) -> None:
    client_id, secret = secret_client
    state = user.get_code(client_id)
    seen = []
    for action in ("", "exchange", "refresh", "end"):
        for typed in ("not the secret", secret) if action else ():
            user.post("/authorize/callback", state=state, action=action, client_secret=typed)
            seen.append(user.last)
        queries = ("", "&ask=end", "&format=json")
        seen += [user.get(f"/authorize/callback?state={state}{query}") for query in queries]

    assert "The consent has ended" in user.get(f"/authorize/callback?state={state}").text
    assert len(seen) == 18
    for answer in seen:
        assert answer.headers["cache-control"] == "no-store"
        assert answer.headers["content-type"] == "application/json" or (
            answer.headers["referrer-policy"] == "no-referrer"
        )
        assert secret not in answer.text
        assert "not the secret" not in answer.text


@pytest.mark.parametrize(
    "security",
    [{"auth_method": "private_key_jwt", "jwks": KeyHolder().jwks}, {"dpop_bound_access_tokens": True}],
    ids=["a key", "bound tokens"],
)
def test_a_code_of_a_client_with_a_key_is_displayed_without_an_exchange(
    causeway: Causeway, user: WebUser, client_id: str, security: dict[str, Any]
) -> None:
    causeway.hub.openbanking.clients.update(client_id, security=security)

    user.open_callback(user.request_consent(client_id))

    assert "which only your application has" in user.text
    assert "Callback parameters" in user.text
    assert 'value="exchange"' not in user.text


def test_a_private_key_jwt_client_cannot_rotate_a_secret(causeway: Causeway, user: WebUser, client_id: str) -> None:
    causeway.hub.openbanking.clients.update(
        client_id, security={"auth_method": "private_key_jwt", "jwks": KeyHolder().jwks}
    )

    user.get(f"/clients/{client_id}/security")

    assert "private_key_jwt" in user.text
    assert 'value="rotate-secret"' not in user.last.text


def test_the_api_screens_are_prefilled_with_the_access_token_of_a_journey(user: WebUser, client_id: str) -> None:
    state = user.get_tokens(client_id)
    bearer = user.code("access-token")
    link = re.search(r'href="(/specifications/unified\?state=[^"]+)"', user.last.text)

    assert link is not None
    assert bearer in user.get(link[1]).text
    assert user.last.headers["referrer-policy"] == "no-referrer"
    assert bearer not in user.get("/specifications/unified").text
    assert state in link[1]


def test_balance_and_payment_links_lead_to_unified_calls(user: WebUser, client_id: str) -> None:
    state = user.get_tokens(client_id)

    assert f'href="/specifications/unified?state={state}&amp;show=balance">Show a balance' in user.last.text
    assert f'href="/specifications/unified?state={state}#unified_payments">Make a payment' in user.last.text


@pytest.mark.parametrize(
    ("by", "said"),
    [("bank", "The bank reported"), ("operator", "The operator ended it"), ("service", "was used twice")],
)
def test_the_callback_page_displays_that_another_party_has_ended_the_consent(
    causeway: Causeway, user: WebUser, client_id: str, email: str, by: EndedBy, said: str
) -> None:
    state = user.get_tokens(client_id)
    address = f"/authorize/callback?state={state}"
    live = re.search(r'data-live-check="([^"]+)"', user.last.text)
    assert live is not None
    assert user.get(html.unescape(live[1])).body == {"state": "tokens"}
    (journey,) = causeway.hub.website.journeys.list_latest(email)
    consent = causeway.hub.openbanking.consent_list.find(str(journey.consent_id))
    assert consent is not None
    causeway.hub.openbanking.call(end_consent, consent, by=by)

    assert user.get(html.unescape(live[1])).body == {"state": "ended"}
    user.get(address)
    assert "The consent has ended" in user.text
    assert said in user.text
    assert "data-live-check" not in user.last.text, "nothing changes any more"
    assert 'value="refresh"' not in user.last.text


def test_an_expired_consent_is_shown_as_ended(causeway: Causeway, user: WebUser, client_id: str, email: str) -> None:
    state = user.get_tokens(client_id)
    (journey,) = causeway.hub.website.journeys.list_latest(email)
    causeway.clock.advance(181 * 24 * 3600)

    assert causeway.hub.website.call(check_consent, journey).ended_by == "expired"
    assert state == journey.state


def test_the_journey_state_is_returned_only_to_its_user(causeway: Causeway, user: WebUser, client_id: str) -> None:
    state = user.get_tokens(client_id)
    address = f"/authorize/callback?state={state}&format=json"

    assert user.get(address).body == {"state": "tokens"}
    for other in (WebUser(causeway), WebUser.signed_in(causeway, "other@example.com")):
        assert (other.get(address).status, other.last.body) == (404, {"state": None})


def test_reading_the_journey_state_does_not_exchange_the_code(user: WebUser, client_id: str) -> None:
    back = user.request_consent(client_id)
    assert user.get(f"{back}&format=json").body == {"state": "begun"}
    user.open_callback(back)

    assert "You have tokens" in user.text


# -- as somebody else


@pytest.mark.parametrize("signed_in", [True, False])
def test_a_code_of_another_users_journey_is_displayed_without_an_exchange(
    causeway: Causeway, user: WebUser, client_id: str, signed_in: bool
) -> None:
    back = user.request_consent(client_id)
    other = WebUser.signed_in(causeway, "other@example.com") if signed_in else WebUser(causeway)
    answer = other.get(back)

    code = parse_qs(urlsplit(back).query)["code"][0]
    assert (answer.status, code in other.text) == (200, True)
    assert "it is only displayed" in other.text
    user.open_callback(back)
    assert "You have tokens" in user.text


def test_a_journey_of_another_user_returns_404(causeway: Causeway, user: WebUser, client_id: str) -> None:
    state = user.get_tokens(client_id)
    bearer = user.code("access-token")
    other = WebUser.signed_in(causeway, "other@example.com")

    assert other.get(f"/authorize/callback?state={state}").status == 200
    assert bearer not in other.last.text
    for action in ("exchange", "refresh", "end"):
        assert other.post("/authorize/callback", state=state, action=action).status == 404
    assert bearer not in other.get(f"/specifications/account?state={state}").text
    assert bearer in user.get(f"/specifications/account?state={state}").text


def test_the_callback_page_shows_code_state_and_the_token_command(visitor: WebUser) -> None:
    visitor.get(f"/authorize/callback?authorization_code={CODE}&state=my%20state")

    assert CODE in visitor.text
    assert "my state" in visitor.text
    assert "curl -s http://127.0.0.1:8000/tpp/token" in visitor.text


@pytest.mark.parametrize("code", ["'; rm -rf ~ #", "\"}'", "$(id)", "<script>", "short"])
def test_a_malformed_code_is_omitted_from_the_displayed_command(visitor: WebUser, code: str) -> None:
    text = visitor.get(f"/authorize/callback?code={quote(code)}").text

    assert "curl" not in text
    assert code not in text


def test_the_callback_page_shows_the_error_and_advice(visitor: WebUser) -> None:
    visitor.get("/authorize/callback?error=access_denied&error_description=%3Cb%3ENo")

    assert "without a consent" in visitor.text
    assert "“<b>No”" in visitor.text
    assert "approve every permission" in visitor.text
    assert "<b>" not in visitor.last.text
