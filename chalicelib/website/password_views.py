"""A user's own account: the code for the operator, and the link that sets a password."""

from __future__ import annotations

from chalice.app import Response

from chalicelib.bootstrap import hub
from chalicelib.foundation import log
from chalicelib.website import passwords
from chalicelib.website.account_flow import SecretOver
from chalicelib.website.account_views import signed_in
from chalicelib.website.attempts import TooManyAttempts
from chalicelib.website.one_time import LIFETIMES, MINUTE
from chalicelib.website.pages import NO_REFERRER, Visit, link, message, page, patient
from chalicelib.website.users import InvalidUser, User
from chalicelib.website.wording import about_fields, patience


def account(visit: Visit) -> Response:
    """``GET /account``."""
    return _account_page(visit)


def change(visit: Visit) -> Response:
    """``POST /account``: makes a code for the operator."""
    try:
        hub().attempts.count([("codes", visit.user)])
    except TooManyAttempts as stopped:
        answer = _account_page(visit, status=429, problem=patience(stopped.retry_after))
        return patient(answer, stopped.retry_after)
    return _account_page(visit, code=hub().accounts.new_code(visit.signed_in_user))


def reset_form(visit: Visit) -> Response:
    """``GET /reset/{secret}``: the link is used up by its form only, since mail programs look at addresses, too."""
    try:
        return _reset_page(visit, hub().accounts.of_reset(visit.incoming.uri["secret"]))
    except SecretOver:
        return _over(visit)


def reset(visit: Visit) -> Response:
    """``POST /reset/{secret}``: sets the password, and signs the user in."""
    secret, accepted = visit.incoming.uri["secret"], visit.field("terms") == "yes"
    try:
        user = hub().accounts.of_reset(secret)
        try:
            user = hub().accounts.reset_password(secret, visit.field("password"), terms_accepted=accepted)
        except InvalidUser as error:
            return _reset_page(visit, user, about_fields(error.problems), 400)
    except SecretOver:
        return _over(visit)
    log.info("password set by a link")
    return signed_in(visit, user)


def _account_page(visit: Visit, status: int = 200, code: str = "", problem: str = "") -> Response:
    minutes = LIFETIMES["code"] // MINUTE
    user = visit.signed_in_user
    return page(visit, "account.html", status=status, user=user, code=code, minutes=minutes, problem=problem)


def _reset_page(visit: Visit, user: User, errors: dict[str, str] | None = None, status: int = 200) -> Response:
    return page(
        visit,
        "reset.html",
        status=status,
        referrer=NO_REFERRER,
        user=user,
        action=f"/reset/{visit.incoming.uri['secret']}",
        errors=errors or {},
        accepted=visit.field("terms") == "yes",
        shortest=passwords.LENGTH[0],
        longest=passwords.LENGTH[1],
    )


def _over(visit: Visit) -> Response:
    return message(
        visit,
        "This link is not valid",
        "It was used already, or its time is over.",
        "Sign in, or ask whoever gave it to you for another one.",
        status=404,
        link=link("/sign-in"),
        label="Sign in",
    )
