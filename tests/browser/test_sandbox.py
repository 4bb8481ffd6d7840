"""The web interface for TPP developers: clients, tokens, events and event deliveries."""

import json
import re
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

from chalicelib.bootstrap import Hub
from tests.browser import user
from tests.browser.window import Window, Windows
from tests.kit.http import Connection, socket_server

pytestmark = pytest.mark.pages


@pytest.mark.parametrize("version", [1, 2])
def test_a_consent_that_was_refused_at_the_bank_shows_the_developer_advice(window: Window, version: int) -> None:
    user.register(window)
    user.create_client(window)
    user.refuse(window, version)

    text = window.page.get_by_role("main").inner_text()
    assert "No consent came of it" in text
    assert "approve every permission at the bank" in text
    window.follow("Authorize again")
    assert window.bank(version)["name"] in window.page.title()


def test_the_displayed_request_is_updated_when_the_form_changes(window: Window) -> None:
    user.register(window)
    client_id = user.create_client(window)
    user.choose_bank(window, 1)
    shown = window.page.locator("#request pre").first

    def body() -> dict[str, Any]:
        found: dict[str, Any] = json.loads(shown.inner_text())
        return found

    before = body()
    with window.page.expect_response(re.compile("/authorize")):
        window.page.get_by_label("balances:read").uncheck()
    window.page.wait_for_function(
        "scope => !document.querySelector('#request pre').textContent.includes(scope)", arg="balances:read"
    )
    with window.page.expect_response(re.compile("/authorize")):
        window.page.get_by_label("Send a code challenge").uncheck()
    window.page.wait_for_function("() => !document.querySelector('#request pre').textContent.includes('challenge')")

    assert "balances:read" in before["scopes"]
    assert "balances:read" not in body()["scopes"]
    assert body()["state"] == before["state"]
    window.page.get_by_label("One-time").check()
    window.page.wait_for_function("() => document.querySelector('#request pre').textContent.includes('one_time')")
    assert body()["scopes"] == ["payments:write", "bulk_payments:write"]
    window.page.get_by_text("As curl").click()
    assert client_id in window.page.locator("#program").inner_text()
    at_the_bank = f"{window.bank(1)['domain']}/authorize?"
    with window.page.expect_request(lambda request: request.url.startswith(at_the_bank)) as sent:
        user.run_request(window)
    assert parse_qs(urlsplit(sent.value.url).query)["state"] == [before["state"]]


def test_a_wrong_password_shows_an_error_and_the_correct_password_signs_in(window: Window) -> None:
    email = user.register(window)
    user.sign_out(window)
    window.open("/clients")
    assert window.page.title().startswith("Sign in")
    window.fill("Email", email)
    window.fill("Password", "not this password")
    window.press("Sign in")
    assert "do not match" in window.page.get_by_role("alert").inner_text()
    window.fill("Password", user.PASSWORD)
    window.press("Sign in")

    assert window.page.url.endswith("/clients")


def test_the_list_of_45_clients_is_filtered_and_paged(window: Window, operator: Hub) -> None:
    email = user.register(window)
    for number in range(45):
        operator.openbanking.clients.create(owner=email, title=f"Client {number:02}", active=number % 3 != 0)
    user.go_to(window, "Clients")
    rows = window.page.locator("tbody tr")
    assert rows.count() == 20
    window.follow("Older")
    window.follow("Older")
    assert rows.count() == 5
    window.fill("Title", "client 4")
    window.press("Filter")
    assert rows.count() == 5
    window.page.get_by_label("State").select_option("Inactive")
    window.press("Filter")
    assert {row.inner_text() for row in rows.locator(".tag").all()} == {"inactive"}
    window.follow("Clear")
    assert rows.count() == 20


