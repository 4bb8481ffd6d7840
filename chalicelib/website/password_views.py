"""A user's own account: the password, how it is replaced when it is forgotten, and the code for the operator."""

from __future__ import annotations

from chalice.app import Response

from chalicelib.foundation import log
from chalicelib.foundation.crypto import passwords
from chalicelib.website.account_flow import SecretNotValid, WrongPassword
from chalicelib.website.account_views import begin_session, invalid_link_page, mail_sent_page, mail_subjects
from chalicelib.website.display_text import field_errors, retry_advice, span
from chalicelib.website.pages import NO_REFERRER, Visit, add_retry_after, page
from chalicelib.website.records.attempts import TooManyAttempts
from chalicelib.website.records.one_time_secrets import LIFETIMES
from chalicelib.website.records.users import InvalidUser, User, normalise_mailbox

_PASSWORDS = ("current_password", "password")


def show_account(visit: Visit) -> Response:
    """``GET /account``."""
    return _account_page(visit, done=visit.field("changed") == "password")


def change_account(visit: Visit) -> Response:
    """``POST /account``: sets another password, or makes a code for the operator."""
    try:
        return _change_password(visit) if visit.field("action") == "password" else _issue_code(visit)
    except TooManyAttempts as stopped:
        answer = _account_page(visit, status=429, problem=retry_advice(stopped.retry_after))
        return add_retry_after(answer, stopped.retry_after)


def forgotten_password_form(visit: Visit) -> Response:
    """``GET /forgotten``."""
    return _forgotten_page(visit)


def request_password_reset(visit: Visit) -> Response:
    """``POST /forgotten``: writes to the mailbox; the page is the same whether or not there is such an account."""
    try:
        name = normalise_mailbox(visit.field("email"))
        visit.website.attempts.count(mail_subjects(visit, name))
        visit.website.account_flow.request_reset(name)
    except TooManyAttempts as stopped:
        answer = _forgotten_page(visit, {"": retry_advice(stopped.retry_after)}, 429)
        return add_retry_after(answer, stopped.retry_after)
    except InvalidUser as error:
        return _forgotten_page(visit, field_errors(error.problems), 400)
    return mail_sent_page(visit, name, f"a link to a new password, good for {span(LIFETIMES['reset'])}")


def password_reset_form(visit: Visit) -> Response:
    """``GET /reset/{secret}``: the link is used up by its form only, since mail programs look at addresses, too."""
    try:
        return _reset_page(visit, visit.website.account_flow.find_reset_user(visit.incoming.uri["secret"]))
    except SecretNotValid:
        return invalid_link_page(visit, "/forgotten", "Ask for a new password")


def reset_password(visit: Visit) -> Response:
    """``POST /reset/{secret}``: sets the password, and signs the user in."""
    secret, accepted = visit.incoming.uri["secret"], visit.field("terms") == "yes"
    try:
        user = visit.website.account_flow.find_reset_user(secret)
        try:
            user = visit.website.account_flow.reset_password(secret, visit.field("password"), terms_accepted=accepted)
        except InvalidUser as error:
            return _reset_page(visit, user, field_errors(error.problems), 400)
    except SecretNotValid:
        return invalid_link_page(visit, "/forgotten", "Ask for a new password")
    log.info("password changed", by="link")
    return begin_session(visit, user)


def _change_password(visit: Visit) -> Response:
    """Raises: TooManyAttempts."""
    subjects = [("password", visit.user)]
    visit.website.attempts.count(subjects)
    current, new = (visit.field(name) for name in _PASSWORDS)
    try:
        user = visit.website.account_flow.change_password(visit.signed_in_user, current, new)
    except WrongPassword:
        return _account_page(visit, {"current_password": "This is not your password."}, 400)
    except InvalidUser as error:
        return _account_page(visit, field_errors(error.problems), 400)
    visit.website.attempts.record_success(subjects)
    log.info("password changed", by="user")
    return begin_session(visit, user, visit.link("/account", changed="password"))


def _issue_code(visit: Visit) -> Response:
    """Raises: TooManyAttempts."""
    visit.website.attempts.count([("codes", visit.user)])
    return _account_page(visit, code=visit.website.account_flow.issue_code(visit.signed_in_user))


def _account_page(
    visit: Visit,
    errors: dict[str, str] | None = None,
    status: int = 200,
    *,
    code: str = "",
    problem: str = "",
    done: bool = False,
) -> Response:
    found = errors or {}
    return page(
        visit,
        "account.html",
        status=status,
        user=visit.signed_in_user,
        errors=found,
        focus=next((name for name in _PASSWORDS if name in found), ""),
        code=code,
        good=span(LIFETIMES["code"]),
        problem=problem,
        done=done,
        shortest=passwords.LENGTH[0],
        longest=passwords.LENGTH[1],
    )


def _forgotten_page(visit: Visit, errors: dict[str, str] | None = None, status: int = 200) -> Response:
    return page(visit, "forgotten.html", status=status, errors=errors or {}, given=visit.field("email"))


def _reset_page(visit: Visit, user: User, errors: dict[str, str] | None = None, status: int = 200) -> Response:
    found = errors or {}
    return page(
        visit,
        "reset.html",
        status=status,
        referrer=NO_REFERRER,
        user=user,
        action=f"/reset/{visit.incoming.uri['secret']}",
        errors=found,
        focus="terms" if found and "password" not in found else "password",
        accepted=visit.field("terms") == "yes",
        shortest=passwords.LENGTH[0],
        longest=passwords.LENGTH[1],
    )
