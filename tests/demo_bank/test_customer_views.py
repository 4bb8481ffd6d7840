"""The front page, and the pages where customers see and end their consents, and see their accounts and payments."""

from __future__ import annotations

import re
from typing import Any
from urllib.parse import unquote, urlencode, urljoin

import pytest
import requests

from chalicelib.demo_bank import customer_views
from chalicelib.demo_bank.pages import money
from tests.demo_bank.paying import CUSTOMER, OTHER, SLOW, account, balances, pay, token
from tests.demo_bank.stage import Browser, Reply, Stage

CUSTOMERS = {"one": ("ada", "bilal"), "two": ("lena", "sofia")}
ACCOUNTS = {"one": "/accounts", "two": "/v2_accounts"}
UNKNOWN = {"one": (401, {"error_code": 4202, "message": "no"}), "two": (404, {"code": "RESOURCE_UNKNOWN"})}


def signed_in(stage: Stage, customer: str = "") -> Browser:
    browser = stage.browser()
    browser.open(f"{stage.domain}/consents")
    customer = customer or CUSTOMERS[stage.profile.name][0]
    browser.submit("/consents", fields=[("username", customer), ("password", f"sandbox-{customer}")])
    return browser


def approved(stage: Stage, customer: str = "") -> str:
    return stage.approve(customer or CUSTOMERS[stage.profile.name][0])


def works(stage: Stage, token: str) -> bool:
    return stage.webhook(ACCOUNTS[stage.profile.name], token=token).status == 200


def record(page: Reply) -> str:
    """The newest consent that is in force, as the page names it."""
    found = re.search(r'/consents\?revoke=([^"]+)"', page.text)
    assert found is not None
    return unquote(found[1])


def revoke(browser: Browser) -> Reply:
    """End the newest consent: the page asks first."""
    browser.open(f"{browser.stage.domain}/consents?{urlencode({'revoke': record(browser.page)})}")
    assert "Revoke this consent?" in browser.page.text
    return browser.submit("/consents/revoke")


def test_the_front_page_identifies_the_bank_as_a_sandbox(stage: Stage) -> None:
    for url in (stage.domain, f"{stage.domain}/"):
        page = stage.call("GET", url)
        assert page.status == 200
        assert "sandbox bank" in page.text
        assert stage.profile.title in page.text


def test_each_bank_serves_immutable_styles_and_a_logo_of_its_own(stage: Stage) -> None:
    name, page = stage.profile.name, stage.call("GET", stage.domain).text
    files = re.findall(r'(?:href|src)="([^"]+/static/([^."]+)\.[0-9a-f]{12}\.(css|svg))"', page)
    assert {(stem, kind) for _, stem, kind in files} == {
        ("family", "css"), ("bank", "css"), (name, "css"), (name, "svg")
    }  # fmt: skip
    for path, _, kind in files:
        reply = stage.call("GET", urljoin(stage.domain, path))
        assert reply.status == 200
        assert reply.headers["content-type"].startswith({"css": "text/css", "svg": "image/svg+xml"}[kind])
        assert "immutable" in reply.headers["cache-control"]


@pytest.mark.parametrize("file", ["one.css", "none.css", "..", "%2e%2e%2fpages.py", "pages.py"])
def test_the_static_folder_serves_no_other_file(stage: Stage, file: str) -> None:
    assert stage.call("GET", f"{stage.domain}/static/{file}").status == 404


def test_an_unknown_page_returns_404(stage: Stage) -> None:
    assert stage.call("GET", f"{stage.domain}/nowhere").status == 404


def test_a_customer_sees_only_their_own_consents(stage: Stage) -> None:
    mine, theirs = CUSTOMERS[stage.profile.name]
    approved(stage, mine)
    page = signed_in(stage, mine).page
    assert "Budget &lt;Friend&gt;" in page.text
    assert "2 March 2026" in page.text
    assert "29 August 2026" in page.text
    assert "Budget" not in signed_in(stage, theirs).page.text


def last_used(page: Reply) -> str:
    """What a page says of the newest consent's last use."""
    found = re.search(r"<dt>Last used</dt><dd>([^<]*)</dd>", page.text)
    assert found is not None
    return found[1]


def test_a_consent_shows_its_expiry_and_the_day_of_its_last_use(stage: Stage) -> None:
    token = approved(stage)
    assert last_used(signed_in(stage).page).startswith("No use")
    for days, day in ((0, "2 March 2026"), (3, "5 March 2026")):
        stage.clock.advance(days * 86400)
        assert works(stage, token)
        browser = signed_in(stage)
        assert "<dt>Valid until</dt><dd>29 August 2026</dd>" in browser.page.text
        assert last_used(browser.page) == day
        asked = browser.open(f"{stage.domain}/consents?{urlencode({'revoke': record(browser.page)})}")
        assert last_used(asked) == day


