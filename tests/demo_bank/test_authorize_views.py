"""Tests of the authorization pages of a demonstration bank."""

from typing import Any

import pytest
import requests

from chalicelib.demo_bank import journeys
from chalicelib.foundation import jsontext
from chalicelib.foundation.crypto import signatures
from chalicelib.foundation.identifiers import is_uuid
from tests.demo_bank.parties import BANK_PEMS, CALLBACK, Reply, query_of
from tests.demo_bank.single_bank import SingleBank

CUSTOMERS = {"one": "ada", "two": "lena"}
REFUSED = {"one": {"error_code": 4301, "message": "Parameter request_url not correct"}, "two": {"code": "FORMAT_ERROR"}}


def customer(bank: SingleBank) -> str:
    return CUSTOMERS[bank.profile.name]


def cancelled(bank: SingleBank, reply: Reply) -> str:
    assert reply.status == 303
    assert reply.location.startswith(f"{bank.settings.bank_api_url}/bank/cancel/cancel-secret?")
    assert query_of(reply.location)["error"] == "access_denied"
    return query_of(reply.location)["error_description"]


def policy(reply: Reply) -> dict[str, str]:
    directives = (directive.strip().partition(" ") for directive in reply.headers["content-security-policy"].split(";"))
    return {name: value for name, _, value in directives}


# -- arriving


def test_the_authorization_call_contains_the_request_url_and_is_signed(bank: SingleBank) -> None:
    bank.browser().arrive()
    path, body, headers = bank.hub.calls[0]
    version_2 = bank.profile.version == 2
    assert path == ("/bank/v2/init_authorization" if version_2 else "/bank/init_authorization")
    url = body["requestUrl" if version_2 else "request_url"]
    assert url.startswith(f"{bank.domain}/authorize?")
    assert query_of(url) == query_of(bank.request_url())
    assert headers["X-Api-Key"] == f"key-{bank.profile.name}"
    assert is_uuid(headers["X-Request-Id"])
    key = signatures.load_private_key(BANK_PEMS[bank.profile.name]).public_key()
    assert signatures.verify([key], jsontext.dumps(body).encode(), headers["X-Signature"])


def test_the_first_page_shows_the_client_and_describes_the_scopes(bank: SingleBank) -> None:
    page = bank.browser().arrive().page
    assert page.status == 200
    assert page.headers["content-type"] == "text/html; charset=utf-8"
    assert "Budget &lt;Friend&gt;" in page.text
    assert "<Friend>" not in page.text
    assert "SANDBOX-12345678" in page.text
    assert "See which accounts you have" in page.text


def test_the_first_page_without_an_authorization_request_returns_400_without_a_call(bank: SingleBank) -> None:
    page = bank.browser().open(f"{bank.domain}/authorize")
    assert page.status == 400
    assert not bank.hub.calls


def test_a_rejected_authorization_request_shows_the_error_code(bank: SingleBank) -> None:
    bank.hub.errors["/init_authorization"] = (400, REFUSED[bank.profile.name])
    page = bank.browser().arrive().page
    assert page.status == 400
    assert ("4301" if bank.profile.version == 1 else "FORMAT_ERROR") in page.text


@pytest.mark.parametrize("failure", [requests.ConnectionError("no"), (502, {}), (200, ["x"]), (200, {"scopes": 1})])
def test_an_unreachable_or_malformed_service_response_shows_a_502_page(bank: SingleBank, failure: Any) -> None:
    bank.hub.errors["/init_authorization"] = failure
    page = bank.browser().arrive().page
    assert page.status == 502
    assert "does not respond" in page.text


def test_a_bank_without_credentials_returns_503(bank: SingleBank) -> None:
    bank.secret = {}
    assert bank.browser().arrive().page.status == 503


# -- the whole way


def test_an_approval_sends_the_consent_to_the_service_and_redirects_to_the_callback(bank: SingleBank) -> None:
    browser = bank.browser().at_confirmation(customer(bank))
    reply = browser.confirm()
    assert (reply.status, reply.location) == (303, f"{CALLBACK}?code=the-code&state=xyz")
    ((path, body, _),) = bank.hub.received("/consent")
    if bank.profile.version == 1:
        assert path == "/bank/consent"
        assert set(body) == {"scopes", "request_url", "ibans", "account_ids", "account_numbers"}
        assert body["account_ids"] == ["1031926801", "1031926819", "1031926827"]
        assert body["account_numbers"][0] == "04000431926801"
    else:
        assert path == "/bank/v2/consent"
        assert set(body) == {"scopes", "requestUrl", "ibans", "accountIds"}
        assert len(body["accountIds"]) == 4
        assert len(body["ibans"]) == 2  # one is shared by two currencies, and the card has none
    assert body["scopes"] == bank.hub.scopes


def test_the_consent_contains_only_the_chosen_accounts(one: SingleBank) -> None:
    browser = one.browser().arrive()
    browser.sign_in("carys")
    offered = browser.offered()
    browser.submit("/choose", fields=[("account", offered[2]), ("account", "1031926801"), ("account", offered[0])])
    assert browser.confirm().status == 303
    ((_, body, _),) = one.hub.received("/consent")
    assert body["account_ids"] == [offered[0], offered[2]]


def test_a_consent_with_account_scopes_requires_a_chosen_account(bank: SingleBank) -> None:
    browser = bank.browser().arrive()
    browser.sign_in(customer(bank))
    page = browser.choose(0)
    assert "Please choose at least one account" in page.text
    assert page.url.partition("?")[0].endswith("/choose")


