"""The API specification screens: a user enters credentials once, and all calls use these private credentials."""

import re

import pytest

from tests.browser import page_checks, user
from tests.browser.explorer import KEPT, authorized, execute, executed, go_to_screen, lock, opened, ready, screen
from tests.browser.window import Window, Windows

pytestmark = pytest.mark.pages


@pytest.mark.parametrize(
    ("version", "title", "operations", "order"),
    [
        (1, "Unified", ("unified_accounts", "unified_balances"), "unified_payments"),
        (2, "Unified", ("unified_account", "unified_transactions"), "unified_payments"),
        (1, "Account", ("accounts", "account_balance"), "payment_initiation"),
        (2, "Account", ("accounts", "account_transactions"), "payment_initiation"),
    ],
)
def test_account_and_payment_calls_run_with_the_token_of_a_journey_without_input(
    window: Window, version: int, title: str, operations: tuple[str, ...], order: str
) -> None:
    authorized(window, version)
    go_to_screen(window, title)
    page = window.page
    assert "Locked. Client Budget Friend · access token " in page.locator("#credentials-state").inner_text()
    assert not page.locator("#access-token").is_visible()
    client_id, token = page.locator("#client-id").input_value(), page.locator("#access-token").input_value()
    for read in operations:
        done = executed(page, read)
        assert (read, done.status) == (read, "200")
        assert f"X-Api-Key: {client_id}" in done.command
        assert f"Authorization: Bearer {token}" in done.command
    if title == "Account":
        go_to_screen(window, "Payments")
    paid = executed(page, order)
    assert paid.status == "200"
    assert f"/payments/callback?bic={window.bank(version)['bic']}" in paid.command
    with page.expect_popup() as bank:
        page.get_by_role("link", name="Confirm at the bank (new tab)").click()
    assert bank.value.url == paid.body["confirmation_url"]


def test_a_missing_credential_shows_an_error_and_sends_no_request(window: Window) -> None:
    sent: list[str] = []
    window.page.on("request", lambda request: sent.append(request.url))
    screen(window, "account", "accounts")
    run, alert = window.page.get_by_role("button", name="Execute"), window.page.get_by_role("alert")
    run.click()
    assert "enter a Client ID at the top of this page, and lock it" in alert.inner_text()
    lock(window, window.stack["client"]["client_id"])
    run.click()
    assert "enter an access token" in alert.inner_text()

    assert not [url for url in sent if url.endswith("/tpp/accounts")]


def test_wrong_credentials_are_reported_immediately(window: Window) -> None:
    window.forgive("401 (Unauthorized)")
    screen(window, "account")
    window.fill("Client ID", "nobody")
    window.page.get_by_role("button", name="Lock").click()

    window.page.get_by_text("will be refused. The service says: “no active client has this Client ID").wait_for()


def test_a_client_secret_is_sent_in_each_call(window: Window) -> None:
    window.forgive("401 (Unauthorized)")
    user.register(window)
    client_id = user.create_client(window, has_secret=True)
    secret = window.page.locator("#client-secret").inner_text()
    screen(window, "authorization")
    window.fill("Client ID", client_id)
    window.page.get_by_role("button", name="Lock").click()
    window.page.get_by_text("“the client secret is missing or wrong").wait_for()

    window.fill("Client secret (if it has one)", secret)
    window.page.locator("#client-secret").blur()
    window.page.locator("#credentials-state", has_text="Locked.").wait_for()
    for operation in ("banks", "authorize"):
        done = executed(window.page, operation)
        assert (operation, done.status) == (operation, "200")
        assert "Authorization: Basic " in done.command


def test_credentials_persist_across_screens_and_reloads_until_logout(window: Window) -> None:
    page, client_id = window.page, window.stack["client"]["client_id"]
    screen(window, "authorization")
    lock(window, client_id)
    screen(window, "account")
    page.go_back()
    ready(window)
    assert page.locator("#client-id").input_value() == client_id
    assert not page.locator("#client-id").is_editable()
    assert executed(page, "banks").status == "200"
    page.get_by_role("button", name="Logout").click()
    page.get_by_role("button", name="Lock").wait_for()

    assert page.locator("#client-id").input_value() == ""
    assert page.locator("#client-id").is_editable()
    page.locator(".x-body").wait_for(state="detached")
    assert page.evaluate(KEPT) == 0


def test_credentials_of_another_user_in_the_same_tab_are_deleted(window: Window) -> None:
    screen(window, "account")
    lock(window, window.stack["client"]["client_id"])
    window.page.evaluate(
        """() => {
          const [[name, kept]] = Object.entries(sessionStorage)
          sessionStorage.setItem(name, JSON.stringify({...JSON.parse(kept), user: 'somebody else'}))
        }"""
    )
    screen(window, "account")

    assert window.page.locator("#client-id").input_value() == ""
    assert window.page.evaluate(KEPT) == 0


def test_signing_out_deletes_credentials_and_stored_ids(window: Window) -> None:
    authorized(window, 2)
    executed(window.page, "unified_accounts")
    assert "65e1d84d-bbff-5020-8a18-fa562a050c8d" in window.page.evaluate("() => JSON.stringify({...sessionStorage})")
    user.sign_out(window)

    assert window.page.evaluate(KEPT) == 0


def test_an_executed_payment_is_accessible_fits_a_phone_and_has_a_new_idempotency_key(window: Window) -> None:
    page = window.page
    screen(window, "payments", "direct_payment_initiation")
    lock(window, window.stack["client"]["client_id"])
    paid = execute(page)
    assert paid.status == "200"
    page.evaluate("() => document.querySelectorAll('#explorer details').forEach(part => { part.open = true })")
    page.get_by_text("Idempotency-Key was used with another body").first.wait_for()

    assert not page_checks.inaccessible(page)
    assert not page_checks.too_wide(page)
    key = page.get_by_label("Idempotency-Key").input_value()
    assert re.fullmatch("[0-9a-f-]{36}", key)
    assert re.search("Idempotency-Key: [0-9a-f-]{36}'", paid.command)
    assert key not in paid.command


def test_an_operation_that_only_a_browser_can_execute_has_no_execute_button(window: Window) -> None:
    screen(window, "authorization")
    opened(window.page, "oauth_authorize")
    window.page.get_by_role("heading", name="Start an authorization in the browser").wait_for()

    assert window.page.get_by_role("button", name="Execute").count() == 0
    assert "it cannot be executed here" in window.page.locator("#operation").inner_text()


def test_every_operation_is_listed_with_its_documentation_without_javascript(windows: Windows) -> None:
    window = windows(javascript=False)
    window.open("/specifications/payments")
    links = window.page.get_by_role("link", name="Fields, answers and errors")

    assert links.count() == 4
    assert "enable JavaScript" in window.page.locator("#credentials-state").inner_text()
    links.first.click()
    assert window.page.get_by_role("heading", name="POST /tpp/payment_initiation").is_visible()
