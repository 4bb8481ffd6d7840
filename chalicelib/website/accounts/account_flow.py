"""User accounts: registration, passwords, their emails, and links from the operator."""

from __future__ import annotations

from collections.abc import Mapping
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
from chalicelib.foundation.settings import Settings
from chalicelib.website.records import users as user_records
from chalicelib.website.records.one_time_secrets import (
    HOUR,
    LIFETIMES,
    MINUTE,
    OneTimeSecret,
    OneTimeSecrets,
    Purpose,
    is_code,
)

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
"""Subject and text of each email. Every request sends one, so the page does not reveal whether an account exists."""


def compose_mail(topic: Topic, to: str, **values: str) -> str:
    """An email as the body of a delivery, with ``values`` inserted into its text."""
    subject, text = TEXTS[topic]
    return jsontext.dumps({"to": to, "subject": f"Causeway: {subject}", "text": text.format(**values)})


class MailSender:
    def __init__(self, mailer: Mailer) -> None:
        self._mailer = mailer

    def send(self, dispatch: Dispatch) -> Delivered:
        """Send an email. Raises: Undeliverable."""
        try:
            self._mailer.send(Mail(**jsontext.loads(dispatch.body)), dispatch.delivery.delivery_id)
        except MailFailed as failure:
            raise Undeliverable(str(failure), final=failure.final) from None
        return Delivered(200)


OPERATOR_LINK_SECONDS = 24 * HOUR  # lifetime of a link from the operator


class SecretNotValid(LookupError):
    """A link or code is unknown, used or expired; the message is a sentence."""


class WrongPassword(Exception):
    """The entered password is wrong."""


