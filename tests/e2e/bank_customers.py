"""What a person does at a demonstration bank: signs in as a customer of the list, approves, and pays."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from urllib.parse import parse_qs, urlsplit

from chalicelib.openbanking.protocol.versions import VERSIONS
from infra.psu_browser import Browser, approve_consent, confirm_payment
from tests.e2e.parties import Tpp


def bearer(tpp: Tpp, bank: Mapping[str, Any], customer: str) -> str:
    """The access token of a consent of this customer, for everything and all accounts."""
    asked = tpp.call(
        "POST", "/tpp/authorize", {"bic": bank["bic"], "scopes": list(VERSIONS[bank["api_version"]].scopes)}
    )
    callback = approve_consent(Browser(tpp.callback, lambda *_: None), asked.json()["redirect_url"], customer)
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
    back = confirm_payment(Browser(f"{tpp.base}/payments/callback", lambda *_: None), confirmation_url, customer)
    return {name: values[0] for name, values in parse_qs(urlsplit(back).query).items()}
