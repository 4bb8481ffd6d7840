"""A PSU at the demonstration banks in a browser, and the TPP requests that redirect the PSU to the banks."""

import re
from collections.abc import Mapping
from decimal import Decimal
from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit

from chalicelib.foundation.identifiers import new_id
from infra import psu_browser as scripted
from tests.browser.window import Window
from tests.e2e.parties import SCOPES
from tests.payment_orders import payment_orders

CUSTOMER = {1: "Ada Whitfield", 2: "Lena Brandt"}
WITHOUT_CONSENT = {1: "Bilal Hussain", 2: "Sofia Lindqvist"}
_PAYMENTS = {1: "payment.init", 2: "payments.bulk"}


def authorization(window: Window, version: int, *, faults: bool = False) -> str:
    request = {"bic": window.bank(version, faults=faults)["bic"], "scopes": SCOPES[version]}
    return str(_body(window.tpp.call("POST", "/tpp/authorize", request))["redirect_url"])


def direct_payment(window: Window, version: int, *, faults: bool = False) -> str:
    bank = window.bank(version, faults=faults)
    order = window.tpp.direct_payment(bank)
    order["callback_url"] = f"{window.stack['base_url']}/payments/callback?{urlencode({'bic': bank['bic']})}"
    return str(_body(window.tpp.call("POST", "/tpp/direct_payment_initiation", order))["confirmation_url"])


def bulk_payment(window: Window, version: int) -> str:
    bank, tpp = window.bank(version), window.tpp
    request = {"bic": bank["bic"], "scopes": [*SCOPES[version], _PAYMENTS[version]]}
    authorization = _body(tpp.call("POST", "/tpp/authorize", request))
    callback = scripted.approve_consent(scripted.Browser(tpp.callback, lambda *_: None), authorization["redirect_url"])
    code = parse_qs(urlsplit(callback).query)["authorization_code"][0]
    bearer = _body(tpp.redeem(code))["access_token"]
    account = _body(tpp.call("GET", "/tpp/accounts", bearer=bearer))["accounts"][0]
    back = f"{window.stack['base_url']}/payments/callback"
    orders = payment_orders(version, bank["bic"], account["iban"], account["currency"], back)
    order = _twice(orders.bulk.to_json())
    return str(_body(tpp.call("POST", "/tpp/bulk_payment_initiation", order, bearer))["confirmation_url"])


def request_without_bank(window: Window, **more: str) -> str:
    query = {"response_type": "code", "client_id": window.tpp.client_id, "scope": "accounts accounts.balances"}
    return f"/oauth/authorize?{urlencode(query | more)}"


def pushed_request_without_bank(window: Window) -> str:
    members = {"response_type": "code", "scope": "accounts accounts.transactions", "state": new_id()}
    answer = window.tpp.send_form("/oauth/par", members)
    assert answer.status_code == 201, answer.text
    query = {"client_id": window.tpp.client_id, "request_uri": answer.json()["request_uri"]}
    return f"/oauth/authorize?{urlencode(query)}"


def choose_bank(window: Window, version: int) -> None:
    with window.page.expect_navigation():
        window.page.locator("a.choice", has_text=window.bank(version)["name"]).click()
    assert window.page.get_by_role("button", name=f"Sign in as {CUSTOMER[version]}").is_visible()


def sign_in(window: Window, version: int) -> None:
    window.press(f"Sign in as {CUSTOMER[version]}")


def enter_key_code(window: Window, button: str) -> None:
    window.page.locator("#key_code").fill(window.page.locator("#sent").inner_text())
    window.press(button)


def tick_accounts(window: Window) -> None:
    for box in window.page.get_by_role("checkbox").all():
        box.check()


def approve(window: Window, version: int) -> None:
    sign_in(window, version)
    tick_accounts(window)
    window.press("Continue")
    enter_key_code(window, "Approve")


def confirm(window: Window, version: int) -> None:
    sign_in(window, version)
    enter_key_code(window, "Confirm")


def refuse(window: Window, address: str) -> None:
    window.open(address)
    window.press(re.compile("and go back to"))


def ask_to_revoke(window: Window) -> None:
    with window.page.expect_navigation():
        window.page.get_by_role("link", name=re.compile("^Revoke the consent")).first.click()


def revoke(window: Window) -> None:
    ask_to_revoke(window)
    window.press("Revoke the consent")


def _body(response: Any) -> dict[str, Any]:
    assert response.ok, response.text
    answer: dict[str, Any] = response.json()
    return answer


def _twice(bulk: Mapping[str, Any]) -> dict[str, Any]:
    doubled = {**bulk, "payments": bulk["payments"] * 2}
    if "totals" in bulk:
        return doubled | {"totals": [_doubled(total) for total in bulk["totals"]]}
    return doubled | {"instructed_totals": _doubled(bulk["instructed_totals"])}


def _doubled(total: Mapping[str, Any]) -> dict[str, Any]:
    return {**total, "amount": str(2 * Decimal(total["amount"]))}
