"""Signing in and out where no journey is under way: the form, and what needs a customer who is signed in."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps

from chalice.app import Response

from chalicelib.demo_bank import customers, sessions
from chalicelib.demo_bank.pages import Visit, cookie_header, page
from chalicelib.demo_bank.sessions import CustomerSession
from chalicelib.foundation.http.pages import see_other

SessionView = Callable[[Visit, CustomerSession], Response]


def find_session(visit: Visit) -> CustomerSession | None:
    """The session of the browser's cookie."""
    return sessions.find(visit.bank, visit.cookie(sessions.COOKIE))


def find_form_session(visit: Visit) -> CustomerSession | None:
    """The session of the browser's cookie, if the form that was sent is one of it."""
    session = find_session(visit)
    return session if session and session.accepts(visit.field("form_token")) else None


def sign_in_page(visit: Visit, place: str, title: str, text: str) -> Response:
    """The form to sign in for the page at ``place``."""
    error = "User name and password do not match. Please try again." if visit.field("again") else ""
    people = list(customers.customers_by_id(visit.bank.profile.name).values())
    return page(visit, "area_sign_in.html", error=error, customers=people, place=place, title=title, text=text)


def sign_in(visit: Visit) -> Response:
    """Begin a session, and go on to the page that asked for it."""
    customer = customers.authenticate(visit.bank.profile.name, visit.field("username"), visit.field("password"))
    if customer is None:
        return see_other(visit.link(_return_path(visit), again="1"))
    return see_other(visit.link(_return_path(visit)), begin_session(visit, customer))


def begin_session(visit: Visit, customer: customers.Customer) -> str:
    """Begin a session; answers the Set-Cookie value that keeps it in the browser."""
    return cookie_header(visit.bank, sessions.COOKIE, sessions.begin(visit.bank, customer), sessions.LIFETIME)


def require_session(view: SessionView) -> Callable[[Visit], Response]:
    """A form of a signed-in customer; without a session, or without its form token, it leads to the sign-in."""

    @wraps(view)
    def checked(visit: Visit) -> Response:
        session = find_form_session(visit)
        if session is None:
            return see_other(visit.link(_return_path(visit)))
        return view(visit, session)

    return checked


@require_session
def sign_out(visit: Visit, _: CustomerSession) -> Response:
    sessions.end(visit.bank, visit.cookie(sessions.COOKIE))
    return see_other(visit.link(_return_path(visit)), cookie_header(visit.bank, sessions.COOKIE, "", 0))


def _return_path(visit: Visit) -> str:
    """The page that a form belongs to: the first part of the form's address."""
    return f"/{visit.incoming.uri['first']}"
