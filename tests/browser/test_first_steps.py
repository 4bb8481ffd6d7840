"""A TPP developer uses the web interface without instructions to get tokens and a balance.

``make test`` runs the test that reads a balance at one bank. ``make test-pages`` runs the other tests.
"""

import secrets

import pytest

from tests.browser import psu, user
from tests.browser.explorer import answered
from tests.browser.window import Window, Windows
from tests.e2e.parties import Tpp


@pytest.mark.pages
@pytest.mark.parametrize("javascript", [True, False], ids=["with JavaScript", "without JavaScript"])
@pytest.mark.parametrize("version", [1, 2])
def test_a_new_user_gets_valid_tokens(windows: Windows, version: int, javascript: bool) -> None:
    window = windows(javascript=javascript, width=390 if version == 2 else 1280)
    user.register(window)
    window.follow("Create a client")
    window.fill("Title", "First try")
    window.press("Create")
    client_id = window.page.locator("#client-id").inner_text()
    user.authorize(window, version)

    heading = window.page.get_by_role("heading", level=1)
    assert heading.inner_text() == "You have tokens"
    assert "authorization_code" not in window.page.url
    bearer = window.page.locator("#access-token").inner_text()
    asker = Tpp(window.stack["base_url"], client_id, window.tpp.callback)
    assert asker.call("GET", "/tpp/accounts", bearer=bearer).status_code == 200
    window.page.reload()
    assert heading.inner_text() == "You have tokens"
    window.press("Refresh the tokens")
    refreshed = window.page.locator("#access-token").inner_text()
    assert refreshed != bearer
    assert asker.call("GET", "/tpp/accounts", bearer=refreshed).status_code == 200
    window.follow("End the consent")
    window.press("End the consent")
    assert asker.call("GET", "/tpp/accounts", bearer=refreshed).status_code == 401


MOST_CLICKS = 12
"""The maximum number of clicks on buttons, links, boxes and options from the first page to a balance."""
COUNTS = """() => {
  const count = (event) => {
    const wanted = event.target.closest('a, button, summary, input[type=checkbox], input[type=radio], select')
    if (wanted) window.countClick(wanted.textContent.trim() || wanted.id || wanted.tagName)
  }
  addEventListener('click', (event) => event.isTrusted && count(event), true)
  addEventListener('change', (event) => event.target.tagName === 'SELECT' && count(event), true)
}"""
"""A script that counts the clicks on all pages, including the bank's pages. Typed text does not count."""


@pytest.mark.parametrize("version", [pytest.param(1, marks=pytest.mark.pages), 2])
def test_a_new_user_reads_the_first_balance_in_at_most_12_clicks(window: Window, version: int) -> None:
    clicks: list[str] = []

    def count(what: str) -> None:
        clicks.append(what)

    page, name = window.page, str(window.bank(version)["name"])
    page.expose_function("countClick", count)
    page.add_init_script(f"({COUNTS})()")
    window.open("/")
    with page.expect_navigation():
        page.locator("main").get_by_role("link", name="Register").click()
    window.fill("Email", f"{secrets.token_hex(6)}@example.com")
    window.fill("Password", user.PASSWORD)
    page.get_by_label("I agree to the terms").check()
    window.press("Register")
    page.get_by_label("Bank").select_option(label=name)
    window.press("Create a client and authorize")
    user.run_request(window)
    psu.sign_in(window, version)
    page.get_by_role("checkbox").first.check()
    window.press("Continue")
    psu.enter_key_code(window, "Approve")
    window.follow("Show a balance")
    page.wait_for_url("**#unified_balances")
    balance = answered(page)

    assert balance.status == "200"
    assert balance.body["balances"][0]["amount"]["value"]
    assert "show=" not in page.url, "loading the page again asks for nothing by itself"
    assert len(clicks) <= MOST_CLICKS, clicks
    assert len(clicks) >= 8, "the presses are counted"


@pytest.mark.pages
def test_a_new_user_reads_the_first_balance_by_keyboard_alone(window: Window) -> None:
    page, name = window.page, str(window.bank(2)["name"])

    window.open("/")
    window.enter_at(page.locator("main").get_by_role("link", name="Register"))
    for label, text in (("Email", f"{secrets.token_hex(6)}@example.com"), ("Password", user.PASSWORD)):
        window.tab_to(page.get_by_label(label, exact=True))
        page.keyboard.type(text)
    window.tab_to(page.get_by_label("I agree to the terms"))
    page.keyboard.press("Space")
    window.enter_at(page.get_by_role("button", name="Register", exact=True))
    window.tab_to(page.get_by_label("Bank"))
    page.keyboard.type(name)
    window.enter_at(page.get_by_role("button", name="Create a client and authorize"))
    window.enter_at(page.get_by_role("button", name="Run and go to the bank"))
    window.enter_at(page.get_by_role("button", name=f"Sign in as {psu.CUSTOMER[2]}"))
    window.tab_to(page.get_by_role("checkbox").first)
    page.keyboard.press("Space")
    window.enter_at(page.get_by_role("button", name="Continue"))
    code = page.locator("#sent").inner_text()
    window.tab_to(page.locator("#key_code"))
    page.keyboard.type(code)
    window.enter_at(page.get_by_role("button", name="Approve", exact=True))
    window.enter_at(page.get_by_role("link", name="Show a balance"))
    page.wait_for_url("**#unified_balances")

    assert answered(page).status == "200"
