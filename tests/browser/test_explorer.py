"""The API explorer: synchronised form and JSON views, search, shortcuts, and next steps after a response."""

import re
from typing import Any

import pytest
from playwright.sync_api import Route

from tests.browser import psu
from tests.browser.explorer import (
    Executed,
    answered,
    authorized,
    body,
    execute,
    executed,
    go_to_screen,
    lock,
    opened,
    sample,
    screen,
    show,
)
from tests.browser.window import Window, wait_for_requests
from tests.kit.time import wait_for

pytestmark = pytest.mark.pages

JSON = "application/json"


def direct_payment(window: Window) -> None:
    screen(window, "payments", "direct_payment_initiation")
    lock(window, window.stack["client"]["client_id"])


# -- the form


def test_the_form_view_and_the_json_view_are_synchronised(window: Window) -> None:
    page = window.page
    direct_payment(window)
    page.get_by_label("reference", exact=True).fill("TEST-PENDING")
    assert body(page)["reference"] == "TEST-PENDING"

    show(page, "JSON")
    raw = page.get_by_label("Request body as JSON")
    raw.fill(raw.input_value().replace('"12.50"', "12.500000000000000000001").replace("TEST-PENDING", "TEST-REFUSED"))
    assert "12.500000000000000000001," in sample(page, "curl")
    show(page, "Form")
    assert page.get_by_label("reference", exact=True).input_value() == "TEST-REFUSED"
    assert page.get_by_label("amount required").input_value() == "12.500000000000000000001"


def test_a_member_without_a_form_field_is_preserved_in_the_json(window: Window) -> None:
    page = window.page
    direct_payment(window)
    show(page, "JSON")
    raw = page.get_by_label("Request body as JSON")
    raw.fill(raw.input_value().replace("{", '{"colour": {"is": [1.10, null]},', 1))
    show(page, "Form")

    assert '"colour": {\n    "is": [\n      1.10,\n      null' in sample(page, "curl")


def test_invalid_json_is_reported_with_its_position_and_not_sent(window: Window) -> None:
    page = window.page
    direct_payment(window)
    show(page, "JSON")
    page.get_by_label("Request body as JSON").fill('{\n  "amount": 12,\n}')
    page.get_by_role("button", name="Execute").click()

    said = page.get_by_role("alert").inner_text()
    assert said == "The body is not JSON: a name in quotes expected in line 3, column 1."
    assert page.locator(".x-body").count() == 0


def test_optional_fields_expand_on_demand_and_list_entries_can_be_added_and_removed(window: Window) -> None:
    page = window.page
    screen(window, "payments", "bulk_payment_initiation")
    assert len(body(page)["payments"]) == 1
    page.get_by_role("button", name="Add an entry to payments").click()
    added = page.locator("fieldset", has=page.get_by_text("payments 2", exact=True)).last
    added.get_by_label("amount required").fill("1.00")
    assert [entry["amount"] for entry in body(page)["payments"]] == ["12.50", "1.00"]
    page.get_by_role("button", name="Remove payments 2").click()
    assert len(body(page)["payments"]) == 1

    opened(page, "direct_payment_initiation")
    page.get_by_text("2 more optional fields").click()
    page.get_by_label("receiver_sort_code").fill("040004")
    assert body(page)["receiver_sort_code"] == "040004"


def test_the_rules_of_a_field_are_shown_and_violations_are_reported(window: Window) -> None:
    page = window.page
    direct_payment(window)
    bic = page.get_by_label("bic required")
    rules = page.locator(".x-field", has=bic).inner_text()
    assert "A BIC of 8 or 11 characters" in rules
    assert "8 to 11 characters" not in rules, "what the description says is not said again"
    assert "1 to 18 characters" in page.locator(".x-field", has=page.get_by_label("reference", exact=True)).inner_text()
    bic.fill("DEMO")
    bic.blur()

    assert "This is too short: 4 of at least 8 characters." in page.locator(".x-field", has=bic).inner_text()
    assert bic.get_attribute("aria-invalid") == "true"


