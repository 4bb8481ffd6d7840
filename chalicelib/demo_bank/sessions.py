"""Signed-in customers outside of a journey: who looks at accounts and consents, or confirms a payment.

The cookie's value is not stored.
"""

from __future__ import annotations

import hmac
from dataclasses import dataclass

from chalicelib.demo_bank.customers import Customer, customers_by_id
from chalicelib.demo_bank.runtime import TABLE, DemoBank
from chalicelib.foundation.identifiers import digest, new_secret

COOKIE = "demo_bank_session"
LIFETIME = 1800


@dataclass(frozen=True, slots=True)
class CustomerSession:
    """One signed-in customer; every form of the session carries ``form_token``."""

    customer: Customer
    form_token: str

    def accepts(self, form_token: str) -> bool:
        return hmac.compare_digest(form_token.encode(), self.form_token.encode())


def begin(bank: DemoBank, customer: Customer) -> str:
    """Answers the value of the session's cookie."""
    cookie = new_secret()
    members = {"customer_id": customer.customer_id, "expires_at": bank.clock.time() + LIFETIME}
    bank.store.put(TABLE, bank.key(_record_id(cookie)) | members)
    return cookie


def find(bank: DemoBank, cookie: str) -> CustomerSession | None:
    item = bank.store.get(TABLE, bank.key(_record_id(cookie))) if cookie else None
    if item is None or item["expires_at"] <= bank.clock.time():
        return None
    customer = customers_by_id(bank.profile.name)[item["customer_id"]]
    return CustomerSession(customer, bank.derive("form", cookie).hex())


def end(bank: DemoBank, cookie: str) -> None:
    bank.store.delete(TABLE, bank.key(_record_id(cookie)))


def _record_id(cookie: str) -> str:
    return f"session#{digest(cookie)}"
