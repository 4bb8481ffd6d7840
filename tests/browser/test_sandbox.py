"""What a TPP developer does at the web interface, once registered."""

from __future__ import annotations

import json
import re
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

from chalicelib.bootstrap import Hub
from tests.browser import user
from tests.browser.visitor import Visitor, Visitors
from tests.kit.http import Connection, socket_server

pytestmark = pytest.mark.pages


@pytest.mark.parametrize("version", [1, 2])
def test_a_refusal_at_the_bank_shows_advice(visitor: Visitor, version: int) -> None:
    user.register(visitor)
    user.create_client(visitor)
    user.refuse(visitor, version)

    text = visitor.page.get_by_role("main").inner_text()
    assert "No consent came of it" in text
    assert "approve every permission at the bank" in text
    visitor.follow("Authorize again")
    assert visitor.bank(version)["name"] in visitor.page.title()


def test_the_shown_request_updates_with_the_form(visitor: Visitor) -> None:
    user.register(visitor)
    client_id = user.create_client(visitor)
    user.choose_bank(visitor, 1)
    shown = visitor.page.locator("#request pre").first

    def body() -> dict[str, Any]:
        found: dict[str, Any] = json.loads(shown.inner_text())
        return found

    before = body()
    with visitor.page.expect_response(re.compile("/authorize")):
        visitor.page.get_by_label("account.balance").uncheck()
    visitor.page.wait_for_function(
        "scope => !document.querySelector('#request pre').textContent.includes(scope)", arg="account.balance"
    )
    with visitor.page.expect_response(re.compile("/authorize")):
        visitor.page.get_by_label("Send a code challenge").uncheck()
    visitor.page.wait_for_function("() => !document.querySelector('#request pre').textContent.includes('challenge')")

    assert "account.balance" in before["scopes"]
    assert "account.balance" not in body()["scopes"]
    assert body()["state"] == before["state"]
    visitor.page.get_by_label("One-time").check()
    visitor.page.wait_for_function("() => document.querySelector('#request pre').textContent.includes('one_time')")
    assert body()["scopes"] == ["payment.init"]
    visitor.page.get_by_text("As curl").click()
    assert client_id in visitor.page.locator("#program").inner_text()
    at_the_bank = f"{visitor.bank(1)['domain']}/authorize?"
    with visitor.page.expect_request(lambda request: request.url.startswith(at_the_bank)) as sent:
        user.run_request(visitor)
    assert parse_qs(urlsplit(sent.value.url).query)["state"] == [before["state"]]


def test_a_wrong_password_shows_an_error_and_the_right_one_signs_in(visitor: Visitor) -> None:
    email = user.register(visitor)
    user.sign_out(visitor)
    visitor.open("/clients")
    assert visitor.page.title().startswith("Sign in")
    visitor.fill("Email", email)
    visitor.fill("Password", "not this password")
    visitor.press("Sign in")
    assert "do not match" in visitor.page.get_by_role("alert").inner_text()
    visitor.fill("Password", user.PASSWORD)
    visitor.press("Sign in")

    assert visitor.page.url.endswith("/clients")


def test_45_clients_are_filtered_and_paged(visitor: Visitor, operator: Hub) -> None:
    email = user.register(visitor)
    for number in range(45):
        operator.openbanking.clients.create(owner=email, title=f"Client {number:02}", active=number % 3 != 0)
    user.go_to(visitor, "Clients")
    rows = visitor.page.locator("tbody tr")
    assert rows.count() == 20
    visitor.follow("Older")
    visitor.follow("Older")
    assert rows.count() == 5
    visitor.fill("Title", "client 4")
    visitor.press("Filter")
    assert rows.count() == 5
    visitor.page.get_by_label("State").select_option("Inactive")
    visitor.press("Filter")
    assert {row.inner_text() for row in rows.locator(".tag").all()} == {"inactive"}
    visitor.follow("Clear")
    assert rows.count() == 20


