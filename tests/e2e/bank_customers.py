"""What a person does at a demonstration bank: signs in as a customer of the list, approves, and pays."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from urllib.parse import parse_qs, urlsplit

from chalicelib.openbanking.protocol.versions import VERSIONS
from infra.tour.browser import Browser, BrowserPage, Form
from tests.e2e.parties import Tpp


def bearer(tpp: Tpp, bank: Mapping[str, Any], customer: str) -> str:
    """The access token of a consent of this customer, for everything and all accounts."""
    asked = tpp.call(
        "POST", "/tpp/authorize", {"bic": bank["bic"], "scopes": list(VERSIONS[bank["api_version"]].scopes)}
    )
    callback = walk_through(Browser(tpp.callback, lambda *_: None), asked.json()["redirect_url"], customer)
    answer = tpp.redeem(parse_qs(urlsplit(callback).query)["authorization_code"][0])
    assert answer.status_code == 200, answer.text
    return str(answer.json()["access_token"])


def initiate(tpp: Tpp, bank: Mapping[str, Any], access_token: str) -> Any:
    """The response to a payment of 20 seconds, from an account that the customer chooses."""
    order = tpp.direct_payment(bank)
    del order["bic"]
    order["payment_scheme"] = "BACS" if bank["api_version"] == 1 else "SCT"
    return tpp.call("POST", "/tpp/payment_initiation", order, access_token)


def pay(tpp: Tpp, confirmation_url: str, customer: str) -> dict[str, str]:
    """Confirm a payment; answers the query with which the browser comes back."""
    back = walk_through(Browser(f"{tpp.base}/payments/callback", lambda *_: None), confirmation_url, customer)
    return {name: values[0] for name, values in parse_qs(urlsplit(back).query).items()}


def walk_through(browser: Browser, url: str, customer: str) -> str:
    """From the bank's first page to the return to the TPP."""
    page = browser.open(url)
    while isinstance(page, BrowserPage):
        if "sent" in page.texts:
            page = browser.submit(page, page.form("key_code"), {"key_code": page.texts["sent"]})
        elif sign_in := _sign_in_form(page, customer):
            page = browser.submit(page, sign_in)
        else:
            page = browser.submit(page, page.form("account"), boxes=True)
    return page


def _sign_in_form(page: BrowserPage, customer: str) -> Form | None:
    return next((form for form in page.forms if form.fields.get("username") == customer), None)
