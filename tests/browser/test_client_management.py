"""Client management and consent revocation with the keyboard alone, with and without JavaScript."""

import pytest
from playwright.sync_api import Route

from tests.browser import user
from tests.browser.page_checks import shifted
from tests.browser.window import Window, Windows

pytestmark = pytest.mark.pages


def open_tab(window: Window, name: str) -> None:
    tabs = window.page.get_by_role("navigation", name="Client", exact=True)
    window.enter_at(tabs.get_by_role("link", name=name, exact=True))


def heading(window: Window) -> str:
    return window.page.get_by_role("heading", level=1).inner_text()


def save(window: Window, action: str) -> None:
    window.enter_at(window.page.locator(f'button[name=action][value="{action}"]'))


@pytest.mark.parametrize(("width", "javascript"), [(1280, True), (390, False)])
def test_a_client_is_managed_with_the_keyboard_alone(windows: Windows, width: int, javascript: bool) -> None:
    window = windows(width=width, javascript=javascript)
    page = window.page
    user.register(window)
    client_id = user.create_client(window, "Before")
    window.open(f"/clients/{client_id}")

    open_tab(window, "Settings")
    window.tab_to(page.get_by_label("Title", exact=True))
    page.keyboard.press("Control+A")
    page.keyboard.type("After")
    save(window, "general")
    assert heading(window) == "After"
    window.tab_to(page.get_by_label("No events", exact=True))
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowDown")
    save(window, "events")
    assert page.get_by_label("Fetched by the client", exact=True).is_checked()

    open_tab(window, "Security")
    window.tab_to(page.get_by_label("DPoP proofs need a nonce of this service"))
    page.keyboard.press("Space")
    save(window, "tokens")
    assert page.get_by_label("DPoP proofs need a nonce of this service").is_checked()
    save(window, "rotate-secret")
    assert page.locator("#client-secret").inner_text()

    open_tab(window, "History")
    assert page.locator("tbody tr").count() == 4
    open_tab(window, "Activity")
    assert "No calls yet" in page.locator("main").inner_text()

    open_tab(window, "Overview")
    window.enter_at(page.get_by_role("link", name="Archive", exact=True))
    assert heading(window) == "Archive this client?"
    window.enter_at(page.get_by_role("link", name="Do not archive it"))
    window.enter_at(page.get_by_role("link", name="Archive", exact=True))
    window.enter_at(page.get_by_role("button", name="Archive", exact=True))
    assert "The client is archived" in page.locator("#toast").inner_text()
    window.enter_at(page.get_by_role("button", name="Restore", exact=True))
    window.enter_at(page.get_by_role("button", name="Reactivate", exact=True))
    assert "active again" in page.locator("#toast").inner_text()


def test_only_the_fields_of_the_selected_authentication_method_are_shown(window: Window) -> None:
    page = window.page
    user.register(window)
    window.open(f"/clients/{user.create_client(window)}/security")
    keys, subject = page.get_by_label("Key set", exact=True), page.get_by_label("Certificate subject")

    assert (keys.is_visible(), subject.is_visible()) == (False, False)
    page.get_by_label("Authentication method").select_option("private_key_jwt")
    assert (keys.is_visible(), subject.is_visible()) == (True, False)
    save(window, "authentication")
    assert page.locator("#jwks-error").is_visible()


def open_keys(window: Window) -> None:
    user.register(window)
    window.open(f"/clients/{user.create_client(window)}/security")
    window.page.get_by_label("Authentication method").select_option("private_key_jwt")
    save(window, "authentication")


def test_a_script_that_loads_after_the_first_paint_causes_no_layout_shift(window: Window) -> None:
    page = window.page
    held: list[Route] = []

    def hold(route: Route) -> None:
        held.append(route)

    open_keys(window)
    page.route("**/site*.js", hold)
    page.reload(wait_until="commit")
    page.wait_for_function("() => performance.getEntriesByName('first-contentful-paint').length > 0")
    for route in held:
        route.continue_()
    page.wait_for_load_state()

    assert len(held) == 1
    assert page.get_by_label("Key set from a file").is_visible()
    assert not shifted(page)


def test_the_file_field_is_hidden_without_javascript(windows: Windows) -> None:
    window = windows(javascript=False)
    open_keys(window)

    assert window.page.get_by_label("Key set", exact=True).is_visible()
    assert not window.page.get_by_label("Key set from a file").is_visible()


def test_a_consent_is_revoked_with_the_keyboard_alone(window: Window) -> None:
    page = window.page
    user.register(window)
    user.create_client(window)
    user.authorize(window, 1)
    window.open("/consents")

    window.enter_at(page.locator("tbody a").first)
    window.enter_at(page.get_by_role("link", name="End this consent"))
    assert heading(window) == "End this consent?"
    window.enter_at(page.get_by_role("button", name="End the consent"))

    assert "The consent has ended." in page.locator("#toast").inner_text()
    assert page.get_by_role("link", name="End this consent").count() == 0


def test_the_second_of_two_concurrent_edits_is_rejected_and_can_then_be_saved(windows: Windows) -> None:
    """The rejected form contains the entered values. Saving this form again overwrites the first edit."""
    window = windows()
    user.register(window)
    client_id = user.create_client(window, "Before")
    window.open(f"/clients/{client_id}/settings")
    other = window.page.context.new_page()
    other.goto(window.page.url)
    for page, title in ((other, "Theirs"), (window.page, "Mine")):
        page.get_by_label("Title", exact=True).fill(title)
        with page.expect_navigation():
            page.locator('button[name=action][value="general"]').click()

    assert "changed after you opened this form" in window.page.get_by_role("alert").inner_text()
    assert heading(window) == "Theirs"
    assert window.page.get_by_label("Title", exact=True).input_value() == "Mine"
    window.page.locator('button[name=action][value="general"]').click()
    window.page.locator("#toast").wait_for()
    assert heading(window) == "Mine"
