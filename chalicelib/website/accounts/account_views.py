"""Accounts: registration, signing in and out, passwords, and the code for the operator."""

from __future__ import annotations

from collections.abc import Mapping

from chalice.app import Response

from chalicelib.foundation import log
from chalicelib.foundation.crypto import passwords
from chalicelib.foundation.http import pages
from chalicelib.website.accounts import account_flow
from chalicelib.website.accounts.account_flow import SecretNotValid, WrongPassword
from chalicelib.website.display_text import field_errors, retry_advice, span
from chalicelib.website.notices import Notice
from chalicelib.website.page_links import is_own_page
from chalicelib.website.pages import NO_ERRORS, NO_REFERRER, Visit, message_page, page
from chalicelib.website.records import users
from chalicelib.website.records.attempts import Subjects, TooManyAttempts, client_network, count_attempt, record_success
from chalicelib.website.records.one_time_secrets import LIFETIMES
from chalicelib.website.records.sessions import find_browser, sign_browser

_WRONG = "Email and password do not match. Check both, or register if you have no account yet."
_DEACTIVATED = "The operator has deactivated this account. Ask the operator to reactivate it."
_CONFIRMATION = span(LIFETIMES["confirm"])
_FIELDS = ("email", "password", "terms")


def registration_form(visit: Visit) -> Response:
    if visit.email is not None:
        return visit.redirect("/clients")
    return _registration_page(visit, {})


def register(visit: Visit) -> Response:
    """``POST /register``: sign in the new user or, if addresses must be confirmed, send a confirmation email.

    In the latter case, the page is the same whether or not the address has an account.
    """
    email, password, accepted = visit.field("email"), visit.field("password"), visit.field("terms") == "yes"
    try:
        visit.website.call(count_attempt, [("registrations", client_network(visit.ip_address))])
        if visit.website.shared.settings.confirms_addresses:
            name = users.check_registration(email, password, accepted)
            visit.website.call(count_attempt, mail_subjects(visit, name))
            visit.website.call(account_flow.request_confirmation, name, password)
            return mail_sent_page(visit, name, f"a link to complete your registration, valid for {_CONFIRMATION}")
        user = visit.website.users.register(email, password, terms_accepted=accepted)
    except TooManyAttempts as stopped:
        return _registration_page(visit, {"": retry_advice(stopped.retry_after)}, 429, stopped.retry_after)
    except users.InvalidUser as error:
        return _registration_page(visit, field_errors(error.problems), 400)
    except users.UserExists:
        text = "This email is already registered. Sign in, or use another one."
        return _registration_page(visit, {"email": text}, 409)
    log.info("user registered")
    return begin_session(visit, user, Notice.REGISTERED)


def confirmation_form(visit: Visit) -> Response:
    """``GET /confirm/{secret}``. Only submitting the form uses up the link, because mail programs prefetch links."""
    try:
        name = visit.website.call(account_flow.find_confirmed_email, visit.incoming.uri["secret"])
        return _confirmation_page(visit, name)
    except SecretNotValid:
        return invalid_link_page(visit)


def confirm_registration(visit: Visit) -> Response:
    """``POST /confirm/{secret}``: check the password, create the registered account and sign in."""
    secret = visit.incoming.uri["secret"]
    try:
        name = visit.website.call(account_flow.find_confirmed_email, secret)
        subjects = [("password", name)]
        visit.website.call(count_attempt, subjects)
        user = visit.website.call(account_flow.confirm_registration, secret, visit.field("password"))
    except SecretNotValid:
        return invalid_link_page(visit)
    except TooManyAttempts as stopped:
        return _confirmation_page(visit, name, retry_advice(stopped.retry_after), 429, stopped.retry_after)
    except WrongPassword:
        return _confirmation_page(visit, name, "This is not the password chosen at registration.", 401)
    visit.website.call(record_success, subjects)
    log.info("user registered")
    return begin_session(visit, user, Notice.REGISTERED)


def sign_in_form(visit: Visit) -> Response:
    if visit.email is not None:
        return pages.see_other(_destination(visit))
    return _sign_in_page(visit, "")


