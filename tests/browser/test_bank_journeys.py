"""A PSU's ways through the demonstration banks, in a real browser."""

from __future__ import annotations

import re
from urllib.parse import parse_qs, urlsplit

import pytest

from chalicelib import bootstrap
from chalicelib.demo_bank.pages import MOST_SHOWN
from infra.customers import loading
from tests.browser import checks, psu
from tests.browser.application import serving
from tests.browser.visitor import Visitor, Visitors
from tests.e2e.parties import Tpp
from tests.kit.customer_files import account, customer, written

pytestmark = pytest.mark.pages

both_banks = pytest.mark.parametrize("version", [1, 2], ids=["bank one", "bank two"])
with_and_without_javascript = pytest.mark.parametrize("javascript", [True, False], ids=["scripts", "no scripts"])


def query(visitor: Visitor) -> dict[str, str]:
    """What the address that the browser is at says."""
    return {name: values[0] for name, values in parse_qs(urlsplit(visitor.page.url).query).items()}


@both_banks
@with_and_without_javascript
def test_an_approving_psu_returns_with_a_code(visitors: Visitors, version: int, javascript: bool) -> None:
    visitor = visitors(javascript=javascript)
    visitor.open(psu.authorization(visitor, version))

    psu.approve(visitor, version)

    assert visitor.page.url.startswith(f"{visitor.tpp.callback}?")
    tokens = visitor.tpp.redeem(query(visitor)["authorization_code"]).json()
    assert visitor.tpp.call("GET", "/tpp/accounts", bearer=tokens["access_token"]).json()["accounts"]


@both_banks
def test_a_refusing_psu_returns_without_a_code(visitor: Visitor, version: int) -> None:
    psu.refuse(visitor, psu.authorization(visitor, version))

    assert visitor.page.url.startswith(f"{visitor.tpp.callback}?")
    assert query(visitor)["error"] == "access_denied"
    assert "authorization_code" not in query(visitor)


@both_banks
@with_and_without_javascript
def test_a_confirming_psu_sees_the_payment_status_of_the_bank(
    visitors: Visitors, version: int, javascript: bool
) -> None:
    visitor = visitors(javascript=javascript)
    visitor.open(psu.direct_payment(visitor, version))

    psu.take_place(visitor, version)
    visitor.press("Continue")
    psu.give_key_code(visitor, "Confirm")

    assert urlsplit(visitor.page.url).path == "/payments/callback"
    assert visitor.page.get_by_text(query(visitor)["payment_id"]).first.is_visible()
    assert visitor.page.get_by_text("The bank").first.is_visible()


@both_banks
def test_a_consent_revoked_at_the_bank_returns_401(visitor: Visitor, version: int) -> None:
    visitor.open(psu.authorization(visitor, version))
    psu.approve(visitor, version)
    bearer = visitor.tpp.redeem(query(visitor)["authorization_code"]).json()["access_token"]

    visitor.open(f"{visitor.bank(version)['domain']}/consents")
    psu.take_place(visitor, version)
    psu.revoke(visitor)

    assert visitor.tpp.call("GET", "/tpp/consent", bearer=bearer).status_code == 401


@both_banks
def test_a_psu_can_approve_with_the_keyboard_alone(visitor: Visitor, version: int) -> None:
    page = visitor.page
    visitor.open(psu.authorization(visitor, version))

    for button, before in (
        (f"Sign in as {psu.PERSON[version]}", None),
        ("Continue", page.get_by_role("checkbox").first),
        ("Approve", page.get_by_label("Key code", exact=True)),
    ):
        if before:
            visitor.tab_to(before)
            page.keyboard.type(" " if button == "Continue" else page.locator("#sent").inner_text())
        visitor.enter_at(page.get_by_role("button", name=button, exact=True))

    assert query(visitor)["authorization_code"]


@both_banks
def test_the_callback_redirects_to_an_application_at_another_origin(
    visitor: Visitor, operator: bootstrap.Hub, version: int
) -> None:
    """The pages' policies allow it: Chromium applies ``form-action`` to the redirects after a form, too."""
    callback = "http://application.example/back"
    client = operator.openbanking.clients.create(
        owner="browser@example.com", title="Elsewhere", callback_urls=[callback]
    ).client
    visitor.tpp = Tpp(visitor.tpp.base, client.client_id, callback)
    visitor.may_reach(callback)
    visitor.forgive("ERR_NAME_NOT_RESOLVED")
    visitor.open(psu.authorization(visitor, version))
    psu.take_place(visitor, version)
    psu.tick_accounts(visitor)
    visitor.press("Continue")

    visitor.fill("Key code", visitor.page.locator("#sent").inner_text())
    with visitor.page.expect_request(lambda request: request.url.startswith(f"{callback}?authorization_code=")):
        visitor.page.get_by_role("button", name="Approve").click()


@both_banks
def test_an_application_gets_the_message_of_its_callback_window(
    visitor: Visitor, operator: bootstrap.Hub, version: int
) -> None:
    """No page on the way may have a Cross-Origin-Opener-Policy that separates the window from the application."""
    pages = {"/back": "<script>opener.postMessage(location.search, '*')</script>"}
    with serving(pages) as shop:
        callback = f"{shop}/back"
        client = operator.openbanking.clients.create(
            owner="browser@example.com", title="Shop", callback_urls=[callback]
        ).client
        visitor.tpp = Tpp(visitor.tpp.base, client.client_id, callback)
        visitor.may_reach(shop)
        pages["/"] = f"""<button onclick="window.open('{psu.authorization(visitor, version)}')">Connect</button>
            <script>addEventListener("message", event => document.title = event.data)</script>"""
        visitor.open(f"{shop}/")
        first = visitor.page
        with first.context.expect_page() as opened:
            first.get_by_role("button", name="Connect").click()
        visitor.page = opened.value
        psu.approve(visitor, version)

        first.wait_for_function("() => document.title.includes('authorization_code=')")


@both_banks
def test_a_psu_beyond_the_listed_customers_signs_in_by_name(
    visitor: Visitor, operator: bootstrap.Hub, version: int
) -> None:
    names = [f"guest-{number:02}" for number in range(MOST_SHOWN + 1)]
    people = [
        customer(name, [account(f"{63_000_000 + number}")], banks=[visitor.bank(version)["bic"]], name=f"Guest {name}")
        for number, name in enumerate(names)
    ]
    loading.load(operator, written(*people))
    try:
        visitor.open(psu.authorization(visitor, version))
        checks.check_page(visitor.page)
        note = visitor.page.get_by_text(re.compile("^And [0-9]+ more: enter a user name"))
        assert note.is_visible()
        visitor.fill("User name", names[-1])
        visitor.fill("Password", f"sandbox-{names[-1]}")
        visitor.press("Sign in")
        psu.tick_accounts(visitor)
        assert visitor.page.get_by_text("KWD\N{NO-BREAK SPACE}1,250.750").is_visible()
        checks.check_page(visitor.page)
    finally:
        loading.delete(operator, names)
