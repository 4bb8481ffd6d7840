"""User accounts: registration, passwords, their emails, and links from the operator."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal

from chalicelib.delivery.outbox import Outbox
from chalicelib.delivery.outcomes import Delivered, Dispatch, Undeliverable
from chalicelib.foundation import jsontext
from chalicelib.foundation.clock import Clock
from chalicelib.foundation.crypto import passwords
from chalicelib.foundation.dynamodb.store import Operation, Put, Store
from chalicelib.foundation.identifiers import digest
from chalicelib.foundation.mail import Mail, Mailer, MailFailed
from chalicelib.foundation.requests.engine import Engine, if_permitted
from chalicelib.foundation.requests.outcome import Outcome
from chalicelib.foundation.wiring import Call
from chalicelib.website.records import users as user_records
from chalicelib.website.records.one_time_secrets import (
    HOUR,
    LIFETIMES,
    MINUTE,
    OneTimeSecret,
    Purpose,
    delete_secret,
    find_secret,
    is_code,
    issue_secret,
)
from chalicelib.website.records.users import InvalidUser, User, Users

Topic = Literal["confirm_address", "account_exists", "reset_password", "account_inactive", "no_account"]

TEXTS: Mapping[Topic, tuple[str, str]] = {
    "confirm_address": (
        "Confirm your address",
        """\
Somebody registered at {service} with this email address. If it was you, open this link within {hours} and enter the
password you chose:

{link}

If it was not you, ignore this email: no account is created without your confirmation.""",
    ),
    "account_exists": (
        "You already have an account",
        """\
Somebody tried to register at {service} with this email address, which already has an account. If it was you, sign in
with your password, or set a new one:

{link}

If it was not you, ignore this email: nothing has changed.""",
    ),
    "reset_password": (
        "Choose a new password",
        """\
Somebody requested a new password for your account at {service}. If it was you, open this link within {hours}:

{link}

If it was not you, ignore this email: nothing has changed.""",
    ),
    "account_inactive": (
        "Your account is deactivated",
        """\
Somebody requested a new password for your account at {service}. The operator has deactivated this account. To use it
again, ask the operator to reactivate it.

If it was not you, ignore this email: nothing has changed.""",
    ),
    "no_account": (
        "There is no account with this address",
        """\
Somebody requested a new password at {service}, but there is no account with this email address. If it was you, try
another address, or register:

{link}

If it was not you, ignore this email: nothing has changed.""",
    ),
}
"""The subject and text of each email. Every request sends an email, so the page does not reveal whether an account
exists.
"""


def compose_mail(topic: Topic, to: str, **values: str) -> str:
    """Return an email as the body of a delivery, with ``values`` inserted into its text."""
    subject, text = TEXTS[topic]
    return jsontext.dumps({"to": to, "subject": f"Causeway: {subject}", "text": text.format(**values)})


def send_mail(dispatch: Dispatch, *, mailer: Mailer) -> Delivered:
    """Send an email. Raises: Undeliverable."""
    try:
        mailer.send(Mail(**jsontext.loads(dispatch.body)), dispatch.delivery.delivery_id)
    except MailFailed as failure:
        raise Undeliverable(str(failure), final=failure.final) from None
    return Delivered(200)


OPERATOR_LINK_SECONDS = 24 * HOUR  # lifetime of a link from the operator


class SecretNotValid(LookupError):
    """A link or code is unknown, used or expired; the message is a sentence."""


class WrongPassword(Exception):
    """The entered password is wrong."""


def request_confirmation(name: str, password: str, *, clock: Clock, users: Users, call: Call) -> None:
    """Email a link that completes a registration (see ``users.check_registration``).

    If an account with this address already exists, the email informs the recipient, and the request takes the same
    time. The link creates the account only together with this password, so the owner of an address cannot confirm a
    stranger's registration by mistake.
    """
    password_hash, now = passwords.hash_password(password), clock.time()
    if users.find(name) is not None:
        call(_record_mail, name, "/forgotten", topic="account_exists")
        return
    secret, put = issue_secret("confirm", name, clock, password_hash=password_hash, terms_accepted_at=now)
    call(_record_mail, name, f"/confirm/{secret}", topic="confirm_address", lifetime=LIFETIMES["confirm"], puts=[put])


def find_confirmed_email(secret: str, *, store: Store, clock: Clock) -> str:
    """Return the email address that a link confirms. Raises: SecretNotValid."""
    return _find_confirmation(secret, store, clock).email


def confirm_registration(secret: str, password: str, *, store: Store, clock: Clock, call: Call) -> User:
    """Create the registered user and use up the link.

    Raises:
        SecretNotValid: also if an account with this address now exists.
        WrongPassword: the link remains valid.
    """
    found = _find_confirmation(secret, store, clock)
    if not passwords.verify(found.members["password_hash"], password):
        raise WrongPassword
    now = clock.time()
    created = user_records.put_user(found.email, **found.members, now=now, confirmed_at=now)
    call(_use_secret, found, created)
    return User.from_item(created.item)


def issue_code(user: User, *, clock: Clock, engine: Engine) -> str:
    """Issue a code that identifies the user's account to the operator."""
    code, put = issue_secret("code", user.email, clock, generation=user.generation)
    return engine.carry_out(lambda _: Outcome(code, [put]))