def test_a_rejected_call_does_not_count_as_use_of_a_consent(stage: Stage) -> None:
    token = approved(stage)
    assert stage.webhook(ACCOUNTS[stage.profile.name], token=f"{token}x").status in (401, 404)
    assert last_used(signed_in(stage).page).startswith("No use")


def test_a_wrong_password_does_not_sign_in(stage: Stage) -> None:
    browser = stage.browser()
    browser.open(f"{stage.domain}/consents")
    page = browser.submit("/consents", fields=[("username", "ada"), ("password", "wrong")])
    assert "do not match" in page.text
    assert not browser.cookies


def test_revoking_a_consent_notifies_the_service_and_ends_the_token(stage: Stage) -> None:
    token, other = approved(stage), approved(stage)
    assert works(stage, token)
    browser = signed_in(stage)
    page = revoke(browser)
    assert "Revoked" in page.text
    ((path, body, _),) = stage.hub.named("/token/revoke")
    version_2 = stage.profile.version == 2
    assert path == ("/bank/v2/token/revoke" if version_2 else "/bank/token/revoke")
    revoked = body["accessToken" if version_2 else "access_token"]
    assert revoked in (token, other)
    assert not works(stage, revoked)
    assert works(stage, ({token, other} - {revoked}).pop())


def test_a_failed_notice_of_a_revocation_can_be_repeated(stage: Stage) -> None:
    token = approved(stage)
    stage.hub.errors["/token/revoke"] = requests.ConnectionError("away")
    browser = signed_in(stage)
    page = revoke(browser)
    assert page.status == 502
    assert not works(stage, token)
    assert "Notify the service again" in page.text
    stage.hub.errors.clear()
    assert "Notify the service again" not in browser.submit("/consents/revoke").text
    assert len(stage.hub.named("/token/revoke")) == 2


def test_a_consent_unknown_to_the_service_counts_as_notified(stage: Stage) -> None:
    approved(stage)
    stage.hub.errors["/token/revoke"] = UNKNOWN[stage.profile.name]
    page = revoke(signed_in(stage))
    assert page.status == 200
    assert "Notify the service again" not in page.text


def test_an_unexpected_error_of_the_service_is_shown(one: Stage) -> None:
    approved(one)
    one.hub.errors["/token/revoke"] = (401, {"error_code": 4200, "message": "wrong key"})
    page = revoke(signed_in(one))
    assert page.status == 502
    assert "wrong key (4200)" in page.text


def test_a_consent_can_be_revoked_after_its_storage_key_is_lost(stage: Stage) -> None:
    token = approved(stage)
    stage.secret[stage.profile.name]["storage_key"] = "cd" * 32
    stage.clock.advance(61)
    page = revoke(signed_in(stage))
    assert (page.status, stage.hub.named("/token/revoke")) == (200, [])
    assert not works(stage, token)


def test_a_consent_ended_by_the_service_is_listed_as_revoked(stage: Stage) -> None:
    token = approved(stage)
    stage.webhook("/revoke_token", {"access_token": token})
    page = signed_in(stage).page
    assert "No application has access" in page.text
    assert "Revoked" in page.text


def test_a_customer_cannot_revoke_a_consent_of_another_customer(stage: Stage) -> None:
    mine, theirs = CUSTOMERS[stage.profile.name]
    token = approved(stage, theirs)
    victim, thief = signed_in(stage, theirs), signed_in(stage, mine)
    stolen = record(victim.page)
    approved(stage, mine)
    thief.open(f"{stage.domain}/consents")
    body = {"form_token": field(thief.page, "form_token"), "consent": stolen}
    assert post(stage, thief, "/consents/revoke", body).status == 404
    assert works(stage, token)


def test_revoking_a_consent_requires_a_confirmation_by_its_customer(stage: Stage) -> None:
    mine, theirs = CUSTOMERS[stage.profile.name]
    token = approved(stage, theirs)
    victim, thief = signed_in(stage, theirs), signed_in(stage, mine)
    asked = f"{stage.domain}/consents?{urlencode({'revoke': record(victim.page)})}"

    assert "/consents/revoke" not in victim.page.text
    assert thief.open(asked).status == 404
    page = victim.open(asked)
    assert "cannot be undone" in page.text
    assert "29 August 2026" in page.text
    assert works(stage, token)
    revoke(signed_in(stage, theirs))
    assert "No application has access" in victim.open(asked).text