def test_selecting_a_version_2_example_fills_the_version_2_form(window: Window) -> None:
    page = window.page
    direct_payment(window)
    page.get_by_label("Example", exact=True).select_option(label="A version 2 bank")

    assert page.get_by_label("creditor_name").input_value() == "Kaffeerösterei Lindgren"
    assert "DirectPaymentV2(" in sample(page, "Python")


def test_headers_of_an_explorer_call_can_be_edited(window: Window) -> None:
    page = window.page
    authorized(window, 2)
    opened(page, "unified_accounts").get_by_text("more headers").click()
    page.get_by_label("PSU-IP-Address").fill("203.0.113.7")

    assert 'psu=Psu(ip_address="203.0.113.7")' in sample(page, "Python")
    assert "-H 'PSU-IP-Address: 203.0.113.7'" in execute(page).command


def test_entered_values_are_restored_when_an_operation_is_reopened(window: Window) -> None:
    page = window.page
    direct_payment(window)
    page.get_by_label("reference", exact=True).fill("Rent")
    opened(page, "payment_status")
    opened(page, "direct_payment_initiation")

    assert page.get_by_label("reference", exact=True).input_value() == "Rent"


# -- search, keyboard, addresses


def test_operations_are_found_by_words_of_their_name_or_group(window: Window) -> None:
    page = window.page
    screen(window, "cards")
    search, links = page.get_by_label("Search operations"), page.locator("a[data-operation]:visible")
    every = links.count()
    search.fill("limits group")
    assert {"getLimitsGroups", "assignCardToLimitsGroup"} <= {
        each.get_attribute("data-operation") for each in links.all()
    }
    assert links.count() < 6
    search.fill("no such words")
    assert page.get_by_text("No operation contains these words.").is_visible()
    search.press("Escape")
    assert links.count() == every


def test_keyboard_shortcuts_focus_the_search_field_and_execute_a_call(window: Window) -> None:
    page = window.page
    screen(window, "authorization", "banks")
    lock(window, window.stack["client"]["client_id"])
    page.locator("body").press("/")
    assert page.evaluate("() => document.activeElement.id") != "search-operations", "a single key may be a slip"
    page.locator("body").press("Control+k")
    assert page.evaluate("() => document.activeElement.id") == "search-operations"
    page.keyboard.press("Control+Enter")

    assert answered(page).status == "200"


def test_a_next_step_button_focuses_the_response_and_the_execute_button_retains_the_focus(window: Window) -> None:
    page = window.page
    authorized(window, 2)
    execute(page)
    page.get_by_role("button", name="Balance of Girokonto").click()
    answered(page)

    page.wait_for_function("() => document.activeElement.id === 'answer-title'")
    page.get_by_role("button", name="Execute").focus()
    execute(page)
    assert page.evaluate("() => document.activeElement.textContent") == "Execute"


def test_each_operation_has_its_own_address_in_the_browser_history(window: Window) -> None:
    page = window.page
    screen(window, "payments", "payment_status")
    assert page.locator("#operation-title").inner_text() == "Read a payment's status"
    opened(page, "bulk_payment_initiation")
    assert page.url.endswith("#bulk_payment_initiation")
    page.go_back()

    page.get_by_role("heading", name="Read a payment's status").wait_for()


@pytest.mark.parametrize("fragment", ["main", "nothing", "%E0%A4%A"])
def test_an_unknown_operation_address_shows_the_first_operation(window: Window, fragment: str) -> None:
    screen(window, "payments", fragment)

    assert window.page.locator("#operation-title").inner_text() == "Initiate a payment"


# -- answers


def test_a_response_shows_status_times_headers_and_foldable_json(window: Window) -> None:
    page = window.page
    authorized(window, 2)
    done = executed(page, "unified_accounts")

    assert re.fullmatch(r"200 OK in \d+ ms \(hub \d+ ms, bank \d+ ms\), \d+ bytes", " ".join(done.summary.split()))
    page.locator(".x-answer").get_by_text("Headers (").click()
    assert page.locator(".x-headers").get_by_text("server-timing").is_visible()
    account = page.locator(".json-node .json-node .json-node").first
    assert account.get_by_text('"iban"').is_visible()
    account.locator("summary").first.click()
    assert not account.get_by_text('"iban"').is_visible()
    assert account.locator(".json-folded").first.inner_text() == "8"


