"""Event pages: updates without a reload, the built-in receiver, and resending events with the keyboard."""

import re
import threading

import pytest
from playwright.sync_api import Route

from chalicelib.bootstrap import Hub
from chalicelib.delivery.client_events import FIRST
from chalicelib.delivery.delivery_record import client_receiver
from chalicelib.foundation.clock import milliseconds
from tests.browser import page_checks, user
from tests.browser.window import Window, wait_for_requests
from tests.kit.http import Connection, socket_server
from tests.kit.time import PATIENCE_SECONDS

pytestmark = pytest.mark.pages

_CHANGE = "document.dispatchEvent(new Event('visibilitychange'))"
HIDDEN = f"Object.defineProperty(document, 'hidden', {{ configurable: true, get: () => true }}); {_CHANGE}"
SEEN = f"delete document.hidden; {_CHANGE}"


def test_new_events_are_shown_without_a_reload_and_without_an_external_receiver(window: Window) -> None:
    user.register(window)
    user.create_client(window)
    user.go_to(window, "Events")
    window.press("Answers 200")
    watcher = window.page.context.new_page()
    watcher.goto(window.page.url)
    rows = watcher.locator("tbody tr")
    for count in (1, 2):
        window.press("Send a test event")
        watcher.locator("tbody tr", has=watcher.locator(".tag.good")).nth(count - 1).wait_for()
        assert rows.count() == count
        if count == 1:
            watcher.evaluate("(window.kept = document.querySelector('tbody a')).focus()")
        user.go_to(window, "Events")

    assert watcher.evaluate("document.activeElement === window.kept")
    assert "new" in watcher.get_by_role("status").inner_text()
    rows.first.get_by_role("link").click()
    watcher.get_by_text('"built-in"').first.wait_for()


def test_the_event_list_does_not_poll_while_the_page_is_hidden(window: Window) -> None:
    page, latest, asked = window.page, "**/deliveries/latest?*", list[str]()
    user.register(window)
    user.create_client(window)
    page.clock.install()
    user.go_to(window, "Events")
    page.on("request", lambda request: asked.append(request.url) if "/latest" in request.url else None)
    with page.expect_response(latest):
        page.clock.run_for(3100)
    page.evaluate(HIDDEN)
    page.clock.run_for(60_000)
    assert len(asked) == 1

    with page.expect_response(latest):
        page.evaluate(SEEN)


def test_the_event_list_polls_less_often_after_failures_and_reports_a_signed_out_session(window: Window) -> None:
    page, latest, asked = window.page, "**/deliveries/latest?*", list[str]()

    def fail(route: Route) -> None:
        asked.append(route.request.url)
        route.fulfill(status=503)

    user.register(window)
    user.create_client(window)
    window.forgive("503")
    page.clock.install()
    user.go_to(window, "Events")
    page.route(latest, fail)
    for wait, count in ((3, 1), (3, 1), (3, 2), (9, 2), (3, 3)):
        page.clock.run_for(wait * 1000 + 50)
        wait_for_requests(page)
        assert len(asked) == count
    page.unroute(latest)
    page.context.clear_cookies()
    page.clock.run_for(25_000)
    page.get_by_text("You have been signed out.").wait_for()

    assert page.get_by_role("link", name="Reload").is_visible()


def create_fetching_client(window: Window, operator: Hub) -> str:
    user.register(window)
    client_id = user.create_client(window)
    operator.openbanking.clients.update(client_id, events="poll")
    return client_id


def record_event(operator: Hub, client_id: str, event: str, at: int) -> None:
    """Record an event for the client. ``at`` is the time in Unix milliseconds."""
    _, put = operator.delivery.event_log.put_event(client_receiver(client_id), event, "{}", at)
    operator.store.transact([put])


def test_filtered_event_rows_remain_when_new_events_are_shown(window: Window, operator: Hub) -> None:
    page, client_id = window.page, create_fetching_client(window, operator)
    now = milliseconds(operator.clock)
    record_event(operator, client_id, "consent.revoked", now - 10_000)
    for number in range(2 * FIRST):
        record_event(operator, client_id, "test", now - number)
    window.open(f"/deliveries?client_id={client_id}&type=consent.revoked")
    assert page.locator("tbody tr").count() == 1
    record_event(operator, client_id, "consent.revoked", now + 1)
    page.locator("tbody tr").nth(1).wait_for()
    page.get_by_text("1 new one.").wait_for()

    with page.expect_response(re.compile("/deliveries/latest")) as again:
        pass
    assert (again.value.status, page.locator("tbody tr").count()) == (204, 2)


def test_older_event_rows_remain_when_new_rows_replace_the_latest_rows(window: Window, operator: Hub) -> None:
    page, client_id = window.page, create_fetching_client(window, operator)
    now = milliseconds(operator.clock)
    for number in range(25):
        record_event(operator, client_id, "test", now - number)
    window.open(f"/deliveries?client_id={client_id}")
    rows = [f"<tr{row}" for row in page.locator("tbody").inner_html().split("<tr")[1:]]
    assert len(rows) == 25
    new = [re.sub('data-key="[^"]*"', f'data-key="new-{number}"', rows[0]) for number in range(5)]
    answer = f'<tbody data-cursor="" data-back-to="{now - 14}">{"".join(new + rows[5:15])}</tbody>'
    page.route("**/deliveries/latest?*", lambda route: route.fulfill(content_type="text/html", body=answer))
    page.get_by_text("5 new ones.").wait_for()

    assert page.locator("tbody tr").count() == 25