class UserAccountFlow:
    def __init__(
        self, settings: Settings, store: Store, clock: Clock, users: user_records.Users, outbox: Outbox, engine: Engine
    ) -> None:
        self._settings = settings
        self._clock = clock
        self._users = users
        self._one_time = OneTimeSecrets(store, clock.real)
        self._outbox = outbox
        self._engine = engine

    def request_confirmation(self, name: str, password: str) -> None:
        """Email a link that completes a registration (see ``users.check_registration``).

        If the address already has an account, the email says so; the request takes as long. The account is only created
        when the link is used with this password, so the owner of an address cannot confirm a stranger's registration by
        mistake.
        """
        password_hash, now = passwords.hash_password(password), self._clock.time()
        if self._users.find(name) is not None:
            self._send_mail("account_exists", name, "/forgotten")
            return
        secret, put = self._one_time.issue("confirm", name, password_hash=password_hash, terms_accepted_at=now)
        self._send_mail("confirm_address", name, f"/confirm/{secret}", LIFETIMES["confirm"], put)

    def find_confirmed_email(self, secret: str) -> str:
        """The email address that a link confirms. Raises: SecretNotValid."""
        return self._find_confirmation(secret).email

    def confirm_registration(self, secret: str, password: str) -> user_records.User:
        """Create the registered user and use up the link.

        Raises:
            SecretNotValid: also if an account with this address now exists.
            WrongPassword: the link remains valid.
        """
        found = self._find_confirmation(secret)
        if not passwords.verify(found.members["password_hash"], password):
            raise WrongPassword
        now = self._clock.time()
        created = user_records.put_user(found.email, **found.members, now=now, confirmed_at=now)
        self._use_secret(found, created)
        return user_records.User.from_item(created.item)

    def issue_code(self, user: user_records.User) -> str:
        """Issue a code that identifies the user's account to the operator."""
        code, put = self._one_time.issue("code", user.email, generation=user.generation)
        return self._engine.carry_out(lambda _: Outcome(code, [put]))

    def link_manager(self, code_or_email: str, manager_id: int) -> user_records.User:
        """Link a user to the cards of a programme manager.

        The user is named by a code, which is used up, or by email if the user is identified (see ``users``).

        Raises: SecretNotValid, InvalidUser, UnknownUser, NotIdentified.
        """
        found, user = self._find_named(code_or_email)
        update = user_records.update_manager(user, manager_id)
        if found is None:
            self._engine.carry_out(if_permitted([update], None, lambda _: user_records.unknown_user(user.email)))
        else:
            self._use_secret(found, update)
        return self._users.get(user.email)

    def find_owner(self, code_or_email: str) -> user_records.User:
        """The user who is to own a client, named as in ``link_manager``; a code is used up.

        Raises: SecretNotValid, InvalidUser, UnknownUser, NotIdentified.
        """
        found, user = self._find_named(code_or_email)
        if found is not None:
            self._use_secret(found)
        return user

    def change_password(self, user: user_records.User, current: str, password: str) -> user_records.User:
        """Set a new password and end all sessions of the user.

        Raises:
            WrongPassword: ``current`` is wrong, or the user was changed concurrently.
            InvalidUser: the new password is unacceptable or the same as the current one.
        """
        reason = passwords.problem(user.email, password)
        if reason:
            raise user_records.InvalidUser({"password": reason})
        if self._users.authenticate(user.email, current) is None:
            raise WrongPassword
        if passwords.are_same(current, password):
            raise user_records.InvalidUser({"password": "the new password is the same as the current one"})
        update = user_records.update_password(user, passwords.hash_password(password))
        self._engine.carry_out(if_permitted([update], None, lambda _: WrongPassword()))
        return user_records.apply_password_update(user)

    def request_reset(self, email: str) -> None:
        """Email a password reset link, or the reason why there is none. Raises: InvalidUser."""
        name = user_records.normalise_mailbox(email)
        user = self._users.find(name)
        if user is None:
            self._send_mail("no_account", name, "/register")
        elif not user.active:
            self._send_mail("account_inactive", name)
        else:
            secret, put = self._one_time.issue("reset", name, generation=user.generation, mailed=True)
            self._send_mail("reset_password", name, f"/reset/{secret}", LIFETIMES["reset"], put)

    def issue_operator_link(self, user: user_records.User) -> str:
        """Issue a one-time password link, which the operator hands over to the user."""
        secret, put = self._one_time.issue("reset", user.email, OPERATOR_LINK_SECONDS, generation=user.generation)
        return self._engine.carry_out(lambda _: Outcome(f"{self._settings.public_url}/reset/{secret}", [put]))

    def find_reset_user(self, secret: str) -> user_records.User:
        """The user to whom a password link was issued. Raises: SecretNotValid."""
        return self._find_secret("reset", secret)[1]

    def reset_password(self, secret: str, password: str, *, terms_accepted: bool) -> user_records.User:
        """Set a password, use up the link, and end all sessions of the user.

        Raises: SecretNotValid, InvalidUser (naming every invalid field).
        """
        found, user = self._find_secret("reset", secret)
        members = self._check_reset(user, password, terms_accepted)
        if found.members.get("mailed") and user.confirmed_at is None:  # the link proves access to the mailbox
            members["confirmed_at"] = self._clock.time()
        self._use_secret(found, user_records.update_password(user, passwords.hash_password(password), **members))
        return user_records.apply_password_update(user, **members)

    def _send_mail(self, topic: Topic, email: str, place: str = "", lifetime: int = 0, *puts: Put) -> None:
        """Record an email and ``puts`` in one transaction, then send it. ``place`` is the path of its link."""
        address = self._settings.public_url
        body = compose_mail(topic, email, service=address, link=f"{address}{place}", hours=_hours_text(lifetime))
        recorded = self._outbox.record("mail", topic, receiver=f"mailbox#{digest(email)[:16]}", body=body)
        self._engine.carry_out(lambda _: Outcome(None, puts, recorded))

    def _find_confirmation(self, secret: str) -> OneTimeSecret:
        found = self._one_time.find("confirm", secret)
        if found is None:
            raise SecretNotValid(_NOT_VALID["confirm"])
        return found

    def _check_reset(self, user: user_records.User, password: str, terms_accepted: bool) -> dict[str, int]:
        """The attributes to change in addition to the password. Raises: InvalidUser."""
        reason = passwords.problem(user.email, password)
        problems = {"password": reason} if reason else {}
        if user.terms_accepted_at is None and not terms_accepted:
            problems["terms"] = "the terms must be accepted"
        if problems:
            raise user_records.InvalidUser(problems)
        return {} if user.terms_accepted_at is not None else {"terms_accepted_at": self._clock.time()}

    def _find_secret(self, purpose: Literal["code", "reset"], secret: str) -> tuple[OneTimeSecret, user_records.User]:
        """A secret and its user. Raises: SecretNotValid, also after a newer password or a deactivation."""
        found = self._one_time.find(purpose, secret)
        user = self._users.find(found.email) if found else None
        if found is None or user is None or not user.active or found.members["generation"] != user.generation:
            raise SecretNotValid(_NOT_VALID[purpose])
        return found, user

    def _find_named(self, code_or_email: str) -> tuple[OneTimeSecret | None, user_records.User]:
        """A user, and the code that names the user. Raises: SecretNotValid, InvalidUser, UnknownUser, NotIdentified."""
        if is_code(code_or_email):
            return self._find_secret("code", code_or_email)
        return None, self._users.get_identified(code_or_email)

    def _use_secret(self, found: OneTimeSecret, *changes: Operation) -> None:
        """Delete a secret and apply ``changes``, all or none. Raises: SecretNotValid."""
        refusal = SecretNotValid(_NOT_VALID[found.purpose])
        self._engine.carry_out(if_permitted([self._one_time.delete(found), *changes], None, lambda _: refusal))


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