def link_manager(code_or_email: str, manager_id: int, *, users: Users, engine: Engine, call: Call) -> User:
    """Link a user to the cards of a programme manager.

    The user is identified by a single-use code, or by the email of an identified user (see ``users``).

    Raises: SecretNotValid, InvalidUser, UnknownUser, NotIdentified.
    """
    found, user = call(_find_named, code_or_email)
    update = user_records.update_manager(user, manager_id)
    if found is None:
        engine.carry_out(if_permitted([update], None, lambda _: user_records.unknown_user(user.email)))
    else:
        call(_use_secret, found, update)
    return users.get(user.email)


def find_owner(code_or_email: str, *, call: Call) -> User:
    """Return the user who will own a client, identified as in ``link_manager``. A code is used up.

    Raises: SecretNotValid, InvalidUser, UnknownUser, NotIdentified.
    """
    found, user = call(_find_named, code_or_email)
    if found is not None:
        call(_use_secret, found)
    return user


def change_password(user: User, current: str, password: str, *, users: Users, engine: Engine) -> User:
    """Set a new password and end all sessions of the user.

    Raises:
        WrongPassword: ``current`` is wrong, or the user was changed concurrently.
        InvalidUser: the new password is unacceptable or the same as the current password.
    """
    reason = passwords.problem(user.email, password)
    if reason:
        raise InvalidUser({"password": reason})
    if users.authenticate(user.email, current) is None:
        raise WrongPassword
    if passwords.are_same(current, password):
        raise InvalidUser({"password": "the new password is the same as the current one"})
    update = user_records.update_password(user, passwords.hash_password(password))
    engine.carry_out(if_permitted([update], None, lambda _: WrongPassword()))
    return user_records.apply_password_update(user)


def request_reset(email: str, *, clock: Clock, users: Users, call: Call) -> None:
    """Email a password reset link, or the reason why no link was issued. Raises: InvalidUser."""
    name = user_records.normalise_mailbox(email)
    user = users.find(name)
    if user is None:
        call(_record_mail, name, "/register", topic="no_account")
    elif not user.active:
        call(_record_mail, name, "", topic="account_inactive")
    else:
        secret, put = issue_secret("reset", name, clock, generation=user.generation, mailed=True)
        call(_record_mail, name, f"/reset/{secret}", topic="reset_password", lifetime=LIFETIMES["reset"], puts=[put])


def issue_operator_link(user: User, *, clock: Clock, engine: Engine, public_url: str) -> str:
    """Issue a one-time password link for the operator to pass on to the user."""
    secret, put = issue_secret("reset", user.email, clock, OPERATOR_LINK_SECONDS, generation=user.generation)
    return engine.carry_out(lambda _: Outcome(f"{public_url}/reset/{secret}", [put]))