def test_the_event_page_updates_until_the_event_is_delivered(window: Window) -> None:
    page, let_go = window.page, threading.Event()

    def receive(connection: Connection) -> None:
        connection.request()
        let_go.wait(PATIENCE_SECONDS)
        connection.answer(b'{"thanks":true}')

    with socket_server(receive) as receiver:
        user.register(window)
        user.create_client(window, "Eventful", receiver.url)
        window.press("Send a test event")
        page.locator(".tag", has_text=re.compile("running|due")).wait_for()
        page.get_by_text("As text").click()
        page.get_by_role("button", name="Send a test event").or_(page.get_by_role("link", name="Eventful")).focus()
        let_go.set()
        page.locator(".tag.good", has_text="delivered").wait_for()

    assert page.locator("#live-said").inner_text() == "test: delivered"
    assert page.get_by_text("thanks").first.is_visible()
    assert page.locator("#section-payload details[open] > summary", has_text="As text").is_visible()
    assert page.locator("[data-live]").count() == 0
    assert not page_checks.findings(page)


def test_the_event_page_does_not_poll_while_the_page_is_hidden(window: Window) -> None:
    page, asked = window.page, list[str]()
    user.register(window)
    user.create_client(window, events_url="http://127.0.0.1:9/events")
    window.press("Send a test event")
    user.reload_until(window, page.locator("article.attempt"))
    page.clock.install()
    page.reload()
    page.on("request", lambda request: asked.append(request.url) if "format=json" in request.url else None)
    with page.expect_response("**/deliveries/*?format=json"):
        page.clock.run_for(3100)
    page.evaluate(HIDDEN)
    page.clock.run_for(60_000)
    assert len(asked) == 1

    with page.expect_response("**/deliveries/*?format=json"):
        page.evaluate(SEEN)
        page.clock.run_for(100)


def test_the_event_page_shows_a_reload_link_after_30_minutes(window: Window) -> None:
    page = window.page
    user.register(window)
    user.create_client(window, events_url="http://127.0.0.1:9/events")
    window.press("Send a test event")
    user.reload_until(window, page.locator("article.attempt"))
    page.clock.install()
    page.reload()
    assert page.get_by_text("this page updates automatically").is_visible()
    assert not page.get_by_role("link", name="Reload").count()
    page.clock.run_for(31 * 60_000)
    page.locator("p.small", has_text="This page no longer follows it.").wait_for()
    with page.expect_navigation():
        page.get_by_role("link", name="Reload").click()


def test_each_built_in_receiver_in_the_settings_returns_the_labelled_response(window: Window) -> None:
    page = window.page
    user.register(window)
    user.create_client(window)
    for behaviour, kind, status in (
        ("Answers 500", "bad", "status 500"),
        ("Answers 200 after 5 s", "good", "status 200"),
    ):
        user.go_to(window, "Clients")
        page.locator("tbody a").first.click()
        window.follow("Settings")
        window.press(behaviour)
        window.press("Send a test event")
        page.locator(f"article .tag.{kind}", has_text=status).wait_for()
        took = re.search(r"([0-9]+) ms", page.locator("article.attempt").first.inner_text())
        assert took is not None
        assert (int(took[1]) >= 5000) is ("after" in behaviour)


def test_an_event_is_found_copied_and_resent_with_the_keyboard_alone(window: Window) -> None:
    page = window.page
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    user.register(window)
    user.create_client(window)
    window.enter_at(page.get_by_role("navigation", name="Main").get_by_role("link", name="Events", exact=True))
    window.enter_at(page.get_by_role("button", name="Answers 200", exact=True))
    window.enter_at(page.get_by_role("button", name="Send a test event"))
    page.locator(".tag.good", has_text="delivered").wait_for()
    window.tab_to(page.locator("summary", has_text="Headers"))
    page.keyboard.press("Space")
    page.get_by_text("webhook-signature").first.wait_for()
    page.evaluate("document.activeElement.blur()")
    window.tab_to(page.get_by_role("button", name="Copy the payload", exact=True))
    page.keyboard.press("Enter")
    page.get_by_text("Copied", exact=True).wait_for()
    assert '"This is a test."' in page.evaluate("navigator.clipboard.readText()")
    window.open(page.url)
    window.enter_at(page.get_by_role("button", name="Send it again now"))
    page.locator("article.attempt").nth(1).wait_for()

    user.go_to(window, "Events")
    window.tab_to(page.get_by_label("State"))
    page.keyboard.type("Delivered")
    window.enter_at(page.get_by_role("button", name="Filter", exact=True))
    assert page.locator("tbody tr").count() == 1