def test_a_client_is_created_copied_deactivated_and_reactivated(visitor: Visitor) -> None:
    visitor.page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    user.register(visitor)
    client_id = user.create_client(visitor, "Copied")
    visitor.page.get_by_role("button", name="Copy the Client ID").click()
    visitor.page.get_by_text("Copied", exact=True).last.wait_for()
    assert visitor.page.evaluate("navigator.clipboard.readText()") == client_id
    visitor.follow("Deactivate")
    visitor.press("Deactivate")
    assert "no longer active" in visitor.page.get_by_role("status").inner_text()
    visitor.press("Reactivate")
    assert "active again" in visitor.page.get_by_role("status").inner_text()


def test_deliveries_are_shown_and_resent(visitor: Visitor) -> None:
    with socket_server(_takes_it) as receiver:
        user.register(visitor)
        user.create_client(visitor, "Eventful", receiver.url)
        visitor.press("Send a test event")
        delivered = visitor.page.locator(".tag.good", has_text="delivered")
        user.reload_until(visitor, delivered)
        assert "webhook-signature" in visitor.page.content()
        visitor.press("Send it again now")
        user.reload_until(visitor, delivered)
        user.authorize(visitor, 1)
        user.go_to(visitor, "Events")
        user.reload_until(visitor, visitor.page.locator("tr", has_text="consent.authorised").locator(delivered))

    assert len(receiver.served) >= 3


def test_a_user_gets_to_the_bank_without_a_mouse(visitor: Visitor) -> None:
    user.register(visitor)
    user.create_client(visitor)
    page = visitor.page
    visitor.enter_at(page.get_by_role("link", name="Authorize", exact=True).first)
    visitor.enter_at(page.get_by_role("button", name=f"Choose {visitor.bank(1)['name']}"))
    visitor.enter_at(page.get_by_role("button", name="Run and go to the bank"))

    assert page.url.startswith(visitor.bank(1)["domain"])


def test_the_bank_list_is_filtered_while_typing(visitor: Visitor) -> None:
    user.register(visitor)
    user.create_client(visitor)
    user.go_to(visitor, "Authorize")
    rows = visitor.page.locator("#banks > li").filter(visible=True)
    none_fits = visitor.page.get_by_text("No bank on this page matches.")
    count = rows.count()
    assert count >= 2
    visitor.fill("Bank", visitor.bank(2)["bic"].lower())
    assert [visitor.bank(2)["name"] in row for row in rows.all_inner_texts()] == [True]
    visitor.fill("Bank", "nothing like it")
    assert (rows.count(), none_fits.is_visible()) == (0, True)
    visitor.fill("Bank", "")
    assert (rows.count(), none_fits.is_visible()) == (count, False)


def test_a_client_with_a_secret_gets_tokens_and_events_without_javascript(visitors: Visitors) -> None:
    visitor = visitors(javascript=False)
    with socket_server(_takes_it) as receiver:
        user.register(visitor)
        user.create_client(visitor, "Secretive", receiver.url, has_secret=True)
        secret = visitor.page.locator("#client-secret").inner_text()
        user.authorize(visitor, 1)
        for given, heading in (("not the secret", "Back from the bank with a code"), (secret, "You have tokens")):
            visitor.fill("Client secret", given)
            visitor.press("Exchange the code")
            assert visitor.page.get_by_role("heading", level=1).inner_text() == heading
        user.go_to(visitor, "Events")
        delivered = visitor.page.locator(".tag.good", has_text="delivered")
        user.reload_until(visitor, visitor.page.locator("tr", has_text="consent.authorised").locator(delivered))
        with visitor.page.expect_navigation():
            visitor.page.locator("tr", has_text="consent.authorised").get_by_role("link").first.click()
        visitor.press("Send it again now")
        user.reload_until(visitor, delivered)

    assert len(receiver.served) >= 2


def test_user_input_is_escaped(visitor: Visitor) -> None:
    user.register(visitor)
    title = "<script>alert(1)</script><img src=x onerror=alert(2)>{{ 7 * 7 }}"
    user.create_client(visitor, title)
    assert visitor.page.get_by_role("heading", level=1).inner_text() == title
    user.go_to(visitor, "Clients")
    visitor.follow(title)
    user.choose_bank(visitor, 1)
    user.run_request(visitor)

    assert title in visitor.page.get_by_role("main").inner_text()
    assert visitor.page.locator("img[src=x]").count() == 0


def _takes_it(connection: Connection) -> None:
    connection.request()
    connection.answer(b"", "204 No Content")
