"""The Cards screen: every action is tried with a credential that is entered once, and stays in this browser tab."""

from __future__ import annotations

import pytest

from chalicelib.cards.actions import ACTIONS, SIMULATOR_ACTIONS
from tests.browser import checks
from tests.browser.specification_pages import (
    KEPT,
    body,
    enter_credential,
    execute,
    executed,
    lock_credential,
    opened,
    screen,
)
from tests.browser.visitor import Visitor, Visitors

pytestmark = pytest.mark.pages

LABELS = {"access_key": "Access key", "access_api_id": "API id", "access_api_key": "API key"}


def test_actions_run_without_typing_with_the_credential_in_every_body(visitor: Visitor) -> None:
    page, parts = visitor.page, visitor.stack["programme"]["credentials"]["full"]
    screen(visitor, "cards")
    lock_credential(visitor)
    for action in ("getDesign", "createHolder", "simulateAuthorization"):
        done = executed(page, action)
        assert (action, done.status) == (action, "200")
        assert all(f'"{name}": "{parts[name]}"' in done.command for name in LABELS)
        assert not body(page).keys() & LABELS.keys()
        assert done.body["status"] == ("success" if action in ACTIONS else "error")  # there is no such card yet


def test_ids_of_answers_are_filled_into_other_actions_and_each_request_is_new(visitor: Visitor) -> None:
    page = visitor.page
    screen(visitor, "cards")
    lock_credential(visitor)
    made, again = executed(page, "createHolder").body, execute(page).body
    shown = executed(page, "getHolder").body

    assert (made["duplicated"], again["duplicated"]) == (0, 0)
    assert made["id"] < again["id"]
    assert (shown["status"], shown["data"]["id"]) == ("success", again["id"])


def test_external_payments_run_in_both_directions_without_typing_an_id(visitor: Visitor) -> None:
    page = visitor.page
    screen(visitor, "cards")
    lock_credential(visitor)
    for action in ("createAccount", "assignExternalPaymentAddress", "simulateInboundPayment", "simulateMandate"):
        done = executed(page, action)
        assert (action, done.body["status"]) == (action, "success")
    (mandate,) = done.body["data"].values()

    opened(page, "simulateDirectDebit")
    assert body(page)["epm_mandate_id"] == mandate
    assert executed(page, "transferToExternalPayment").body["status"] == "success"


def test_the_examples_of_an_action_can_be_chosen(visitor: Visitor) -> None:
    screen(visitor, "cards", "createCard")
    lock_credential(visitor)
    visitor.page.get_by_label("Example", exact=True).select_option(label="Create a virtual card")

    asked = body(visitor.page)
    assert asked["card_virtual"] == 1
    assert "delivery_city" not in asked


def test_an_action_without_a_credential_shows_an_error_and_sends_nothing(visitor: Visitor) -> None:
    sent: list[str] = []
    visitor.page.on("request", lambda request: sent.append(request.url))
    screen(visitor, "cards", "getDesign")
    visitor.page.get_by_role("button", name="Execute").click()

    assert "enter the three parts of a credential" in visitor.page.get_by_role("alert").inner_text()
    assert not [url for url in sent if url.endswith("/api")]


def test_a_wrong_credential_is_reported_at_once(visitor: Visitor) -> None:
    screen(visitor, "cards")
    enter_credential(visitor, access_api_key="0" * 64)

    visitor.page.get_by_text("will be refused. The service says: “the credentials are wrong”").wait_for()


def test_a_card_credential_survives_reloads_apart_from_tpp_credentials_until_logout(visitor: Visitor) -> None:
    page, parts = visitor.page, visitor.stack["programme"]["credentials"]["full"]
    screen(visitor, "cards")
    lock_credential(visitor)
    screen(visitor, "account")
    assert page.locator("#client-id").input_value() == ""
    screen(visitor, "cards")
    assert page.get_by_label("API key").input_value() == parts["access_api_key"]
    assert not any(page.get_by_label(label).is_editable() for label in LABELS.values())
    page.get_by_role("button", name="Logout").click()
    page.get_by_role("button", name="Lock", exact=True).wait_for()

    assert [page.get_by_label(label).input_value() for label in LABELS.values()] == ["", "", ""]
    assert page.evaluate(KEPT) == 0


def test_card_data_are_offered_and_not_kept_after_leaving_the_page(visitor: Visitor) -> None:
    page = visitor.page
    screen(visitor, "cards")
    lock_credential(visitor)
    card = executed(page, "createCard").body["data"]
    opened(page, "activateCard")
    kept = page.evaluate("() => JSON.stringify({...sessionStorage})")

    assert (body(page)["card_id"], body(page)["card_cvc2"]) == (card["card_id"], card["cvc2"])
    assert "card_id" in kept
    assert "cvc2" not in kept
    assert card["pan"] not in kept


def test_a_tried_action_is_accessible_and_fits_a_small_screen(visitor: Visitor) -> None:
    page = visitor.page
    screen(visitor, "cards")
    lock_credential(visitor)
    assert executed(page, "createCard").body["status"] == "success"
    page.evaluate("() => document.querySelectorAll('#explorer details').forEach(part => { part.open = true })")

    checks.check_accessibility(page)
    checks.no_horizontal_scroll(page)


def test_every_action_is_listed_without_javascript(visitors: Visitors) -> None:
    visitor = visitors(javascript=False)
    visitor.open("/specifications/cards")

    assert sorted(visitor.page.locator("#operations .x-place").all_inner_texts()) == sorted(
        [*ACTIONS, *SIMULATOR_ACTIONS]
    )
    assert "enable JavaScript" in visitor.page.locator("#credentials-state").inner_text()
