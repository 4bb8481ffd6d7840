"""The Cards screen: every action is tried with a credential that is entered once, and stays in this browser tab."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import pytest
from playwright.sync_api import Locator, Page

from chalicelib.cards.actions import ACTIONS, SIMULATOR_ACTIONS
from tests.browser import checks
from tests.browser.specification_pages import KEPT, SWAGGER_UI, executed, opened, screen
from tests.browser.visitor import Visitor

pytestmark = pytest.mark.pages

LABELS = {"access_key": "Access key", "access_api_id": "API id", "access_api_key": "API key"}


def credential(visitor: Visitor) -> Mapping[str, str]:
    found: Mapping[str, str] = visitor.stack["programme"]["credentials"]["full"]
    return found


def enter(visitor: Visitor, parts: Mapping[str, str]) -> None:
    for part, label in LABELS.items():
        visitor.fill(label, parts[part])
    visitor.page.get_by_role("button", name="Lock", exact=True).click()


def lock(visitor: Visitor) -> None:
    enter(visitor, credential(visitor))
    visitor.page.locator("#credentials-state", has_text="Locked.").wait_for()


def asked(operation: Locator) -> dict[str, Any]:
    """The body that an operation offers to send."""
    found: dict[str, Any] = json.loads(operation.get_by_label("Request body").input_value())
    return found


def operation(page: Page, action: str) -> Locator:
    return page.locator(".opblock", has=page.locator(f'[data-path="{action}"]'))


def test_actions_are_tried_without_typing_with_the_credential_in_every_body(visitor: Visitor) -> None:
    page, parts = visitor.page, credential(visitor)
    screen(visitor, "cards")
    lock(visitor)
    for action in ("getDesign", "createHolder", "simulateAuthorization"):
        status, body, command = executed(page, action)
        assert (action, status) == (action, "200")
        assert "#" not in command.splitlines()[1]
        assert all(f'"{name}": "{part}"' in command for name, part in parts.items())
        assert not asked(operation(page, action)).keys() & LABELS.keys()
        assert body["status"] == ("success" if action in ACTIONS else "error")  # there is no such card yet


def test_what_answers_name_is_filled_into_other_examples_and_each_request_is_one_of_its_own(visitor: Visitor) -> None:
    page = visitor.page
    screen(visitor, "cards")
    lock(visitor)
    made = executed(page, "createHolder")[1]
    first = operation(page, "createHolder")
    first.get_by_role("button", name="Execute").click()
    page.wait_for_function(
        "([place, id]) => JSON.parse(document.querySelector(place)?.innerText ?? '{}').id > id",
        arg=[".live-responses-table pre.microlight", made["id"]],
    )
    again = json.loads(first.locator(".live-responses-table pre.microlight").first.inner_text())
    shown = executed(page, "getHolder")[1]

    assert (made["duplicated"], again["duplicated"]) == (0, 0)
    assert (shown["status"], shown["data"]["id"]) == ("success", again["id"])


def test_money_comes_in_and_goes_out_without_typing_an_id(visitor: Visitor) -> None:
    page = visitor.page
    screen(visitor, "cards")
    lock(visitor)
    for action in ("createAccount", "assignExternalPaymentAddress", "simulateInboundPayment", "simulateMandate"):
        _, body, _ = executed(page, action)
        assert (action, body["status"]) == (action, "success")
        operation(page, action).locator(".opblock-summary-control").click()  # what is open is drawn anew each time
    (mandate,) = body["data"].values()

    assert asked(opened(page, "simulateDirectDebit"))["epm_mandate_id"] == mandate
    assert executed(page, "transferToExternalPayment")[1]["status"] == "success"


def test_an_actions_examples_are_there_to_choose_from(visitor: Visitor) -> None:
    screen(visitor, "cards")
    lock(visitor)
    card = opened(visitor.page, "createCard")
    card.get_by_label("Example").first.select_option(label="Create a virtual card")

    visitor.page.wait_for_function(
        "text => document.querySelector('textarea').value.includes(text)", arg='"card_virtual": 1'
    )
    assert "delivery_city" not in asked(card)


def test_without_a_credential_nothing_is_sent_and_it_is_said(visitor: Visitor) -> None:
    sent: list[str] = []
    visitor.page.on("request", lambda request: sent.append(request.url))
    screen(visitor, "cards")
    tried = opened(visitor.page, "getDesign")
    tried.get_by_role("button", name="Execute").click()

    assert "enter the three parts of a credential" in tried.get_by_role("alert").inner_text()
    assert not [url for url in sent if url.endswith("/api")]


def test_a_credential_that_will_be_refused_is_told_at_once(visitor: Visitor) -> None:
    screen(visitor, "cards")
    enter(visitor, {**credential(visitor), "access_api_key": "0" * 64})

    visitor.page.get_by_text("will be refused. The service says: “the credentials are wrong”").wait_for()


def test_a_credential_holds_across_reloads_apart_from_that_of_tpps_until_logout(visitor: Visitor) -> None:
    page, parts = visitor.page, credential(visitor)
    screen(visitor, "cards")
    lock(visitor)
    screen(visitor, "account")
    assert page.locator("#client-id").input_value() == ""
    screen(visitor, "cards")
    assert page.get_by_label("API key").input_value() == parts["access_api_key"]
    assert not any(page.get_by_label(label).is_editable() for label in LABELS.values())
    page.get_by_role("button", name="Logout").click()
    page.get_by_role("button", name="Lock", exact=True).wait_for()

    assert [page.get_by_label(label).input_value() for label in LABELS.values()] == ["", "", ""]
    assert page.evaluate(KEPT) == 0


def test_a_tried_action_is_accessible_and_fits_a_small_screen(visitor: Visitor) -> None:
    page = visitor.page
    screen(visitor, "cards")
    lock(visitor)
    assert executed(page, "createCard")[1]["status"] == "success"
    page.get_by_role("tab", name="Schema").first.click()

    checks.check_accessibility(page, besides=SWAGGER_UI)
    checks.no_horizontal_scroll(page)


def test_without_javascript_every_action_is_listed(visitors: Any) -> None:
    visitor = visitors(javascript=False)
    visitor.open("/specifications/cards")

    assert sorted(visitor.page.locator(".opblock-summary-path").all_inner_texts()) == sorted(
        [*ACTIONS, *SIMULATOR_ACTIONS]
    )
    assert "enable JavaScript" in visitor.page.locator("#credentials-state").inner_text()
