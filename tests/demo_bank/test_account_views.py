"""The pages where customers see their accounts and what was paid from and to them."""

from __future__ import annotations

from chalicelib.demo_bank.display_text import money
from tests.demo_bank.paying import CUSTOMER, OTHER, SLOW, account, balances, pay, token
from tests.demo_bank.stage import Browser, Stage


def signed_in(stage: Stage, customer: str = "") -> Browser:
    browser = stage.browser()
    browser.open(f"{stage.domain}/my-accounts")
    customer = customer or CUSTOMER[stage.profile.name]
    browser.submit("/my-accounts", fields=[("username", customer), ("password", f"sandbox-{customer}")])
    return browser


def test_the_accounts_are_listed_with_the_balances_that_the_webhooks_tell(stage: Stage) -> None:
    given = token(stage)
    pay(stage, given, scheme=SLOW[stage.profile.name])
    text = signed_in(stage).page.text
    for amount in balances(stage, given):
        assert money(int(amount * 100), account(stage).currency) in text


def test_pending_and_executed_payments_stand_on_the_page_of_the_account(stage: Stage) -> None:
    given = token(stage)
    pay(stage, given, reference="Quickly", scheme="FPS" if stage.profile.version == 1 else "SCTI")
    pay(stage, given, reference="Slowly", scheme=SLOW[stage.profile.name])
    browser = signed_in(stage)
    text = browser.open(f"{stage.domain}/my-accounts/{account(stage).account_id}").text
    assert "Pending" in text.partition("Slowly")[0]
    assert text.index("Slowly") < text.index("Quickly")
    assert "2 Mar" in text


def test_a_month_ends_with_the_balance_that_the_next_begins_with(stage: Stage) -> None:
    browser = signed_in(stage)
    url = f"{stage.domain}/my-accounts/{account(stage).account_id}"
    assert "March 2026" in browser.open(url).text
    february = browser.open(f"{url}?month=2026-02").text
    assert "February 2026" in february
    assert "28 Feb" in february
    assert f"Balance at the end of the month: {money(account(stage).opening, account(stage).currency)}" in february
    for month in ("2031-01", "nothing", "2026-13"):
        assert "March 2026" in browser.open(f"{url}?month={month}").text
    assert "March 2025" in browser.open(f"{url}?month=2001-01").text


def test_nobody_sees_the_account_of_somebody_else(stage: Stage) -> None:
    browser = signed_in(stage, OTHER[stage.profile.name])
    url = f"{stage.domain}/my-accounts/{account(stage).account_id}"
    assert browser.open(url).status == 404
    assert "Sign in to see balances" in stage.browser().open(url).text


def test_one_sign_in_is_good_for_accounts_and_consents(stage: Stage) -> None:
    browser = signed_in(stage)
    assert "My consents" in browser.open(f"{stage.domain}/consents").text
    assert "Sign out" in browser.page.text
    browser.open(f"{stage.domain}/my-accounts")
    browser.submit("/consents/sign-out")
    assert "Sign in to see balances" in browser.open(f"{stage.domain}/my-accounts").text


def test_a_wrong_password_leads_back_to_the_page_that_was_wanted(stage: Stage) -> None:
    browser = stage.browser()
    browser.open(f"{stage.domain}/my-accounts")
    page = browser.submit("/my-accounts", fields=[("username", "ada"), ("password", "wrong")])
    assert "do not match" in page.text
    assert "Sign in to see balances" in page.text
