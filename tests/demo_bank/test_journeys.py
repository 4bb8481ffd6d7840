"""A PSU's journey is taken once, by the browser that began it, and within its time."""

from __future__ import annotations

import re

import pytest
import requests

from chalicelib.demo_bank import journeys
from tests.demo_bank.stage import CALLBACK, Browser, Reply, Stage

CUSTOMERS = {"one": "ada", "two": "lena"}


def customer(stage: Stage) -> str:
    return CUSTOMERS[stage.profile.name]


# -- once, and once only


def test_a_second_submission_redirects_to_the_same_callback(stage: Stage) -> None:
    browser = stage.browser().at_confirmation(customer(stage))
    first, second = browser.confirm(), browser.confirm()
    assert first.location == second.location
    assert browser.submit("/refuse").location == first.location
    assert len(stage.hub.named("/consent")) == 1


def test_a_concurrent_submission_waits_and_one_consent_is_sent(stage: Stage) -> None:
    browser = stage.browser().at_confirmation(customer(stage))
    meanwhile: list[Reply] = []

    def again() -> None:
        impatient = Browser(stage)
        impatient.cookies, impatient.page = dict(browser.cookies), browser.page
        meanwhile.append(impatient.confirm(follow=True))
        refused = Browser(stage)
        refused.cookies, refused.page = dict(browser.cookies), browser.page
        meanwhile.append(refused.submit("/refuse"))

    stage.hub.during_consent = again
    done = browser.confirm()
    assert done.status == 303
    assert all("One moment" in reply.text for reply in meanwhile)
    assert len(stage.hub.named("/consent")) == 1
    refresh = re.search(r'http-equiv="refresh" content="2; url=([^"]+)"', meanwhile[0].text)
    assert refresh
    assert browser.open(refresh[1].replace("&amp;", "&")).location == done.location


def test_revisiting_a_finished_journey_does_not_send_the_code_again(stage: Stage) -> None:
    browser = stage.browser().at_confirmation(customer(stage))
    address = browser.page.url
    location = browser.confirm().location
    for place in ("/confirm", "/choose", "/sign-in"):
        page = browser.open(address.replace("/confirm", place))
        assert page.status == 200
        assert "You approved this request" in page.text
        assert location.replace("&", "&amp;") in page.text
        assert page.headers["referrer-policy"] == "no-referrer"


def test_a_retry_after_a_lost_answer_sends_the_same_consent_and_request_id(stage: Stage) -> None:
    stage.hub.errors["/consent"] = requests.ConnectionError("dropped")
    browser = stage.browser().at_confirmation(customer(stage))
    page = browser.confirm()
    assert page.status == 502
    assert "Trying again is safe" in page.text
    del stage.hub.errors["/consent"]
    assert browser.submit("/confirm", follow=False).location.startswith(CALLBACK)
    (_, body, headers), (_, second_body, second_headers) = stage.hub.named("/consent")
    assert body == second_body
    assert headers["X-Request-Id"] == second_headers["X-Request-Id"]


def test_an_interrupted_submission_can_be_repeated_after_a_delay(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    browser = stage.browser().at_confirmation(customer(stage))
    address = browser.page.url
    with monkeypatch.context() as patch:
        patch.setattr(type(stage.store), "transact", lambda *_: 1 / 0)
        assert browser.confirm().status == 500
    assert "One moment" in browser.open(address).text
    stage.clock.advance(journeys.CLAIM_SECONDS)
    assert "Trying again is safe" in browser.open(address).text
    assert browser.submit("/confirm", follow=False).location.startswith(CALLBACK)
    (_, _, first), (_, _, second) = stage.hub.named("/consent")
    assert first["X-Request-Id"] == second["X-Request-Id"]


def test_a_rejected_consent_shows_the_error_and_a_link_back(stage: Stage) -> None:
    error = (
        {"error_code": 4301, "message": "expired"}
        if stage.profile.version == 1
        else {
            "code": "FORMAT_ERROR",
            "title": "no",
            "additionalErrors": [{"code": "AUTHORIZATION_REQUEST_URL_NOT_VALID", "details": "expired"}],
        }
    )
    stage.hub.errors["/consent"] = (400, error)
    browser = stage.browser().at_confirmation(customer(stage))
    address = browser.page.url
    for page in (browser.confirm(), browser.open(address)):
        assert page.status == 400
        assert ("4301" if stage.profile.version == 1 else "AUTHORIZATION_REQUEST_URL_NOT_VALID") in page.text
        assert "/bank/cancel/cancel-secret" in page.text
    assert len(stage.hub.named("/consent")) == 1


# -- whose journey


def test_a_journey_is_valid_in_its_own_browser_only(stage: Stage) -> None:
    browser = stage.browser().at_confirmation(customer(stage))
    thief = stage.browser()
    thief.page = browser.page
    assert thief.confirm().status == 404
    thief.arrive()
    thief.page = browser.page
    assert thief.confirm().status == 404
    assert thief.open(browser.page.url).status == 404
    assert not stage.hub.named("/consent")
    assert browser.confirm().status == 303


def test_two_journeys_in_one_browser_are_independent(stage: Stage) -> None:
    browser = stage.browser().at_confirmation(customer(stage), 1)
    first = browser.page
    browser.at_confirmation(customer(stage), 2)
    assert browser.confirm().status == 303
    browser.page = first
    assert browser.confirm().status == 303


def test_a_journey_expires_after_half_an_hour(stage: Stage) -> None:
    browser = stage.browser().at_confirmation(customer(stage))
    stage.clock.advance(journeys.LIFETIME)
    page = browser.confirm()
    assert page.status == 404
    assert "This session is over" in page.text


def test_a_journey_with_a_lost_storage_key_is_over(stage: Stage) -> None:
    browser = stage.browser().at_confirmation(customer(stage))
    stage.secret[stage.profile.name]["storage_key"] = "cd" * 32
    stage.clock.advance(61)
    assert "This session is over" in browser.confirm().text


def test_a_form_of_another_site_returns_403(stage: Stage) -> None:
    for site in ("cross-site", "same-site"):
        reply = stage.call("POST", f"{stage.domain}/refuse", b"journey=x", {"sec-fetch-site": site})
        assert reply.status == 403


def test_the_journey_cookie_is_httponly_and_samesite_lax(stage: Stage) -> None:
    reply = stage.call("GET", stage.request_url())
    cookie = reply.headers["set-cookie"]
    assert f"Path=/demo-bank/{stage.profile.name};" in cookie
    assert "HttpOnly" in cookie
    assert "SameSite=Lax" in cookie
    assert "Secure" not in cookie


@pytest.mark.parametrize("body", [b"\xff\xfe", b"journey=%ff", b"a=1&" * 300, b"x" * 100_000, b""])
def test_a_malformed_form_returns_404(stage: Stage, body: bytes) -> None:
    for place in ("/sign-in", "/choose", "/confirm", "/refuse"):
        assert stage.call("POST", stage.domain + place, body).status == 404


def test_a_step_of_the_journey_cannot_be_skipped(stage: Stage) -> None:
    browser = stage.browser().arrive()
    address = browser.page.url
    for place in ("/choose", "/confirm"):
        assert browser.open(address.replace("/sign-in", place)).url == address
