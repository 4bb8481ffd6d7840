"""The API specification screens: every call is tried with credentials that are entered once, and nobody else sees."""

from __future__ import annotations

import re

import pytest

from tests.browser import checks, psu, user
from tests.browser.specification_pages import KEPT, SWAGGER_UI, executed, opened, ready, screen
from tests.browser.visitor import Visitor

pytestmark = pytest.mark.pages


def lock(visitor: Visitor, client_id: str, token: str = "") -> None:
    visitor.fill("Client ID", client_id)
    visitor.fill("Access token", token)
    visitor.page.get_by_role("button", name="Lock").click()
    visitor.page.locator("#credentials-state", has_text="Locked.").wait_for()


def authorized(visitor: Visitor, version: int) -> None:
    """A new user with a token for everything, on the Account screen."""
    user.register(visitor)
    user.create_client(visitor)
    user.choose_bank(visitor, version)
    for box in visitor.page.locator("[name=scope]").all():
        box.check()
    user.run_request(visitor)
    psu.approve(visitor, version)
    visitor.follow("Use the token in the API screens")
    ready(visitor)


@pytest.mark.parametrize(("version", "path"), [(1, "/tpp/account_balance"), (2, "/tpp/account_transactions")])
def test_with_the_token_of_a_journey_accounts_and_payments_are_tried_without_typing(
    visitor: Visitor, version: int, path: str
) -> None:
    authorized(visitor, version)
    page = visitor.page
    assert "access token are filled in and locked" in page.get_by_role("main").inner_text()
    client_id, token = page.locator("#client-id").input_value(), page.locator("#access-token").input_value()
    for read in ("/tpp/accounts", path):
        status, _, command = executed(page, read)
        assert (read, status) == (read, "200")
        assert f"X-Api-Key: {client_id}" in command
        assert f"Authorization: Bearer {token}" in command
    page.get_by_role("navigation", name="API specifications").get_by_role("link", name="Payments").click()
    ready(visitor)
    status, body, command = executed(page, "/tpp/payment_initiation")
    assert status == "200"
    assert f"/payments/callback?bic={visitor.bank(version)['bic']}" in command
    with page.expect_popup() as bank:
        page.get_by_role("link", name=re.compile("confirm the payment")).click()
    assert bank.value.url == body["confirmation_url"]


def test_what_is_missing_is_said_and_nothing_is_sent(visitor: Visitor) -> None:
    sent: list[str] = []
    visitor.page.on("request", lambda request: sent.append(request.url))
    screen(visitor, "account")
    operation = opened(visitor.page, "/tpp/accounts")
    execute, alert = operation.get_by_role("button", name="Execute"), operation.get_by_role("alert")
    execute.click()
    assert "enter a Client ID at the top of this page, and lock it" in alert.inner_text()
    lock(visitor, visitor.stack["client"]["client_id"])
    execute.click()
    assert "enter an access token" in alert.inner_text()

    assert not [url for url in sent if url.endswith("/tpp/accounts")]


def test_credentials_that_will_be_refused_are_told_at_once(visitor: Visitor) -> None:
    visitor.forgive("401 (Unauthorized)")
    screen(visitor, "account")
    visitor.fill("Client ID", "nobody")
    visitor.page.get_by_role("button", name="Lock").click()

    visitor.page.get_by_text("will be refused. The service says: “no active client has this Client ID").wait_for()


def test_a_client_that_has_a_secret_is_tried_with_it(visitor: Visitor) -> None:
    visitor.forgive("401 (Unauthorized)")
    user.register(visitor)
    client_id = user.create_client(visitor, has_secret=True)
    secret = visitor.page.locator("#client-secret").inner_text()
    screen(visitor, "authorization")
    visitor.fill("Client ID", client_id)
    visitor.page.get_by_role("button", name="Lock").click()
    visitor.page.get_by_text("“the client secret is missing or wrong").wait_for()

    visitor.fill("Client secret (if it has one)", secret)
    visitor.page.locator("#client-secret").blur()
    visitor.page.locator("#credentials-state", has_text="Locked.").wait_for()
    for path in ("/tpp/banks", "/tpp/authorize"):
        status, _, command = executed(visitor.page, path)
        assert (path, status) == (path, "200")
        assert "Authorization: Basic " in command


def test_credentials_hold_across_screens_and_reloads_until_logout(visitor: Visitor) -> None:
    page, client_id = visitor.page, visitor.stack["client"]["client_id"]
    screen(visitor, "authorization")
    lock(visitor, client_id)
    screen(visitor, "account")
    page.go_back()
    ready(visitor)
    assert page.locator("#client-id").input_value() == client_id
    assert not page.locator("#client-id").is_editable()
    assert executed(page, "/tpp/banks")[0] == "200"
    page.get_by_role("button", name="Logout").click()
    page.get_by_role("button", name="Lock").wait_for()

    assert page.locator("#client-id").input_value() == ""
    assert page.locator("#client-id").is_editable()
    page.locator(".live-responses-table").wait_for(state="detached")
    assert page.evaluate(KEPT) == 0


def test_what_another_user_locked_in_this_tab_is_not_seen_but_forgotten(visitor: Visitor) -> None:
    screen(visitor, "account")
    lock(visitor, visitor.stack["client"]["client_id"])
    visitor.page.evaluate(
        """() => {
          const [[name, kept]] = Object.entries(sessionStorage)
          sessionStorage.setItem(name, JSON.stringify({...JSON.parse(kept), user: 'somebody else'}))
        }"""
    )
    screen(visitor, "account")

    assert visitor.page.locator("#client-id").input_value() == ""
    assert visitor.page.evaluate(KEPT) == 0


def test_signing_out_forgets_what_was_locked(visitor: Visitor) -> None:
    user.register(visitor)
    screen(visitor, "account")
    lock(visitor, visitor.stack["client"]["client_id"])
    assert visitor.page.evaluate(KEPT) == 1
    user.sign_out(visitor)

    assert visitor.page.evaluate(KEPT) == 0


def test_a_tried_payment_is_accessible_fits_a_small_screen_and_leaves_a_new_idempotency_key(visitor: Visitor) -> None:
    page = visitor.page
    screen(visitor, "payments")
    lock(visitor, visitor.stack["client"]["client_id"])
    status, _, command = executed(page, "/tpp/direct_payment_initiation")
    assert status == "200"
    page.get_by_role("tab", name="Schema").first.click()

    checks.check_accessibility(page, besides=SWAGGER_UI)
    checks.no_horizontal_scroll(page)
    key = page.get_by_placeholder("Idempotency-Key").input_value()
    assert re.fullmatch("[0-9a-f-]{36}", key)
    assert re.search("Idempotency-Key: [0-9a-f-]{36}'", command)
    assert key not in command


def test_an_address_for_browsers_is_not_tried_by_a_script(visitor: Visitor) -> None:
    screen(visitor, "authorization")
    operation = visitor.page.locator(".opblock", has=visitor.page.locator('[data-path="/oauth/authorize"]'))
    operation.locator(".opblock-summary-control").click()
    operation.get_by_text("Start an authorization in the browser").wait_for()

    assert operation.get_by_role("button", name="Try it out").count() == 0
