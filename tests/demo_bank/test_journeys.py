"""A PSU can complete an authorization only once, before it expires, and only in the browser that started it."""

import re

import pytest
import requests

from chalicelib.demo_bank import journeys
from tests.demo_bank.parties import CALLBACK, Browser, Reply
from tests.demo_bank.single_bank import SingleBank

CUSTOMERS = {"one": "ada", "two": "lena"}


def customer(bank: SingleBank) -> str:
    return CUSTOMERS[bank.profile.name]


# -- once, and once only


def test_a_duplicate_submission_redirects_to_the_same_callback(bank: SingleBank) -> None:
    browser = bank.browser().at_confirmation(customer(bank))
    first, second = browser.confirm(), browser.confirm()
    assert first.location == second.location
    assert browser.submit("/refuse").location == first.location
    assert len(bank.hub.received("/consent")) == 1


def test_concurrent_submissions_send_one_consent(bank: SingleBank) -> None:
    browser = bank.browser().at_confirmation(customer(bank))
    meanwhile: list[Reply] = []

    def again() -> None:
        impatient = Browser(bank)
        impatient.cookies, impatient.page = dict(browser.cookies), browser.page
        meanwhile.append(impatient.confirm(follow=True))
        refused = Browser(bank)
        refused.cookies, refused.page = dict(browser.cookies), browser.page
        meanwhile.append(refused.submit("/refuse"))

    bank.hub.during_consent = again
    done = browser.confirm()
    assert done.status == 303
    assert all("One moment" in reply.text for reply in meanwhile)
    assert len(bank.hub.received("/consent")) == 1
    refresh = re.search(r'http-equiv="refresh" content="2; url=([^"]+)"', meanwhile[0].text)
    assert refresh
    assert browser.open(refresh[1].replace("&amp;", "&")).location == done.location


def test_reopening_a_finished_authorization_does_not_send_the_authorization_code_again(bank: SingleBank) -> None:
    browser = bank.browser().at_confirmation(customer(bank))
    address = browser.page.url
    location = browser.confirm().location
    for place in ("/confirm", "/choose", "/sign-in"):
        page = browser.open(address.replace("/confirm", place))
        assert page.status == 200
        assert "You approved this request" in page.text
        assert location.replace("&", "&amp;") in page.text
        assert page.headers["referrer-policy"] == "no-referrer"


def test_a_retry_after_a_lost_response_sends_the_same_consent_and_request_id(bank: SingleBank) -> None:
    bank.hub.errors["/consent"] = requests.ConnectionError("dropped")
    browser = bank.browser().at_confirmation(customer(bank))
    page = browser.confirm()
    assert page.status == 502
    assert "Trying again is safe" in page.text
    del bank.hub.errors["/consent"]
    assert browser.submit("/confirm", follow=False).location.startswith(CALLBACK)
    (_, body, headers), (_, second_body, second_headers) = bank.hub.received("/consent")
    assert body == second_body
    assert headers["X-Request-Id"] == second_headers["X-Request-Id"]


def test_an_interrupted_consent_submission_can_be_retried_after_a_delay(
    bank: SingleBank, monkeypatch: pytest.MonkeyPatch
) -> None:
    browser = bank.browser().at_confirmation(customer(bank))
    address = browser.page.url
    with monkeypatch.context() as patch:
        patch.setattr(type(bank.store), "transact", lambda *_: 1 / 0)
        assert browser.confirm().status == 500
    assert "One moment" in browser.open(address).text
    bank.clock.advance(journeys.CLAIM_SECONDS)
    assert "Trying again is safe" in browser.open(address).text
    assert browser.submit("/confirm", follow=False).location.startswith(CALLBACK)
    (_, _, first), (_, _, second) = bank.hub.received("/consent")
    assert first["X-Request-Id"] == second["X-Request-Id"]


def test_a_rejected_consent_shows_the_error_and_a_cancel_link(bank: SingleBank) -> None:
    error = (
        {"error_code": 4301, "message": "expired"}
        if bank.profile.version == 1
        else {
            "code": "FORMAT_ERROR",
            "title": "no",
            "additionalErrors": [{"code": "AUTHORIZATION_REQUEST_URL_NOT_VALID", "details": "expired"}],
        }
    )
    bank.hub.errors["/consent"] = (400, error)
    browser = bank.browser().at_confirmation(customer(bank))
    address = browser.page.url
    for page in (browser.confirm(), browser.open(address)):
        assert page.status == 400
        assert ("4301" if bank.profile.version == 1 else "AUTHORIZATION_REQUEST_URL_NOT_VALID") in page.text
        assert "/bank/cancel/cancel-secret" in page.text
    assert len(bank.hub.received("/consent")) == 1


# -- whose journey


def test_an_authorization_is_valid_only_in_the_browser_that_started_the_authorization(bank: SingleBank) -> None:
    browser = bank.browser().at_confirmation(customer(bank))
    thief = bank.browser()
    thief.page = browser.page
    assert thief.confirm().status == 404
    thief.arrive()
    thief.page = browser.page
    assert thief.confirm().status == 404
    assert thief.open(browser.page.url).status == 404
    assert not bank.hub.received("/consent")
    assert browser.confirm().status == 303


def test_two_authorizations_in_one_browser_are_independent(bank: SingleBank) -> None:
    browser = bank.browser().at_confirmation(customer(bank), 1)
    first = browser.page
    browser.at_confirmation(customer(bank), 2)
    assert browser.confirm().status == 303
    browser.page = first
    assert browser.confirm().status == 303


def test_an_authorization_expires_after_30_minutes(bank: SingleBank) -> None:
    browser = bank.browser().at_confirmation(customer(bank))
    bank.clock.advance(journeys.LIFETIME)
    page = browser.confirm()
    assert page.status == 404
    assert "This session is over" in page.text


def test_an_authorization_page_shows_that_the_session_is_over_if_the_storage_key_was_lost(bank: SingleBank) -> None:
    browser = bank.browser().at_confirmation(customer(bank))
    bank.secret[bank.profile.name]["storage_key"] = "cd" * 32
    bank.clock.advance(61)
    assert "This session is over" in browser.confirm().text


def test_a_form_submitted_from_another_site_returns_403(bank: SingleBank) -> None:
    for site in ("cross-site", "same-site"):
        reply = bank.call("POST", f"{bank.domain}/refuse", b"journey=x", {"sec-fetch-site": site})
        assert reply.status == 403


def test_the_authorization_cookie_is_httponly_and_samesite_lax(bank: SingleBank) -> None:
    reply = bank.call("GET", bank.request_url())
    cookie = reply.headers["set-cookie"]
    assert f"Path=/demo-bank/{bank.profile.name};" in cookie
    assert "HttpOnly" in cookie
    assert "SameSite=Lax" in cookie
    assert "Secure" not in cookie


@pytest.mark.parametrize("body", [b"\xff\xfe", b"journey=%ff", b"a=1&" * 300, b"x" * 100_000, b""])
def test_a_malformed_form_returns_404(bank: SingleBank, body: bytes) -> None:
    for place in ("/sign-in", "/choose", "/confirm", "/refuse"):
        assert bank.call("POST", bank.domain + place, body).status == 404


def test_a_step_of_the_authorization_cannot_be_skipped(bank: SingleBank) -> None:
    browser = bank.browser().arrive()
    address = browser.page.url
    for place in ("/choose", "/confirm"):
        assert browser.open(address.replace("/sign-in", place)).url == address
