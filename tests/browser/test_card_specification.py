"""The Cards screen: each action runs with a credential that the user enters once and that the tab stores."""

import pytest

from chalicelib.cards.actions import ACTIONS, SIMULATOR_ACTIONS
from tests.browser import page_checks
from tests.browser.explorer import KEPT, body, enter_credential, execute, executed, lock_credential, opened, screen
from tests.browser.window import Window, Windows

pytestmark = pytest.mark.pages

LABELS = {"access_key": "Access key", "access_api_id": "API id", "access_api_key": "API key"}


def test_card_actions_run_without_input_and_send_the_entered_credential(window: Window) -> None:
    page, parts = window.page, window.stack["programme"]["credentials"]["full"]
    screen(window, "cards")
    lock_credential(window)
    for action in ("getDesign", "createHolder", "simulateAuthorization"):
        done = executed(page, action)
        assert (action, done.status) == (action, "200")
        assert all(f'"{name}": "{parts[name]}"' in done.command for name in LABELS)
        assert not body(page).keys() & LABELS.keys()
        assert done.body["status"] == ("success" if action in ACTIONS else "error")  # there is no such card yet


def test_later_card_actions_are_prefilled_with_response_ids_and_have_a_new_reference(window: Window) -> None:
    page = window.page
    screen(window, "cards")
    lock_credential(window)
    made, again = executed(page, "createHolder").body, execute(page).body
    shown = executed(page, "getHolder").body

    assert (made["duplicated"], again["duplicated"]) == (0, 0)
    assert made["id"] < again["id"]
    assert (shown["status"], shown["data"]["id"]) == ("success", again["id"])


def test_inbound_and_outbound_payment_actions_run_without_entering_an_id(window: Window) -> None:
    page = window.page
    screen(window, "cards")
    lock_credential(window)
    for action in ("createAccount", "assignExternalPaymentAddress", "simulateInboundPayment", "simulateMandate"):
        done = executed(page, action)
        assert (action, done.body["status"]) == (action, "success")
    (mandate,) = done.body["data"].values()

    opened(page, "simulateDirectDebit")
    assert body(page)["epm_mandate_id"] == mandate
    assert executed(page, "transferToExternalPayment").body["status"] == "success"


def test_the_examples_of_an_action_can_be_selected(window: Window) -> None:
    screen(window, "cards", "createCard")
    lock_credential(window)
    window.page.get_by_label("Example", exact=True).select_option(label="Create a virtual card")

    asked = body(window.page)
    assert asked["card_virtual"] == 1
    assert "delivery_city" not in asked


def test_an_action_without_a_credential_shows_an_error_and_sends_no_request(window: Window) -> None:
    sent: list[str] = []
    window.page.on("request", lambda request: sent.append(request.url))
    screen(window, "cards", "getDesign")
    window.page.get_by_role("button", name="Execute").click()

    assert "enter the three parts of a credential" in window.page.get_by_role("alert").inner_text()
    assert not [url for url in sent if url.endswith("/api")]


def test_a_wrong_card_credential_is_reported_immediately(window: Window) -> None:
    screen(window, "cards")
    enter_credential(window, access_api_key="0" * 64)

    window.page.get_by_text("will be refused. The service says: “the credentials are wrong”").wait_for()


def test_a_card_credential_is_stored_separately_from_tpp_credentials_until_logout(window: Window) -> None:
    page, parts = window.page, window.stack["programme"]["credentials"]["full"]
    screen(window, "cards")
    lock_credential(window)
    screen(window, "account")
    assert page.locator("#client-id").input_value() == ""
    screen(window, "cards")
    assert page.get_by_label("API key").input_value() == parts["access_api_key"]
    assert not any(page.get_by_label(label).is_editable() for label in LABELS.values())
    page.get_by_role("button", name="Logout").click()
    page.get_by_role("button", name="Lock", exact=True).wait_for()

    assert [page.get_by_label(label).input_value() for label in LABELS.values()] == ["", "", ""]
    assert page.evaluate(KEPT) == 0


def test_card_data_are_suggested_in_later_actions_but_not_stored_by_the_browser(window: Window) -> None:
    page = window.page
    screen(window, "cards")
    lock_credential(window)
    card = executed(page, "createCard").body["data"]
    opened(page, "activateCard")
    kept = page.evaluate("() => JSON.stringify({...sessionStorage})")

    assert (body(page)["card_id"], body(page)["card_cvc2"]) == (card["card_id"], card["cvc2"])
    assert "card_id" in kept
    assert "cvc2" not in kept
    assert card["pan"] not in kept


def test_an_executed_action_is_accessible_and_fits_a_small_screen(window: Window) -> None:
    page = window.page
    screen(window, "cards")
    lock_credential(window)
    assert executed(page, "createCard").body["status"] == "success"
    page.evaluate("() => document.querySelectorAll('#explorer details').forEach(part => { part.open = true })")

    assert not page_checks.inaccessible(page)
    assert not page_checks.too_wide(page)


def test_every_card_action_is_listed_without_javascript(windows: Windows) -> None:
    window = windows(javascript=False)
    window.open("/specifications/cards")

    assert sorted(window.page.locator("#operations .x-place").all_inner_texts()) == sorted(
        [*ACTIONS, *SIMULATOR_ACTIONS]
    )
    assert "enable JavaScript" in window.page.locator("#credentials-state").inner_text()
