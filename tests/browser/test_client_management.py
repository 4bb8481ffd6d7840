"""Managing a client, and ending a consent, with the keyboard alone; with and without JavaScript."""

from __future__ import annotations

import pytest
from playwright.sync_api import Route

from tests.browser import user
from tests.browser.checks import no_layout_shift
from tests.browser.visitor import Visitor, Visitors

pytestmark = pytest.mark.pages


def open_tab(visitor: Visitor, name: str) -> None:
    """Open one of the views of a client."""
    tabs = visitor.page.get_by_role("navigation", name="Client", exact=True)
    visitor.enter_at(tabs.get_by_role("link", name=name, exact=True))


def heading(visitor: Visitor) -> str:
    return visitor.page.get_by_role("heading", level=1).inner_text()


def save(visitor: Visitor, action: str) -> None:
    visitor.enter_at(visitor.page.locator(f'button[name=action][value="{action}"]'))


@pytest.mark.parametrize(("width", "javascript"), [(1280, True), (390, False)])
def test_a_client_is_managed_with_the_keyboard_alone(visitors: Visitors, width: int, javascript: bool) -> None:
    visitor = visitors(width=width, javascript=javascript)
    page = visitor.page
    user.register(visitor)
    client_id = user.create_client(visitor, "Before")
    visitor.open(f"/clients/{client_id}")

    open_tab(visitor, "Settings")
    visitor.tab_to(page.get_by_label("Title", exact=True))
    page.keyboard.press("Control+A")
    page.keyboard.type("After")
    save(visitor, "general")
    assert heading(visitor) == "After"
    visitor.tab_to(page.get_by_label("No events", exact=True))
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowDown")
    save(visitor, "events")
    assert page.get_by_label("Fetched by the client", exact=True).is_checked()

    open_tab(visitor, "Security")
    visitor.tab_to(page.get_by_label("DPoP proofs need a nonce of this service"))
    page.keyboard.press("Space")
    save(visitor, "tokens")
    assert page.get_by_label("DPoP proofs need a nonce of this service").is_checked()
    save(visitor, "rotate-secret")
    assert page.locator("#client-secret").inner_text()

    open_tab(visitor, "History")
    assert page.locator("tbody tr").count() == 4
    open_tab(visitor, "Activity")
    assert "No calls yet" in page.locator("main").inner_text()

    open_tab(visitor, "Overview")
    visitor.enter_at(page.get_by_role("link", name="Archive", exact=True))
    assert heading(visitor) == "Archive this client?"
    visitor.enter_at(page.get_by_role("link", name="Do not archive it"))
    visitor.enter_at(page.get_by_role("link", name="Archive", exact=True))
    visitor.enter_at(page.get_by_role("button", name="Archive", exact=True))
    assert "The client is archived" in page.locator("#toast").inner_text()
    visitor.enter_at(page.get_by_role("button", name="Restore", exact=True))
    visitor.enter_at(page.get_by_role("button", name="Reactivate", exact=True))
    assert "active again" in page.locator("#toast").inner_text()


def test_only_the_fields_of_the_chosen_authentication_method_are_shown(visitor: Visitor) -> None:
    page = visitor.page
    user.register(visitor)
    visitor.open(f"/clients/{user.create_client(visitor)}/security")
    keys, subject = page.get_by_label("Key set", exact=True), page.get_by_label("Certificate subject")

    assert (keys.is_visible(), subject.is_visible()) == (False, False)
    page.get_by_label("Authentication method").select_option("private_key_jwt")
    assert (keys.is_visible(), subject.is_visible()) == (True, False)
    save(visitor, "authentication")
    assert page.locator("#jwks-error").is_visible()


def open_keys(visitor: Visitor) -> None:
    """Open the Security view of a new client that authenticates with keys."""
    user.register(visitor)
    visitor.open(f"/clients/{user.create_client(visitor)}/security")
    visitor.page.get_by_label("Authentication method").select_option("private_key_jwt")
    save(visitor, "authentication")


def test_a_script_that_loads_after_the_first_paint_causes_no_layout_shift(visitor: Visitor) -> None:
    page = visitor.page
    held: list[Route] = []

    def hold(route: Route) -> None:
        held.append(route)

    open_keys(visitor)
    page.route("**/site*.js", hold)
    page.reload(wait_until="commit")
    page.wait_for_function("() => performance.getEntriesByName('first-contentful-paint').length > 0")
    for route in held:
        route.continue_()
    page.wait_for_load_state()

    assert len(held) == 1
    assert page.get_by_label("Key set from a file").is_visible()
    no_layout_shift(page)


def test_the_file_field_is_hidden_without_javascript(visitors: Visitors) -> None:
    visitor = visitors(javascript=False)
    open_keys(visitor)

    assert visitor.page.get_by_label("Key set", exact=True).is_visible()
    assert not visitor.page.get_by_label("Key set from a file").is_visible()


def test_a_consent_is_ended_with_the_keyboard_alone(visitor: Visitor) -> None:
    page = visitor.page
    user.register(visitor)
    user.create_client(visitor)
    user.authorize(visitor, 1)
    visitor.open("/consents")

    visitor.enter_at(page.locator("tbody a").first)
    visitor.enter_at(page.get_by_role("link", name="End this consent"))
    assert heading(visitor) == "End this consent?"
    visitor.enter_at(page.get_by_role("button", name="End the consent"))

    assert "The consent has ended." in page.locator("#toast").inner_text()
    assert page.get_by_role("link", name="End this consent").count() == 0


def test_the_second_of_two_concurrent_edits_is_rejected_and_can_be_saved_again(visitors: Visitors) -> None:
    """The rejected form keeps its input; saved again, it replaces the first edit."""
    visitor = visitors()
    user.register(visitor)
    client_id = user.create_client(visitor, "Before")
    visitor.open(f"/clients/{client_id}/settings")
    other = visitor.page.context.new_page()
    other.goto(visitor.page.url)
    for page, title in ((other, "Theirs"), (visitor.page, "Mine")):
        page.get_by_label("Title", exact=True).fill(title)
        with page.expect_navigation():
            page.locator('button[name=action][value="general"]').click()

    assert "changed after you opened this form" in visitor.page.get_by_role("alert").inner_text()
    assert heading(visitor) == "Theirs"
    assert visitor.page.get_by_label("Title", exact=True).input_value() == "Mine"
    visitor.page.locator('button[name=action][value="general"]').click()
    visitor.page.locator("#toast").wait_for()
    assert heading(visitor) == "Mine"