def test_a_consent_with_payment_scopes_requires_no_chosen_account(one: SingleBank) -> None:
    one.hub.scopes = ["payment.init"]
    browser = one.browser().arrive()
    browser.sign_in("ada")
    browser.choose(0)
    assert browser.confirm().status == 303
    ((_, body, _),) = one.hub.received("/consent")
    assert set(body) == {"scopes", "request_url"}


def test_too_many_wrong_passwords_cancel_the_authorization(bank: SingleBank) -> None:
    browser = bank.browser().arrive()
    for _ in range(journeys.SIGN_IN_ATTEMPTS - 1):
        assert "do not match" in browser.sign_in(customer(bank), "wrong").text
    assert cancelled(bank, browser.sign_in(customer(bank), "wrong")) == "The customer could not be authenticated"


def test_the_third_wrong_key_code_cancels_the_authorization(bank: SingleBank) -> None:
    browser = bank.browser().at_confirmation(customer(bank))
    wrong = "000000" if browser.key_code() != "000000" else "000001"
    assert "2 more tries" in browser.confirm(wrong, follow=True).text
    assert "one more try" in browser.confirm(wrong, follow=True).text
    right = browser.key_code()
    assert cancelled(bank, browser.confirm(wrong)) == "The key code was wrong three times"
    assert cancelled(bank, browser.confirm(right)) == "The key code was wrong three times"
    assert not bank.hub.received("/consent")


def test_choosing_accounts_again_does_not_reset_the_key_code_attempts(bank: SingleBank) -> None:
    browser = bank.browser().at_confirmation(customer(bank))
    browser.confirm("not it", follow=True)
    browser.open(browser.page.url.replace("/confirm", "/choose"))
    browser.choose(1)
    assert "one more try" in browser.confirm("not it", follow=True).text


def test_a_key_code_is_valid_only_for_the_chosen_accounts(bank: SingleBank) -> None:
    browser = bank.browser().at_confirmation(customer(bank), 2)
    stale = browser.page
    code = browser.key_code()
    browser.open(stale.url.replace("/confirm", "/choose"))
    browser.choose(1)
    assert browser.key_code() != code
    browser.page = stale
    assert "not the key code" in browser.confirm(code, follow=True).text
    assert not bank.hub.received("/consent")


@pytest.mark.parametrize("steps", [0, 1, 2])
def test_the_psu_can_refuse_on_every_page(bank: SingleBank, steps: int) -> None:
    browser = bank.browser().arrive()
    if steps > 0:
        browser.sign_in(customer(bank))
    if steps > 1:
        browser.choose(1)
    reply = browser.submit("/refuse")
    assert cancelled(bank, reply) == "The customer refused"
    assert browser.submit("/refuse").location == reply.location
    assert not bank.hub.received("/consent")


# -- for how long


def test_the_confirmation_page_shows_when_the_access_ends(bank: SingleBank) -> None:
    page = bank.browser().at_confirmation(customer(bank)).page

    assert "29 August 2026" in page.text
    assert "(180 days)" in page.text
    assert "For one payment only" not in page.text


def test_the_confirmation_page_of_a_one_time_consent_states_that_one_payment_is_allowed(bank: SingleBank) -> None:
    browser = bank.browser().arrive(consent_type="one_time")
    browser.sign_in(customer(bank))

    assert "For one payment only, to be made by then." in browser.choose(1).text


def test_the_confirmation_page_shows_the_changed_validity_days_of_consents(bank: SingleBank) -> None:
    """The operator can change the number of days for which a bank's consents are valid."""
    bank.hub.consent_days = 30
    first = bank.browser().at_confirmation(customer(bank))
    assert "(180 days)" in first.page.text
    first.confirm()

    assert "(30 days)" in bank.browser().at_confirmation(customer(bank)).page.text


# -- how the pages are kept


def test_the_content_security_policy_forbids_scripts_and_frames_and_limits_form_targets(bank: SingleBank) -> None:
    page = bank.browser().at_confirmation(customer(bank)).page
    rules = policy(page)
    assert rules["default-src"] == "'none'"
    assert rules["style-src"] == rules["img-src"] == "'self'"
    assert rules["frame-ancestors"] == rules["base-uri"] == "'none'"
    assert rules["form-action"] == f"'self' {bank.settings.bank_api_url} https://tpp.example"
    assert page.headers["cache-control"] == "no-store"
    assert page.headers["x-content-type-options"] == "nosniff"
    assert page.headers["referrer-policy"] == "same-origin"
    assert "<script" not in page.text
    assert "style=" not in page.text


@pytest.mark.parametrize("uri", ["https://a.example;script-src *", "https://a b", "javascript:alert(1)", "https://["])
def test_a_callback_url_cannot_change_the_content_security_policy(bank: SingleBank, uri: str) -> None:
    page = bank.browser().arrive(redirect_uri=uri).page
    assert page.status == 200
    assert policy(page)["form-action"] == f"'self' {bank.settings.bank_api_url}"
    assert set(policy(page)) == {
        "default-src", "style-src", "img-src", "form-action", "frame-ancestors", "base-uri"
    }  # fmt: skip


def test_the_bank_table_contains_no_secret_in_plain_text(bank: SingleBank) -> None:
    browser = bank.browser().at_confirmation(customer(bank))
    journey = query_of(browser.page.url)["journey"]
    code = browser.key_code()
    browser.confirm()
    dump = repr(list(bank.store.scan("demo-banks")))
    for secret in (bank.hub.token, "the-code", "cancel-secret", journey, code, *browser.cookies.values(), "sandbox-"):
        assert secret not in dump