def find_reset_user(secret: str, *, call: Call) -> User:
    """Return the user to whom a password link was issued. Raises: SecretNotValid."""
    return call(_find_secret, secret, purpose="reset")[1]


def reset_password(secret: str, password: str, *, terms_accepted: bool, clock: Clock, call: Call) -> User:
    """Set a password, use up the link, and end all sessions of the user.

    Raises: SecretNotValid, InvalidUser (naming every invalid field).
    """
    found, user = call(_find_secret, secret, purpose="reset")
    members = _check_reset(user, password, terms_accepted, clock)
    if found.members.get("mailed") and user.confirmed_at is None:  # the link proves access to the mailbox
        members["confirmed_at"] = clock.time()
    call(_use_secret, found, user_records.update_password(user, passwords.hash_password(password), **members))
    return user_records.apply_password_update(user, **members)


def _record_mail(
    email: str,
    place: str,
    *,
    topic: Topic,
    lifetime: int = 0,
    puts: Sequence[Put] = (),
    public_url: str,
    outbox: Outbox,
    engine: Engine,
) -> None:
    """Record an email and ``puts`` in one transaction, then send the email. ``place`` is the path of the link."""
    body = compose_mail(topic, email, service=public_url, link=f"{public_url}{place}", hours=_hours_text(lifetime))
    recorded = outbox.record("mail", topic, receiver=f"mailbox#{digest(email)[:16]}", body=body)
    engine.carry_out(lambda _: Outcome(None, puts, recorded))


def _find_confirmation(secret: str, store: Store, clock: Clock) -> OneTimeSecret:
    found = find_secret("confirm", secret, store, clock)
    if found is None:
        raise SecretNotValid(_NOT_VALID["confirm"])
    return found


def _check_reset(user: User, password: str, terms_accepted: bool, clock: Clock) -> dict[str, int]:
    """Return the attributes to change in addition to the password. Raises: InvalidUser."""
    reason = passwords.problem(user.email, password)
    problems = {"password": reason} if reason else {}
    if user.terms_accepted_at is None and not terms_accepted:
        problems["terms"] = "the terms must be accepted"
    if problems:
        raise InvalidUser(problems)
    return {} if user.terms_accepted_at is not None else {"terms_accepted_at": clock.time()}


def _find_secret(
    secret: str, *, purpose: Literal["code", "reset"], store: Store, clock: Clock, users: Users
) -> tuple[OneTimeSecret, User]:
    """Return a secret and its user. Raises: SecretNotValid, also after a later password change or a deactivation."""
    found = find_secret(purpose, secret, store, clock)
    user = users.find(found.email) if found else None
    if found is None or user is None or not user.active or found.members["generation"] != user.generation:
        raise SecretNotValid(_NOT_VALID[purpose])
    return found, user


def _find_named(code_or_email: str, *, users: Users, call: Call) -> tuple[OneTimeSecret | None, User]:
    """Return a user and the code for the user. Raises: SecretNotValid, InvalidUser, UnknownUser, NotIdentified."""
    if is_code(code_or_email):
        return call(_find_secret, code_or_email, purpose="code")
    return None, users.get_identified(code_or_email)


def _use_secret(found: OneTimeSecret, *changes: Operation, clock: Clock, engine: Engine) -> None:
    """Delete a secret and apply ``changes`` in one transaction. Raises: SecretNotValid."""
    refusal = SecretNotValid(_NOT_VALID[found.purpose])
    engine.carry_out(if_permitted([delete_secret(found, clock), *changes], None, lambda _: refusal))


def _hours_text(seconds: int) -> str:
    count = seconds // HOUR
    return f"{count} hour{'' if count == 1 else 's'}"


_LINK_NOT_VALID = "this link has been used or has expired"
_NOT_VALID: Mapping[Purpose, str] = {
    "code": f"this code is not valid: it has been used, or is more than {LIFETIMES['code'] // MINUTE} minutes old; "
    "ask the user to create a new one at /account",
    "reset": _LINK_NOT_VALID,
    "confirm": _LINK_NOT_VALID,
}