@pytest.mark.parametrize(
    ("title", "order", "status", "member"),
    [
        ("Unified", "unified_payments", "unified_payment_status", "native_status"),
        ("Payments", "payment_initiation", "payment_status", "transaction_status"),
    ],
)
def test_a_payment_is_followed_to_its_final_status_without_copying_ids(
    window: Window, title: str, order: str, status: str, member: str
) -> None:
    page = window.page
    authorized(window, 2)
    go_to_screen(window, title)
    paid = executed(page, order)
    with page.expect_popup() as opened_tab:
        page.get_by_role("link", name="Confirm at the bank (new tab)").click()
    bank, here = opened_tab.value, window.page
    window.page = bank
    psu.confirm(window, 2)
    window.page = here
    page.get_by_role("button", name="Check the status").click()
    found = answered(page)

    assert page.url.endswith(f"#{status}")
    assert found.body["payment_id"] == paid.body["payment_id"]
    assert found.body[member] in ("ACSC", "ACCC", "ACSP")
    page.get_by_role("button", name="Check again").click()
    assert answered(page).body["payment_id"] == paid.body["payment_id"]


@pytest.mark.parametrize(
    ("name", "operation", "bic"),
    [("unified", "unified_direct_payments", "DEMODEF1"), ("payments", "direct_payment_initiation", "DEMOGB21")],
)
def test_the_status_of_a_direct_payment_is_requested_with_its_bic(
    window: Window, name: str, operation: str, bic: str
) -> None:
    page = window.page
    screen(window, name, operation)
    lock(window, window.stack["client"]["client_id"])
    assert execute(page).status == "200"
    page.get_by_role("button", name="Check the status").click()

    assert answered(page).status == "200"
    assert f"bic={bic}" in sample(page, "curl")
    assert f'bic="{bic}"' in sample(page, "Python")


def test_only_an_explicit_retry_of_a_payment_reuses_the_idempotency_key(window: Window) -> None:
    page = window.page
    keys: list[Any] = []
    page.on("request", lambda request: keys.append(request.headers.get("idempotency-key")))
    direct_payment(window)
    keys.clear()
    first, second = execute(page).body, execute(page).body
    page.get_by_role("button", name="Repeat with the same key").click()
    again = answered(page).body

    assert first["payment_id"] != second["payment_id"] == again["payment_id"]
    assert keys[0] != keys[1] == keys[2]


def test_the_outcome_of_an_asynchronous_call_is_requested_with_one_click(window: Window) -> None:
    page = window.page
    authorized(window, 2)
    opened(page, "unified_accounts")
    page.get_by_label("Prefer").fill("respond-async")
    accepted = execute(page)
    assert accepted.status == "202"
    page.get_by_role("button", name="Fetch the outcome").click()

    def look() -> Executed | None:
        found = answered(page)
        if found.body["state"] == "done":
            return found
        page.get_by_role("button", name="Fetch again").click()
        return None

    done = wait_for(look, "the outcome does not come")
    assert done.body["status"] == 200
    page.get_by_role("button", name="Balance of Girokonto").click()
    assert answered(page).body["balances"]


def test_a_double_click_on_a_next_step_sends_one_request(window: Window) -> None:
    page = window.page
    asked: list[Route] = []

    def hold(route: Route) -> None:
        asked.append(route)

    direct_payment(window)
    page.route("**/tpp/requests/*", hold)
    page.route(
        "**/tpp/direct_payment_initiation",
        lambda route: route.fulfill(status=202, headers={"Location": "/tpp/requests/1"}, body="{}"),
    )
    execute(page)
    page.get_by_role("button", name="Fetch the outcome").dblclick()
    page.locator(".x-answer[aria-busy]").wait_for()
    wait_for_requests(page)

    assert len(asked) == 1
    asked[0].fulfill(status=200, content_type=JSON, body='{"state": "running"}')
    assert answered(page).body == {"state": "running"}


def test_the_next_page_of_a_list_is_requested_with_one_click(window: Window) -> None:
    page = window.page
    screen(window, "authorization", "banks")
    lock(window, window.stack["client"]["client_id"])
    page.get_by_label("limit").fill("1")
    first = execute(page).body["banks"][0]
    page.get_by_role("button", name="Next page").click()
    second = answered(page).body

    assert (second["page"], second["limit"]) == (2, 1)
    assert second["banks"][0]["bic"] > first["bic"]


