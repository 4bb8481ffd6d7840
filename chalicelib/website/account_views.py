"""Registering, signing in and signing out."""

from __future__ import annotations

from chalice.app import Response

from chalicelib.bootstrap import hub
from chalicelib.foundation import log, pages
from chalicelib.website import passwords
from chalicelib.website.attempts import TooManyAttempts, network
from chalicelib.website.destinations import is_own_page
from chalicelib.website.pages import Visit, cookie_of, go, link, page, patient
from chalicelib.website.users import InvalidUser, User, UserExists, normalise
from chalicelib.website.wording import about_fields, patience

_WRONG = "Email and password do not match. Check both, or register if you have no account yet."


def registration(visit: Visit) -> Response:
    """``GET /register``."""
    if visit.email is not None:
        return go("/clients")
    return _registration_page(visit, {})


def register(visit: Visit) -> Response:
    """``POST /register``: a new user is signed in at once."""
    email, accepted = visit.field("email"), visit.field("terms") == "yes"
    try:
        hub().attempts.count([("registrations", network(visit.address))])
        user = hub().users.register(email, visit.field("password"), terms_accepted=accepted)
    except TooManyAttempts as stopped:
        return _registration_page(visit, {"": patience(stopped.retry_after)}, 429, stopped.retry_after)
    except InvalidUser as error:
        return _registration_page(visit, about_fields(error.problems), 400)
    except UserExists:
        text = "This email is registered already. Sign in with it, or take another one."
        return _registration_page(visit, {"email": text}, 409)
    log.info("user registered")
    return signed_in(visit, user)


def sign_in_form(visit: Visit) -> Response:
    """``GET /sign-in``."""
    if visit.email is not None:
        return pages.see_other(_destination(visit))
    return _sign_in_page(visit, "")


def sign_in(visit: Visit) -> Response:
    """``POST /sign-in``: the same answer for an unknown email and for a wrong password, in the same time."""
    email = visit.field("email")
    try:
        name = normalise(email)
    except InvalidUser:
        name = email
    subjects = [("account", name), ("address", network(visit.address))]
    try:
        hub().attempts.count(subjects)
    except TooManyAttempts as stopped:
        return _sign_in_page(visit, patience(stopped.retry_after), 429, stopped.retry_after)
    user = hub().users.authenticate(email, visit.field("password"))
    if user is None:
        return _sign_in_page(visit, _WRONG, 401)
    hub().attempts.forgive(subjects)
    return signed_in(visit, user)


def sign_out_form(visit: Visit) -> Response:
    """``GET /sign-out``: asks, since a mere link must not sign anybody out."""
    return go("/") if visit.email is None else page(visit, "sign_out.html")


def sign_out(visit: Visit) -> Response:
    """``POST /sign-out``."""
    hub().sessions.end(visit.session)
    return pages.see_other(link("/"), cookie_of(None))


def signed_in(visit: Visit, user: User) -> Response:
    """Begin a session with a secret of its own, whatever cookie the browser came with."""
    if visit.email is not None:
        hub().sessions.end(visit.session)
    return pages.see_other(_destination(visit), cookie_of(hub().sessions.begin(user)))


def _destination(visit: Visit) -> str:
    """The page that a visitor wanted to see before; anything but a page of ours is passed over."""
    wanted = visit.field("next")
    return link(wanted) if is_own_page(wanted) else link("/")


def _registration_page(visit: Visit, errors: dict[str, str], status: int = 200, retry_after: int = 0) -> Response:
    shown = page(
        visit,
        "register.html",
        status=status,
        errors=errors,
        given=visit.field("email"),
        accepted=visit.field("terms") == "yes",
        destination=visit.field("next"),
        shortest=passwords.LENGTH[0],
        longest=passwords.LENGTH[1],
    )
    return patient(shown, retry_after)


def _sign_in_page(visit: Visit, error: str, status: int = 200, retry_after: int = 0) -> Response:
    wanted, given = visit.field("next"), visit.field("email")
    shown = page(visit, "sign_in.html", status=status, error=error, given=given, destination=wanted)
    return patient(shown, retry_after)
