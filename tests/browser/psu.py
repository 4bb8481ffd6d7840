"""What a PSU does at a demonstration bank, in a browser, and what an application asks the PSU to do there."""

from __future__ import annotations

import re
from collections.abc import Mapping
from decimal import Decimal
from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit

from infra import psu_browser as scripted
from tests.browser.visitor import Visitor
from tests.e2e.parties import SCOPES
from tests.payment_orders import payment_orders

PERSON = {1: "Ada Whitfield", 2: "Lena Brandt"}
"""Whose place the PSU takes at the bank of a version."""
OTHER_PERSON = {1: "Bilal Hussain", 2: "Sofia Lindqvist"}
"""Customers who have given no consent."""
_PAYMENTS = {1: "payment.init", 2: "payments.bulk"}


def authorization(visitor: Visitor, version: int, *, faults: bool = False) -> str:
    """Have the application ask for access to accounts; answers where the PSU is to go."""
    request = {"bic": visitor.bank(version, faults=faults)["bic"], "scopes": SCOPES[version]}
    return str(_answered(visitor.tpp.call("POST", "/tpp/authorize", request))["redirect_url"])


def direct_payment(visitor: Visitor, version: int, *, faults: bool = False) -> str:
    """Have the application send a payment without a consent; answers where the PSU confirms it."""
    bank = visitor.bank(version, faults=faults)
    order = visitor.tpp.direct_payment(bank)
    order["callback_url"] = f"{visitor.stack['base_url']}/payments/callback?{urlencode({'bic': bank['bic']})}"
    return str(_answered(visitor.tpp.call("POST", "/tpp/direct_payment_initiation", order))["confirmation_url"])


def bulk_payment(visitor: Visitor, version: int) -> str:
    """Have the application send four payments in one, with a consent; answers where the PSU confirms them."""
    bank, tpp = visitor.bank(version), visitor.tpp
    request = {"bic": bank["bic"], "scopes": [*SCOPES[version], _PAYMENTS[version]]}
    asked = _answered(tpp.call("POST", "/tpp/authorize", request))
    callback = scripted.approve_consent(scripted.Browser(tpp.callback, lambda *_: None), asked["redirect_url"])
    code = parse_qs(urlsplit(callback).query)["authorization_code"][0]
    bearer = _answered(tpp.redeem(code))["access_token"]
    account = _answered(tpp.call("GET", "/tpp/accounts", bearer=bearer))["accounts"][0]
    back = f"{visitor.stack['base_url']}/payments/callback"
    orders = payment_orders(version, bank["bic"], account["iban"], account["currency"], back)
    order = _twice(orders.bulk.to_json())
    return str(_answered(tpp.call("POST", "/tpp/bulk_payment_initiation", order, bearer))["confirmation_url"])


def take_place(visitor: Visitor, version: int) -> None:
    """Sign in as the customer whose place the bank's page offers."""
    visitor.press(f"Sign in as {PERSON[version]}")


def give_key_code(visitor: Visitor, button: str) -> None:
    """Type the key code that the page shows, and press the button."""
    visitor.page.locator("#key_code").fill(visitor.page.locator("#sent").inner_text())
    visitor.press(button)


def tick_accounts(visitor: Visitor) -> None:
    for box in visitor.page.get_by_role("checkbox").all():
        box.check()


def approve(visitor: Visitor, version: int) -> None:
    """From the sign-in page back to the application, saying yes to everything."""
    take_place(visitor, version)
    tick_accounts(visitor)
    visitor.press("Continue")
    give_key_code(visitor, "Approve")


def confirm(visitor: Visitor, version: int) -> None:
    """From the page of a payment back to the application; the payment names the account."""
    take_place(visitor, version)
    give_key_code(visitor, "Confirm")


def refuse(visitor: Visitor, address: str) -> None:
    """At an address of the bank, press the button that says no, and where it leads back to."""
    visitor.open(address)
    visitor.press(re.compile("and go back to"))


def ask_to_revoke(visitor: Visitor) -> None:
    """Choose to end the latest consent in the list; the bank asks whether it really is to end."""
    with visitor.page.expect_navigation():
        visitor.page.get_by_role("link", name=re.compile("^Revoke the consent")).first.click()


def revoke(visitor: Visitor) -> None:
    """End the latest consent in the list."""
    ask_to_revoke(visitor)
    visitor.press("Revoke the consent")


def _answered(response: Any) -> dict[str, Any]:
    assert response.ok, response.text
    answer: dict[str, Any] = response.json()
    return answer


def _twice(bulk: Mapping[str, Any]) -> dict[str, Any]:
    """A bulk payment with every payment in it two times."""
    doubled = {**bulk, "payments": bulk["payments"] * 2}
    if "totals" in bulk:
        return doubled | {"totals": [_doubled(total) for total in bulk["totals"]]}
    return doubled | {"instructed_totals": _doubled(bulk["instructed_totals"])}


def _doubled(total: Mapping[str, Any]) -> dict[str, Any]:
    return {**total, "amount": str(2 * Decimal(total["amount"]))}