@pytest.mark.parametrize("version", [1, 2])
def test_the_next_page_of_transactions_is_requested_with_its_cursor(window: Window, version: int) -> None:
    page = window.page
    authorized(window, version)
    opened(page, "unified_transactions")
    page.get_by_label("limit").fill("2")
    first = execute(page).body
    page.get_by_role("button", name="Next page").click()
    second = answered(page).body

    assert page.get_by_label("cursor").input_value() == first["next_cursor"]
    keys = [{each["stable_key"] for each in found["transactions"]} for found in (first, second)]
    assert all(keys)
    assert not keys[0] & keys[1]


@pytest.mark.parametrize(
    ("title", "accounts", "member", "transactions"),
    [
        ("Unified", "unified_accounts", "account_id", "unified_transactions"),
        ("Account", "accounts", "resource_id", "account_transactions"),
    ],
)
def test_ids_of_a_response_are_suggested_in_other_calls(
    window: Window, title: str, accounts: str, member: str, transactions: str
) -> None:
    page = window.page
    authorized(window, 2)
    go_to_screen(window, title)
    ids = [account[member] for account in executed(page, accounts).body["accounts"]]
    opened(page, transactions)
    field = page.get_by_label("account_id")
    field.focus()
    offered = field.evaluate("field => [...field.list.options].map(option => option.value)")

    assert set(ids) <= set(offered)


def test_urls_in_a_response_are_links_and_markup_is_escaped(window: Window) -> None:
    page = window.page
    evil = '{"logo": "https://hub.example/logo", "bad": "javascript:alert(1)", "html": "<img src=x onerror=alert(1)>"}'

    def answer(route: Route) -> None:
        route.fulfill(status=200, content_type=JSON, body=evil)

    page.route("**/tpp/banks", answer)
    screen(window, "authorization", "banks")
    lock(window, window.stack["client"]["client_id"])
    execute(page)
    link = page.locator(".json a")

    assert link.count() == 1
    assert (link.get_attribute("href"), link.get_attribute("rel")) == (
        "https://hub.example/logo",
        "noopener noreferrer",
    )
    assert page.locator(".json img").count() == 0
    assert "<img src=x onerror=alert(1)>" in page.locator(".json").inner_text()


def test_a_request_without_a_response_shows_an_explanation(window: Window) -> None:
    page = window.page
    window.forgive("Failed to load resource: net::ERR_")
    direct_payment(window)
    page.route("**/tpp/direct_payment_initiation", lambda route: route.abort("connectionreset"))
    page.get_by_role("button", name="Execute").click()
    summary = page.locator(".x-answer:not([aria-busy]) .x-summary:has(strong)")
    summary.wait_for()

    assert summary.inner_text().startswith("No answer after")
    assert "Whether the call took effect is not known" in page.locator(".x-content").inner_text()
    page.unroute("**/tpp/direct_payment_initiation")
    page.get_by_role("button", name="Repeat with the same key").click()
    page.locator(".x-status.good").wait_for()


def test_a_large_response_is_rendered_in_parts(window: Window) -> None:
    page = window.page
    rows = ",".join(f'{{"number": {number}}}' for number in range(2000))
    page.route("**/tpp/banks", lambda route: route.fulfill(status=200, content_type=JSON, body=f"[{rows}]"))
    screen(window, "authorization", "banks")
    lock(window, window.stack["client"]["client_id"])
    execute(page)

    assert page.locator(".json *").count() < 2000
    page.get_by_role("button", name="Show 100 more of 1900").click()
    assert page.get_by_role("button", name="Show 100 more of 1800").is_visible()


@pytest.mark.parametrize("width", [390, 800, 1180, 1600])
def test_the_response_is_visible_without_scrolling_at_every_screen_width(windows: Any, width: int) -> None:
    window = windows(width=width)
    page = window.page
    direct_payment(window)
    execute(page)
    box = page.locator(".x-summary").bounding_box()

    assert box is not None
    assert 0 <= box["y"] < 600
    assert page.locator(".x-summary").get_attribute("role") == "status"