def test_a_form_without_the_form_token_of_the_session_changes_nothing(stage: Stage) -> None:
    token = approved(stage)
    browser = signed_in(stage)
    for form_token in ("", "x", "é"):
        body = {"form_token": form_token, "consent": record(browser.page)}
        assert post(stage, browser, "/consents/revoke", body).status == 303
    assert works(stage, token)
    assert not stage.hub.named("/token/revoke")


def test_a_session_ends_by_sign_out_and_after_its_lifetime(stage: Stage) -> None:
    browser = signed_in(stage)
    cookies = dict(browser.cookies)
    assert "Or sign in as a sandbox customer" in browser.submit("/consents/sign-out").text
    browser.cookies = cookies
    assert "Or sign in as a sandbox customer" in browser.open(f"{stage.domain}/consents").text
    browser = signed_in(stage)
    stage.clock.advance(customer_views.LIFETIME)
    assert "Or sign in as a sandbox customer" in browser.open(f"{stage.domain}/consents").text


def test_the_session_cookie_is_not_stored(stage: Stage) -> None:
    browser = signed_in(stage)
    assert browser.cookies[customer_views.COOKIE] not in repr(list(stage.store.scan("demo-banks")))


def field(page: Reply, name: str) -> str:
    return page.text.partition(f'name="{name}" value="')[2].partition('"')[0]


def post(stage: Stage, browser: Browser, place: str, body: dict[str, Any]) -> Reply:
    headers = {"cookie": "; ".join(f"{name}={value}" for name, value in browser.cookies.items())}
    return stage.call("POST", stage.domain + place, urlencode(body).encode(), headers)


def signed_in_to_accounts(stage: Stage, customer: str = "") -> Browser:
    browser = stage.browser()
    browser.open(f"{stage.domain}/my-accounts")
    customer = customer or CUSTOMER[stage.profile.name]
    browser.submit("/my-accounts", fields=[("username", customer), ("password", f"sandbox-{customer}")])
    return browser


def test_the_account_list_shows_the_balances_of_the_webhooks(stage: Stage) -> None:
    given = token(stage)
    pay(stage, given, scheme=SLOW[stage.profile.name])
    text = signed_in_to_accounts(stage).page.text
    for amount in balances(stage, given):
        assert money(int(amount * 100), account(stage).currency) in text


def test_the_account_page_lists_pending_and_executed_payments(stage: Stage) -> None:
    given = token(stage)
    pay(stage, given, reference="Quickly", scheme="FPS" if stage.profile.version == 1 else "SCTI")
    pay(stage, given, reference="Slowly", scheme=SLOW[stage.profile.name])
    browser = signed_in_to_accounts(stage)
    text = browser.open(f"{stage.domain}/my-accounts/{account(stage).account_id}").text
    assert "Pending" in text.partition("Slowly")[0]
    assert text.index("Slowly") < text.index("Quickly")
    assert "2 Mar" in text


def test_a_statement_month_shows_its_closing_balance(stage: Stage) -> None:
    browser = signed_in_to_accounts(stage)
    url = f"{stage.domain}/my-accounts/{account(stage).account_id}"
    assert "March 2026" in browser.open(url).text
    february = browser.open(f"{url}?month=2026-02").text
    assert "February 2026" in february
    assert "28 Feb" in february
    assert f"Balance at the end of the month: {money(account(stage).opening, account(stage).currency)}" in february
    for month in ("2031-01", "nothing", "2026-13"):
        assert "March 2026" in browser.open(f"{url}?month={month}").text
    assert "March 2025" in browser.open(f"{url}?month=2001-01").text


def test_a_customer_cannot_see_an_account_of_another_customer(stage: Stage) -> None:
    browser = signed_in_to_accounts(stage, OTHER[stage.profile.name])
    url = f"{stage.domain}/my-accounts/{account(stage).account_id}"
    assert browser.open(url).status == 404
    assert "Sign in to see balances" in stage.browser().open(url).text


def test_one_sign_in_is_valid_for_accounts_and_consents(stage: Stage) -> None:
    browser = signed_in_to_accounts(stage)
    assert "My consents" in browser.open(f"{stage.domain}/consents").text
    assert "Sign out" in browser.page.text
    browser.open(f"{stage.domain}/my-accounts")
    browser.submit("/consents/sign-out")
    assert "Sign in to see balances" in browser.open(f"{stage.domain}/my-accounts").text


def test_a_wrong_password_shows_the_sign_in_of_the_requested_page(stage: Stage) -> None:
    browser = stage.browser()
    browser.open(f"{stage.domain}/my-accounts")
    page = browser.submit("/my-accounts", fields=[("username", "ada"), ("password", "wrong")])
    assert "do not match" in page.text
    assert "Sign in to see balances" in page.text