def test_a_client_is_created_copied_deactivated_and_reactivated(window: Window) -> None:
    window.page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    user.register(window)
    client_id = user.create_client(window, "Copied")
    window.page.get_by_role("button", name="Copy the Client ID").click()
    window.page.get_by_text("Copied", exact=True).last.wait_for()
    assert window.page.evaluate("navigator.clipboard.readText()") == client_id
    window.follow("Deactivate")
    window.press("Deactivate")
    assert "no longer active" in window.page.get_by_role("status").inner_text()
    window.press("Reactivate")
    assert "active again" in window.page.get_by_role("status").inner_text()


def test_event_deliveries_are_shown_and_resent(window: Window) -> None:
    with socket_server(_takes_it) as receiver:
        user.register(window)
        user.create_client(window, "Eventful", receiver.url)
        window.press("Send a test event")
        delivered = window.page.locator(".tag.good", has_text="delivered")
        user.reload_until(window, delivered)
        assert "webhook-signature" in window.page.content()
        window.press("Send it again now")
        user.reload_until(window, delivered)
        user.authorize(window, 1)
        user.go_to(window, "Events")
        user.reload_until(window, window.page.locator("tr", has_text="consent.authorised").locator(delivered))

    assert len(receiver.served) >= 3


def test_a_user_can_open_the_page_of_a_bank_with_the_keyboard_alone(window: Window) -> None:
    user.register(window)
    user.create_client(window)
    page = window.page
    window.enter_at(page.get_by_role("link", name="Authorize", exact=True).first)
    window.enter_at(page.get_by_role("button", name=f"Choose {window.bank(1)['name']}"))
    window.enter_at(page.get_by_role("button", name="Run and go to the bank"))

    assert page.url.startswith(window.bank(1)["domain"])


def test_the_bank_list_is_filtered_while_typing(window: Window) -> None:
    user.register(window)
    user.create_client(window)
    user.go_to(window, "Authorize")
    rows = window.page.locator("#banks > li").filter(visible=True)
    none_fits = window.page.get_by_text("No bank on this page matches.")
    count = rows.count()
    assert count >= 2
    window.fill("Bank", window.bank(2)["bic"].lower())
    assert [window.bank(2)["name"] in row for row in rows.all_inner_texts()] == [True]
    window.fill("Bank", "nothing like it")
    assert (rows.count(), none_fits.is_visible()) == (0, True)
    window.fill("Bank", "")
    assert (rows.count(), none_fits.is_visible()) == (count, False)


def test_a_client_with_a_secret_receives_tokens_and_events_without_javascript(windows: Windows) -> None:
    window = windows(javascript=False)
    with socket_server(_takes_it) as receiver:
        user.register(window)
        user.create_client(window, "Secretive", receiver.url, has_secret=True)
        secret = window.page.locator("#client-secret").inner_text()
        user.authorize(window, 1)
        for given, heading in (("not the secret", "Back from the bank with a code"), (secret, "You have tokens")):
            window.fill("Client secret", given)
            window.press("Exchange the code")
            assert window.page.get_by_role("heading", level=1).inner_text() == heading
        user.go_to(window, "Events")
        delivered = window.page.locator(".tag.good", has_text="delivered")
        user.reload_until(window, window.page.locator("tr", has_text="consent.authorised").locator(delivered))
        with window.page.expect_navigation():
            window.page.locator("tr", has_text="consent.authorised").get_by_role("link").first.click()
        window.press("Send it again now")
        user.reload_until(window, delivered)

    assert len(receiver.served) >= 2


def test_user_input_is_escaped_in_pages(window: Window) -> None:
    user.register(window)
    title = "<script>alert(1)</script><img src=x onerror=alert(2)>{{ 7 * 7 }}"
    user.create_client(window, title)
    assert window.page.get_by_role("heading", level=1).inner_text() == title
    user.go_to(window, "Clients")
    window.follow(title)
    user.choose_bank(window, 1)
    user.run_request(window)

    assert title in window.page.get_by_role("main").inner_text()
    assert window.page.locator("img[src=x]").count() == 0


def _takes_it(connection: Connection) -> None:
    connection.request()
    connection.answer(b"", "204 No Content")
