"""Tests of the bank's front page, and of the pages that show a customer's consents, accounts and payments."""

import re
from typing import Any
from urllib.parse import unquote, urlencode, urljoin

import pytest
import requests

from chalicelib.demo_bank import customer_views
from chalicelib.demo_bank.pages import money
from tests.demo_bank.parties import Browser, Reply
from tests.demo_bank.single_bank import OTHER, SLOW, SingleBank

CUSTOMERS = {"one": ("ada", "bilal"), "two": ("lena", "sofia")}
ACCOUNTS = {"one": "/accounts", "two": "/v2_accounts"}
UNKNOWN = {"one": (401, {"error_code": 4202, "message": "no"}), "two": (404, {"code": "RESOURCE_UNKNOWN"})}


def signed_in(bank: SingleBank, customer: str = "") -> Browser:
    browser = bank.browser()
    browser.open(f"{bank.domain}/consents")
    customer = customer or CUSTOMERS[bank.profile.name][0]
    browser.submit("/consents", fields=[("username", customer), ("password", f"sandbox-{customer}")])
    return browser


def approved(bank: SingleBank, customer: str = "") -> str:
    return bank.approve(customer or CUSTOMERS[bank.profile.name][0])


def works(bank: SingleBank, token: str) -> bool:
    return bank.webhook(ACCOUNTS[bank.profile.name], token=token).status == 200


def record(page: Reply) -> str:
    found = re.search(r'/consents\?revoke=([^"]+)"', page.text)
    assert found is not None
    return unquote(found[1])


def revoke(browser: Browser) -> Reply:
    browser.open(f"{browser.bank.domain}/consents?{urlencode({'revoke': record(browser.page)})}")
    assert "Revoke this consent?" in browser.page.text
    return browser.submit("/consents/revoke")


def test_the_front_page_identifies_the_bank_as_a_sandbox(bank: SingleBank) -> None:
    for url in (bank.domain, f"{bank.domain}/"):
        page = bank.call("GET", url)
        assert page.status == 200
        assert "sandbox bank" in page.text
        assert bank.profile.title in page.text


def test_each_bank_serves_immutable_style_sheets_and_its_own_logo(bank: SingleBank) -> None:
    name, page = bank.profile.name, bank.call("GET", bank.domain).text
    files = re.findall(r'(?:href|src)="([^"]+/static/([^."]+)\.[0-9a-f]{12}\.(css|svg))"', page)
    assert {(stem, kind) for _, stem, kind in files} == {
        ("family", "css"), ("bank", "css"), (name, "css"), (name, "svg")
    }  # fmt: skip
    for path, _, kind in files:
        reply = bank.call("GET", urljoin(bank.domain, path))
        assert reply.status == 200
        assert reply.headers["content-type"].startswith({"css": "text/css", "svg": "image/svg+xml"}[kind])
        assert "immutable" in reply.headers["cache-control"]


@pytest.mark.parametrize("file", ["one.css", "none.css", "..", "%2e%2e%2fpages.py", "pages.py"])
def test_the_static_folder_serves_no_unlisted_file(bank: SingleBank, file: str) -> None:
    assert bank.call("GET", f"{bank.domain}/static/{file}").status == 404


def test_an_unknown_bank_page_returns_404(bank: SingleBank) -> None:
    assert bank.call("GET", f"{bank.domain}/nowhere").status == 404


def test_a_customer_sees_only_their_own_consents(bank: SingleBank) -> None:
    mine, theirs = CUSTOMERS[bank.profile.name]
    approved(bank, mine)
    page = signed_in(bank, mine).page
    assert "Budget &lt;Friend&gt;" in page.text
    assert "2 March 2026" in page.text
    assert "29 August 2026" in page.text
    assert "Budget" not in signed_in(bank, theirs).page.text


def last_used(page: Reply) -> str:
    found = re.search(r"<dt>Last used</dt><dd>([^<]*)</dd>", page.text)
    assert found is not None
    return found[1]


def test_a_consent_shows_its_expiry_and_the_day_of_its_last_use(bank: SingleBank) -> None:
    token = approved(bank)
    assert last_used(signed_in(bank).page).startswith("No use")
    for days, day in ((0, "2 March 2026"), (3, "5 March 2026")):
        bank.clock.advance(days * 86400)
        assert works(bank, token)
        browser = signed_in(bank)
        assert "<dt>Valid until</dt><dd>29 August 2026</dd>" in browser.page.text
        assert last_used(browser.page) == day
        asked = browser.open(f"{bank.domain}/consents?{urlencode({'revoke': record(browser.page)})}")
        assert last_used(asked) == day


