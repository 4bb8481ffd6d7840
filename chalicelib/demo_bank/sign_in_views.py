"""Customer sessions outside journeys: for viewing accounts and consents, or confirming a payment."""

from __future__ import annotations

import hmac
from collections.abc import Callable, Sequence
from functools import wraps

from chalice.app import Response

from chalicelib.demo_bank.customers import Customer
from chalicelib.demo_bank.directory import all_customers, authenticate, find_customer
from chalicelib.demo_bank.pages import Visit, page, people, sign_in_error
from chalicelib.demo_bank.runtime import TABLE, DemoBank
from chalicelib.foundation.http.pages import see_other
from chalicelib.foundation.identifiers import digest, new_secret
from chalicelib.foundation.lazy_dataclasses import dataclass

COOKIE = "demo_bank_session"
"""The session cookie; its value is not stored."""
LIFETIME = 1800


@dataclass(frozen=True, slots=True)
class CustomerSession:
    """A signed-in customer; every form in the session has ``form_token``."""

    customer: Customer
    form_token: str


SessionView = Callable[[Visit, CustomerSession], Response]


def find_session(visit: Visit) -> CustomerSession | None:
    """The session that belongs to the browser's cookie; ``None`` also if its customer was deleted."""
    bank, cookie = visit.bank, visit.read_cookie(COOKIE)
    item = bank.store.get(TABLE, _session_key(bank, cookie)) if cookie else None
    if item is None or item["expires_at"] <= bank.clock.real.time():
        return None
    customer = find_customer(bank, item["customer_id"])
    return CustomerSession(customer, bank.derive("form", cookie).hex()) if customer else None


def find_form_session(visit: Visit) -> CustomerSession | None:
    """The session that belongs to the browser's cookie, if the submitted form has its token."""
    session = find_session(visit)
    is_own = session and hmac.compare_digest(visit.field("form_token").encode(), session.form_token.encode())
    return session if is_own else None


def sign_in_page(visit: Visit, place: str, title: str, text: str) -> Response:
    """The sign-in form for the page at ``place``."""
    error = sign_in_error(visit.bank) if visit.field("again") else ""
    found = people(all_customers(visit.bank))
    return page(visit, "area_sign_in.html", error=error, **found, place=place, title=title, text=text)


def sign_in(visit: Visit) -> Response:
    """Start a session and redirect to the page that required it."""
    customer = authenticate(visit.bank, visit.field("username"), visit.field("password"))
    if customer is None:
        return see_other(visit.link(_return_path(visit), again="1"))
    return see_other(visit.link(_return_path(visit)), *begin_session(visit, customer))


def begin_session(visit: Visit, customer: Customer) -> Sequence[str]:
    """Start a session; returns the Set-Cookie values."""
    bank, cookie = visit.bank, new_secret()
    members = {"customer_id": customer.customer_id, "expires_at": bank.clock.real.time() + LIFETIME}
    bank.store.put(TABLE, _session_key(bank, cookie) | members)
    return visit.set_cookie(COOKIE, cookie, LIFETIME)


def require_session(view: SessionView) -> Callable[[Visit], Response]:
    """Wrap a form that requires a signed-in customer; without a session or its form token, redirect to the sign-in."""

    @wraps(view)
    def view_if_signed_in(visit: Visit) -> Response:
        session = find_form_session(visit)
        return view(visit, session) if session else see_other(visit.link(_return_path(visit)))

    return view_if_signed_in


@require_session
def sign_out(visit: Visit, _: CustomerSession) -> Response:
    visit.bank.store.delete(TABLE, _session_key(visit.bank, visit.read_cookie(COOKIE)))
    return see_other(visit.link(_return_path(visit)), *visit.set_cookie(COOKIE, "", 0))


def _session_key(bank: DemoBank, cookie: str) -> dict[str, str]:
    return bank.key(f"session#{digest(cookie)}")


def _return_path(visit: Visit) -> str:
    """The page that contains the form: the first segment of the form's path."""
    return f"/{visit.incoming.uri['first']}"