def sign_in(visit: Visit) -> Response:
    """``POST /sign-in``: sign the user in. Unknown emails and wrong passwords get the same response and timing."""
    email = visit.field("email")
    try:
        name = users.normalise_email(email)
    except users.InvalidUser:
        name = email
    browser = visit.website.call(find_browser, name, visit.known_browser(name))
    subjects = _sign_in_subjects(name, client_network(visit.ip_address), browser)
    try:
        visit.website.call(count_attempt, subjects)
    except TooManyAttempts as stopped:
        return _sign_in_page(visit, retry_advice(stopped.retry_after), 429, stopped.retry_after)
    user = visit.website.users.authenticate(email, visit.field("password"))
    if user is None:
        return _sign_in_page(visit, _WRONG, 401)
    visit.website.call(record_success, subjects)
    if not user.active:
        return _sign_in_page(visit, _DEACTIVATED, 403)
    return begin_session(visit, user, Notice.SIGNED_IN, browser=browser)


def sign_out_form(visit: Visit) -> Response:
    """``GET /sign-out``: ask for confirmation, because a link alone must not sign a user out."""
    return visit.redirect("/") if visit.email is None else page(visit, "sign_out.html")


def sign_out(visit: Visit) -> Response:
    visit.website.sessions.end(visit.session)
    cookies = (*visit.session_cookie(None), *visit.client_cookie(None), *visit.notice_cookie(Notice.SIGNED_OUT))
    return pages.see_other(visit.link("/"), *cookies)


def begin_session(
    visit: Visit, user: users.User, notice: Notice, place: str = "", browser: str | None = None
) -> Response:
    """Start a session with a new secret and redirect to ``place``, by default the previously requested page.

    A cookie identifies the browser on its next sign-in. A browser that is already known retains the id ``browser``.
    """
    if visit.email is not None:
        visit.website.sessions.end(visit.session)
    known = visit.known_browser_cookie(user.email, visit.website.call(sign_browser, user.email, browser))
    begun = visit.session_cookie(visit.website.sessions.begin(user))
    return pages.see_other(place or _destination(visit), *known, *begun, *visit.notice_cookie(notice))


def _sign_in_subjects(name: str, address: str, browser: str | None) -> Subjects:
    """The counters of a sign-in. A known browser has separate counters, so strangers cannot lock it out."""
    if browser is not None:
        return [("known_browser", f"{name} {browser}"), ("known_browsers", name)]
    return [("account_at_address", f"{name} {address}"), ("address", address), ("account", name)]


def mail_subjects(visit: Visit, name: str) -> Subjects:
    """Return the counters for an email to ``name`` that this visitor requests."""
    return [("mails", client_network(visit.ip_address)), ("mailbox", name)]


def mail_sent_page(visit: Visit, name: str, what: str) -> Response:
    """Render the page that follows a request for an email. The page is the same for every email."""
    folder = visit.website.shared.settings.mail_folder if visit.website.shared.settings.is_local else ""
    return page(visit, "mailed.html", to=name, what=what, folder=folder)


def invalid_link_page(visit: Visit, place: str = "/sign-in", label: str = "Sign in") -> Response:
    """The page for an invalid link, with a link to ``place``."""
    return message_page(
        visit,
        "This link is not valid",
        "It has been used or has expired.",
        place,
        label,
        "Sign in, request a new password, or ask whoever gave you the link for another one.",
    )


def _destination(visit: Visit) -> str:
    """The page to return to. URLs outside this site are ignored."""
    wanted = visit.field("next")
    return visit.link(wanted) if is_own_page(wanted) else visit.link("/")


def _registration_page(visit: Visit, errors: dict[str, str], status: int = 200, retry_after: int = 0) -> Response:
    return page(
        visit,
        "register.html",
        status=status,
        retry_after=retry_after,
        errors=errors,
        focus=next((name for name in _FIELDS if name in errors), "email"),
        given=visit.field("email"),
        accepted=visit.field("terms") == "yes",
        destination=visit.field("next"),
        confirms=visit.website.shared.settings.confirms_addresses,
        shortest=passwords.LENGTH[0],
        longest=passwords.LENGTH[1],
    )


def _sign_in_page(visit: Visit, error: str, status: int = 200, retry_after: int = 0) -> Response:
    return page(
        visit,
        "sign_in.html",
        status=status,
        retry_after=retry_after,
        error=error,
        given=visit.field("email"),
        destination=visit.field("next"),
    )


def _confirmation_page(visit: Visit, name: str, error: str = "", status: int = 200, retry_after: int = 0) -> Response:
    return page(
        visit,
        "confirm.html",
        status=status,
        referrer=NO_REFERRER,
        retry_after=retry_after,
        given=name,
        action=f"/confirm/{visit.incoming.uri['secret']}",
        error=error,
    )


_PASSWORDS = ("current_password", "password")


def change_account(visit: Visit) -> Response:
    """``POST /account``: change the password, or issue a code for the operator."""
    try:
        return _change_password(visit) if visit.field("action") == "password" else _issue_code(visit)
    except TooManyAttempts as stopped:
        problem = retry_advice(stopped.retry_after)
        return account_page(visit, status=429, problem=problem, retry_after=stopped.retry_after)