def test_a_rejected_call_does_not_count_as_use_of_a_consent(bank: SingleBank) -> None:
    token = approved(bank)
    assert bank.webhook(ACCOUNTS[bank.profile.name], token=f"{token}x").status in (401, 404)
    assert last_used(signed_in(bank).page).startswith("No use")


def test_a_wrong_password_does_not_sign_in_at_the_bank(bank: SingleBank) -> None:
    browser = bank.browser()
    browser.open(f"{bank.domain}/consents")
    page = browser.submit("/consents", fields=[("username", "ada"), ("password", "wrong")])
    assert "do not match" in page.text
    assert not browser.cookies


def test_revoking_a_consent_notifies_the_service_and_invalidates_the_token(bank: SingleBank) -> None:
    token, other = approved(bank), approved(bank)
    assert works(bank, token)
    browser = signed_in(bank)
    page = revoke(browser)
    assert "Revoked" in page.text
    ((path, body, _),) = bank.hub.received("/token/revoke")
    version_2 = bank.profile.version == 2
    assert path == ("/bank/v2/token/revoke" if version_2 else "/bank/token/revoke")
    revoked = body["accessToken" if version_2 else "access_token"]
    assert revoked in (token, other)
    assert not works(bank, revoked)
    assert works(bank, ({token, other} - {revoked}).pop())


def test_a_failed_revocation_notice_can_be_sent_again_by_the_customer(bank: SingleBank) -> None:
    token = approved(bank)
    bank.hub.errors["/token/revoke"] = requests.ConnectionError("away")
    browser = signed_in(bank)
    page = revoke(browser)
    assert page.status == 502
    assert not works(bank, token)
    assert "Notify the service again" in page.text
    bank.hub.errors.clear()
    assert "Notify the service again" not in browser.submit("/consents/revoke").text
    assert len(bank.hub.received("/token/revoke")) == 2


def test_a_consent_unknown_to_the_service_counts_as_notified(bank: SingleBank) -> None:
    approved(bank)
    bank.hub.errors["/token/revoke"] = UNKNOWN[bank.profile.name]
    page = revoke(signed_in(bank))
    assert page.status == 200
    assert "Notify the service again" not in page.text


def test_an_unexpected_error_of_the_service_is_displayed(one: SingleBank) -> None:
    approved(one)
    one.hub.errors["/token/revoke"] = (401, {"error_code": 4200, "message": "wrong key"})
    page = revoke(signed_in(one))
    assert page.status == 502
    assert "wrong key (4200)" in page.text


def test_a_consent_can_be_revoked_after_its_storage_key_is_lost(bank: SingleBank) -> None:
    token = approved(bank)
    bank.secret[bank.profile.name]["storage_key"] = "cd" * 32
    bank.clock.advance(61)
    page = revoke(signed_in(bank))
    assert (page.status, bank.hub.received("/token/revoke")) == (200, [])
    assert not works(bank, token)


def test_a_consent_ended_by_the_service_is_listed_as_revoked(bank: SingleBank) -> None:
    token = approved(bank)
    bank.webhook("/revoke_token", {"access_token": token})
    page = signed_in(bank).page
    assert "No application has access" in page.text
    assert "Revoked" in page.text


def test_a_customer_cannot_revoke_a_consent_of_another_customer(bank: SingleBank) -> None:
    mine, theirs = CUSTOMERS[bank.profile.name]
    token = approved(bank, theirs)
    victim, thief = signed_in(bank, theirs), signed_in(bank, mine)
    stolen = record(victim.page)
    approved(bank, mine)
    thief.open(f"{bank.domain}/consents")
    body = {"form_token": field(thief.page, "form_token"), "consent": stolen}
    assert post(bank, thief, "/consents/revoke", body).status == 404
    assert works(bank, token)


def test_revoking_a_consent_requires_a_confirmation_by_its_customer(bank: SingleBank) -> None:
    mine, theirs = CUSTOMERS[bank.profile.name]
    token = approved(bank, theirs)
    victim, thief = signed_in(bank, theirs), signed_in(bank, mine)
    asked = f"{bank.domain}/consents?{urlencode({'revoke': record(victim.page)})}"

    assert "/consents/revoke" not in victim.page.text
    assert thief.open(asked).status == 404
    page = victim.open(asked)
    assert "cannot be undone" in page.text
    assert "29 August 2026" in page.text
    assert works(bank, token)
    revoke(signed_in(bank, theirs))
    assert "No application has access" in victim.open(asked).text


