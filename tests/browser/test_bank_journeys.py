"""Browser tests of the demonstration banks' pages: consents, payments and revocations."""

import re
from urllib.parse import parse_qs, urlsplit

import pytest

from chalicelib import bootstrap
from chalicelib.demo_bank.pages import MOST_SHOWN
from infra.customers import loading
from tests.browser import page_checks, psu
from tests.browser.conftest import serve_application
from tests.browser.window import Window, Windows
from tests.e2e.parties import Tpp
from tests.infra.operator_files import account, customer, customer_file

pytestmark = pytest.mark.pages

both_banks = pytest.mark.parametrize("version", [1, 2], ids=["bank one", "bank two"])
with_and_without_javascript = pytest.mark.parametrize("javascript", [True, False], ids=["scripts", "no scripts"])


def query(window: Window) -> dict[str, str]:
    return {name: values[0] for name, values in parse_qs(urlsplit(window.page.url).query).items()}


@both_banks
@with_and_without_javascript
def test_a_psu_who_approves_a_consent_returns_with_an_authorization_code(
    windows: Windows, version: int, javascript: bool
) -> None:
    window = windows(javascript=javascript)
    window.open(psu.authorization(window, version))

    psu.approve(window, version)

    assert window.page.url.startswith(f"{window.tpp.callback}?")
    tokens = window.tpp.redeem(query(window)["authorization_code"]).json()
    assert window.tpp.call("GET", "/tpp/accounts", bearer=tokens["access_token"]).json()["accounts"]


@both_banks
def test_a_psu_who_refuses_a_consent_returns_without_an_authorization_code(window: Window, version: int) -> None:
    psu.refuse(window, psu.authorization(window, version))

    assert window.page.url.startswith(f"{window.tpp.callback}?")
    assert query(window)["error"] == "access_denied"
    assert "authorization_code" not in query(window)


@both_banks
@with_and_without_javascript
def test_a_psu_who_confirms_a_payment_sees_the_payment_status_of_the_bank(
    windows: Windows, version: int, javascript: bool
) -> None:
    window = windows(javascript=javascript)
    window.open(psu.direct_payment(window, version))

    psu.sign_in(window, version)
    window.press("Continue")
    psu.enter_key_code(window, "Confirm")

    assert urlsplit(window.page.url).path == "/payments/callback"
    assert window.page.get_by_text(query(window)["payment_id"]).first.is_visible()
    assert window.page.get_by_text("The bank").first.is_visible()


@both_banks
def test_a_call_with_a_consent_revoked_at_the_bank_returns_401(window: Window, version: int) -> None:
    window.open(psu.authorization(window, version))
    psu.approve(window, version)
    bearer = window.tpp.redeem(query(window)["authorization_code"]).json()["access_token"]

    window.open(f"{window.bank(version)['domain']}/consents")
    psu.sign_in(window, version)
    psu.revoke(window)

    assert window.tpp.call("GET", "/tpp/consent", bearer=bearer).status_code == 401


@both_banks
def test_a_psu_can_approve_a_consent_with_the_keyboard_alone(window: Window, version: int) -> None:
    page = window.page
    window.open(psu.authorization(window, version))

    for button, before in (
        (f"Sign in as {psu.CUSTOMER[version]}", None),
        ("Continue", page.get_by_role("checkbox").first),
        ("Approve", page.get_by_label("Key code", exact=True)),
    ):
        if before:
            window.tab_to(before)
            page.keyboard.type(" " if button == "Continue" else page.locator("#sent").inner_text())
        window.enter_at(page.get_by_role("button", name=button, exact=True))

    assert query(window)["authorization_code"]


@both_banks
def test_the_callback_redirects_to_an_application_at_another_origin(
    window: Window, operator: bootstrap.Hub, version: int
) -> None:
    """Chromium also applies ``form-action`` to the redirects that follow a form. The policies of the pages allow
    these redirects.
    """
    callback = "http://application.example/back"
    client = operator.openbanking.clients.create(
        owner="browser@example.com", title="Elsewhere", callback_urls=[callback]
    ).client
    window.tpp = Tpp(window.tpp.base, client.client_id, callback)
    window.may_reach(callback)
    window.forgive("ERR_NAME_NOT_RESOLVED")
    window.open(psu.authorization(window, version))
    psu.sign_in(window, version)
    psu.tick_accounts(window)
    window.press("Continue")

    window.fill("Key code", window.page.locator("#sent").inner_text())
    with window.page.expect_request(lambda request: request.url.startswith(f"{callback}?authorization_code=")):
        window.page.get_by_role("button", name="Approve").click()


@both_banks
def test_an_application_receives_the_postmessage_of_the_callback_window(
    window: Window, operator: bootstrap.Hub, version: int
) -> None:
    """No page of the flow may set a Cross-Origin-Opener-Policy header, which would separate the callback window from
    the application.
    """
    pages = {"/back": "<script>opener.postMessage(location.search, '*')</script>"}
    with serve_application(pages) as shop:
        callback = f"{shop}/back"
        client = operator.openbanking.clients.create(
            owner="browser@example.com", title="Shop", callback_urls=[callback]
        ).client
        window.tpp = Tpp(window.tpp.base, client.client_id, callback)
        window.may_reach(shop)
        pages["/"] = f"""<button onclick="window.open('{psu.authorization(window, version)}')">Connect</button>
            <script>addEventListener("message", event => document.title = event.data)</script>"""
        window.open(f"{shop}/")
        first = window.page
        with first.context.expect_page() as opened:
            first.get_by_role("button", name="Connect").click()
        window.page = opened.value
        psu.approve(window, version)

        first.wait_for_function("() => document.title.includes('authorization_code=')")


@both_banks
def test_a_customer_without_a_sign_in_button_can_enter_the_user_name(
    window: Window, operator: bootstrap.Hub, version: int
) -> None:
    names = [f"guest-{number:02}" for number in range(MOST_SHOWN + 1)]
    people = [
        customer(name, [account(f"{63_000_000 + number}")], banks=[window.bank(version)["bic"]], name=f"Guest {name}")
        for number, name in enumerate(names)
    ]
    loading.load(operator, customer_file(*people))
    try:
        window.open(psu.authorization(window, version))
        assert not page_checks.findings(window.page)
        note = window.page.get_by_text(re.compile("^[0-9]+ more customers? can sign in: enter a user name"))
        assert note.is_visible()
        window.fill("User name", names[-1])
        window.fill("Password", f"sandbox-{names[-1]}")
        window.press("Sign in")
        psu.tick_accounts(window)
        assert window.page.get_by_text("KWD\N{NO-BREAK SPACE}1,250.750").is_visible()
        assert not page_checks.findings(window.page)
    finally:
        loading.delete(operator, names)