def request_password_reset(visit: Visit) -> Response:
    """``POST /forgotten``: send an email. The page is the same whether or not the account exists."""
    try:
        name = users.normalise_mailbox(visit.field("email"))
        visit.website.call(count_attempt, mail_subjects(visit, name))
        visit.website.call(account_flow.request_reset, name)
    except TooManyAttempts as stopped:
        return forgotten_page(visit, {"": retry_advice(stopped.retry_after)}, 429, stopped.retry_after)
    except users.InvalidUser as error:
        return forgotten_page(visit, field_errors(error.problems), 400)
    return mail_sent_page(visit, name, f"a link to set a new password, valid for {span(LIFETIMES['reset'])}")


def password_reset_form(visit: Visit) -> Response:
    """``GET /reset/{secret}``. Only submitting the form uses up the link, because mail programs prefetch links."""
    try:
        return _reset_page(visit, visit.website.call(account_flow.find_reset_user, visit.incoming.uri["secret"]))
    except SecretNotValid:
        return invalid_link_page(visit, "/forgotten", "Request a new password")


def reset_password(visit: Visit) -> Response:
    """``POST /reset/{secret}``: set the password and sign the user in."""
    secret, accepted = visit.incoming.uri["secret"], visit.field("terms") == "yes"
    try:
        user = visit.website.call(account_flow.find_reset_user, secret)
        try:
            password = visit.field("password")
            user = visit.website.call(account_flow.reset_password, secret, password, terms_accepted=accepted)
        except users.InvalidUser as error:
            return _reset_page(visit, user, field_errors(error.problems), 400)
    except SecretNotValid:
        return invalid_link_page(visit, "/forgotten", "Request a new password")
    log.audit("password changed", by="link")
    return begin_session(visit, user, Notice.CREDENTIALS_CHANGED)


def _change_password(visit: Visit) -> Response:
    """Change the user's password. Raises: TooManyAttempts."""
    subjects = [("password", visit.user)]
    visit.website.call(count_attempt, subjects)
    current, new = (visit.field(name) for name in _PASSWORDS)
    try:
        user = visit.website.call(account_flow.change_password, visit.signed_in_user, current, new)
    except WrongPassword:
        return account_page(visit, {"current_password": "This is not your current password."}, 400)
    except users.InvalidUser as error:
        return account_page(visit, field_errors(error.problems), 400)
    visit.website.call(record_success, subjects)
    log.audit("password changed", by="user")
    return begin_session(visit, user, Notice.CREDENTIALS_CHANGED, visit.link("/account"))


def _issue_code(visit: Visit) -> Response:
    """Issue a code for the operator. Raises: TooManyAttempts."""
    visit.website.call(count_attempt, [("codes", visit.user)])
    return account_page(visit, code=visit.website.call(account_flow.issue_code, visit.signed_in_user))


def account_page(
    visit: Visit,
    errors: Mapping[str, str] = NO_ERRORS,
    status: int = 200,
    *,
    code: str = "",
    problem: str = "",
    retry_after: int = 0,
) -> Response:
    """Render the user's account: ``GET /account``, and the response to its forms."""
    return page(
        visit,
        "account.html",
        status=status,
        retry_after=retry_after,
        user=visit.signed_in_user,
        errors=errors,
        focus=next((name for name in _PASSWORDS if name in errors), ""),
        code=code,
        good=span(LIFETIMES["code"]),
        problem=problem,
        shortest=passwords.LENGTH[0],
        longest=passwords.LENGTH[1],
    )


def forgotten_page(
    visit: Visit, errors: Mapping[str, str] = NO_ERRORS, status: int = 200, retry_after: int = 0
) -> Response:
    """Render the form for a new password: ``GET /forgotten``, and the response to an invalid submission."""
    given = visit.field("email")
    return page(visit, "forgotten.html", status=status, retry_after=retry_after, errors=errors, given=given)


def _reset_page(visit: Visit, user: users.User, errors: Mapping[str, str] = NO_ERRORS, status: int = 200) -> Response:
    return page(
        visit,
        "reset.html",
        status=status,
        referrer=NO_REFERRER,
        user=user,
        action=f"/reset/{visit.incoming.uri['secret']}",
        errors=errors,
        focus="terms" if errors and "password" not in errors else "password",
        accepted=visit.field("terms") == "yes",
        shortest=passwords.LENGTH[0],
        longest=passwords.LENGTH[1],
    )