def test_a_form_without_the_form_token_of_the_session_changes_nothing(bank: SingleBank) -> None:
    token = approved(bank)
    browser = signed_in(bank)
    for form_token in ("", "x", "é"):
        body = {"form_token": form_token, "consent": record(browser.page)}
        assert post(bank, browser, "/consents/revoke", body).status == 303
    assert works(bank, token)
    assert not bank.hub.received("/token/revoke")


def test_a_session_ends_at_sign_out_and_at_the_end_of_its_lifetime(bank: SingleBank) -> None:
    browser = signed_in(bank)
    cookies = dict(browser.cookies)
    assert "Or sign in as a sandbox customer" in browser.submit("/consents/sign-out").text
    browser.cookies = cookies
    assert "Or sign in as a sandbox customer" in browser.open(f"{bank.domain}/consents").text
    browser = signed_in(bank)
    bank.clock.advance(customer_views.LIFETIME)
    assert "Or sign in as a sandbox customer" in browser.open(f"{bank.domain}/consents").text


def test_the_bank_session_cookie_is_not_stored(bank: SingleBank) -> None:
    browser = signed_in(bank)
    assert browser.cookies[customer_views.COOKIE] not in repr(list(bank.store.scan("demo-banks")))


def field(page: Reply, name: str) -> str:
    return page.text.partition(f'name="{name}" value="')[2].partition('"')[0]


def post(bank: SingleBank, browser: Browser, place: str, body: dict[str, Any]) -> Reply:
    headers = {"cookie": "; ".join(f"{name}={value}" for name, value in browser.cookies.items())}
    return bank.call("POST", bank.domain + place, urlencode(body).encode(), headers)


def signed_in_to_accounts(bank: SingleBank, customer: str = "") -> Browser:
    browser = bank.browser()
    browser.open(f"{bank.domain}/my-accounts")
    customer = customer or bank.customer
    browser.submit("/my-accounts", fields=[("username", customer), ("password", f"sandbox-{customer}")])
    return browser


def test_the_account_list_shows_the_same_balances_as_the_webhooks(bank: SingleBank) -> None:
    given = bank.token()
    bank.pay(given, scheme=SLOW[bank.profile.name])
    text = signed_in_to_accounts(bank).page.text
    for amount in bank.balances(given):
        assert money(int(amount * 100), bank.account().currency) in text


def test_the_account_page_lists_pending_and_executed_payments(bank: SingleBank) -> None:
    given = bank.token()
    bank.pay(given, reference="Quickly", scheme="FPS" if bank.profile.version == 1 else "SCTI")
    bank.pay(given, reference="Slowly", scheme=SLOW[bank.profile.name])
    browser = signed_in_to_accounts(bank)
    text = browser.open(f"{bank.domain}/my-accounts/{bank.account().account_id}").text
    assert "Pending" in text.partition("Slowly")[0]
    assert text.index("Slowly") < text.index("Quickly")
    assert "2 Mar" in text


def test_a_statement_month_shows_its_closing_balance(bank: SingleBank) -> None:
    browser = signed_in_to_accounts(bank)
    url = f"{bank.domain}/my-accounts/{bank.account().account_id}"
    assert "March 2026" in browser.open(url).text
    february = browser.open(f"{url}?month=2026-02").text
    assert "February 2026" in february
    assert "28 Feb" in february
    assert f"Balance at the end of the month: {money(bank.account().opening, bank.account().currency)}" in february
    for month in ("2031-01", "nothing", "2026-13"):
        assert "March 2026" in browser.open(f"{url}?month={month}").text
    assert "March 2025" in browser.open(f"{url}?month=2001-01").text


def test_a_customer_cannot_see_an_account_of_another_customer(bank: SingleBank) -> None:
    browser = signed_in_to_accounts(bank, OTHER[bank.profile.name])
    url = f"{bank.domain}/my-accounts/{bank.account().account_id}"
    assert browser.open(url).status == 404
    assert "Sign in to see balances" in bank.browser().open(url).text


def test_a_customer_who_signs_in_once_can_open_the_account_pages_and_the_consent_pages(bank: SingleBank) -> None:
    browser = signed_in_to_accounts(bank)
    assert "My consents" in browser.open(f"{bank.domain}/consents").text
    assert "Sign out" in browser.page.text
    browser.open(f"{bank.domain}/my-accounts")
    browser.submit("/consents/sign-out")
    assert "Sign in to see balances" in browser.open(f"{bank.domain}/my-accounts").text


def test_a_wrong_password_shows_the_sign_in_page_for_the_requested_page(bank: SingleBank) -> None:
    browser = bank.browser()
    browser.open(f"{bank.domain}/my-accounts")
    page = browser.submit("/my-accounts", fields=[("username", "ada"), ("password", "wrong")])
    assert "do not match" in page.text
    assert "Sign in to see balances" in page.text
