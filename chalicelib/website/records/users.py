"""Users of the web interface, who can own clients (specification, Web interface records).

A user is *identified* if the operator created the account, or if an emailed link confirmed the address. Users who
registered in a sandbox, or before addresses were confirmed, can sign in as usual, but their addresses are unverified.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from chalicelib.foundation.clock import Clock
from chalicelib.foundation.crypto import passwords
from chalicelib.foundation.dynamodb.conditions import Attr, Condition
from chalicelib.foundation.dynamodb.store import ConditionFailed, Item, Put, Store, Update, absent
from chalicelib.foundation.fields.written_text import is_invisible
from chalicelib.foundation.lazy_dataclasses import dataclass
from chalicelib.foundation.requests.engine import Engine, if_permitted

TABLE = "users"
_EMAIL = re.compile(r"[^@\s]{1,64}@[^@\s.]+(?:\.[^@\s.]+)+")
_SPECIAL = re.compile(r'[()<>\[\]:;,\\"]')
"""Characters that delimit lists, names and comments in the address headers of an email (RFC 5322 §3.2.3)."""
_NO_EMAIL = "email must be an email address, like name@example.com"


class InvalidUser(ValueError):
    """A registration is invalid; ``problems`` contains a sentence for each invalid field."""

    def __init__(self, problems: Mapping[str, str]) -> None:
        self.problems = problems
        super().__init__("; ".join(problems.values()))


class UserExists(Exception):
    """The email is already registered."""


class UnknownUser(LookupError):
    """No user has this email; the message is a sentence."""


class NotIdentified(Exception):
    """The user's address is not confirmed; the message is a sentence."""


@dataclass(frozen=True, slots=True)
class User:
    """A registered user; ``email`` is in lower case and is the login name.

    Attributes:
        manager_id: the programme manager whose cards the user can see and use, if the operator has linked one.
        generation: a number that each new password and each deactivation increments, to end sessions and links.
        active: whether the user may sign in.
        has_password: whether a password is set; users created by the operator may not have one yet.
        terms_accepted_at: the time at which the user accepted the terms, if ever.
        made_by_operator: whether the operator vouches for the user, usually by having created the account.
        confirmed_at: the time at which an emailed link confirmed the address, if ever.
    """

    email: str
    created_at: int
    manager_id: int | None = None
    generation: int = 0
    active: bool = True
    has_password: bool = True
    terms_accepted_at: int | None = None
    made_by_operator: bool = False
    confirmed_at: int | None = None

    @classmethod
    def from_item(cls, item: Item) -> User:
        """Create a user from a stored item. If newer attributes are missing, the user counts as active and not
        identified.
        """
        members = {name: item[name] for name in cls.__dataclass_fields__ if name in item}
        return cls(**members, has_password="password_hash" in item)

    @property
    def is_identified(self) -> bool:
        return self.made_by_operator or self.confirmed_at is not None


class Users:
    """The table of users. Passwords are stored as Argon2id hashes."""

    def __init__(self, store: Store, clock: Clock, engine: Engine) -> None:
        self._store = store
        self._engine = engine
        self._clock = clock

    def register(self, email: str, password: str, *, terms_accepted: bool) -> User:
        """Register a user with an unconfirmed address.

        Raises: InvalidUser (naming every invalid field), UserExists (the email is taken).
        """
        name = check_registration(email, password, terms_accepted)
        return self._create(name, passwords.hash_password(password), terms_accepted_at=self._clock.time())

    def add(self, email: str, password: str | None = None, *, terms_accepted: bool = False) -> User:
        """Create an identified user for the operator. Without ``password``, the user sets one through a link.

        Raises: InvalidUser (naming every invalid field), UserExists (the email is taken).
        """
        name = normalise_mailbox(email) if password is None else check_registration(email, password, terms_accepted)
        members = {"terms_accepted_at": self._clock.time()} if terms_accepted else {}
        return self._create(
            name, passwords.hash_password(password) if password else None, made_by_operator=True, **members
        )

    def mark_identified(self, email: str) -> None:
        """Mark a user as created by the operator. Raises: InvalidUser, UnknownUser."""
        self._change(email, set={"made_by_operator": True})

    def find(self, email: str) -> User | None:
        item = self._store.get(*user_key(normalise_email(email)))
        return User.from_item(item) if item else None

    def get(self, email: str) -> User:
        """Return the user with this email. Raises: InvalidUser, UnknownUser."""
        found = self.find(email)
        if found is None:
            raise unknown_user(normalise_email(email))
        return found

    def get_identified(self, email: str) -> User:
        """Return the identified user with this email. Raises: InvalidUser, UnknownUser, NotIdentified."""
        found = self.get(email)
        if not found.is_identified:
            raise NotIdentified(
                f"{found.email} does not identify the user, who registered without confirming it: "
                "use a code that the user creates at /account"
            )
        return found

    def deactivate(self, email: str) -> User:
        """Prevent a user from signing in, and end all of the user's sessions. Raises: InvalidUser, UnknownUser."""
        return self._change(email, set={"active": False}, add={"generation": 1})

    def activate(self, email: str) -> User:
        """Allow a user to sign in again. Raises: InvalidUser, UnknownUser."""
        return self._change(email, set={"active": True})

    def remove_password(self, email: str) -> User:
        """Remove a user's password, and end all of the user's sessions. Raises: InvalidUser, UnknownUser."""
        return self._change(email, remove=["password_hash"], add={"generation": 1})

    def unlink_manager(self, email: str) -> User:
        """Unlink a user from the programme manager's cards. Raises: InvalidUser, UnknownUser."""
        return self._change(email, remove=["manager_id"])

    def authenticate(self, email: str, password: str) -> User | None:
        """Return the user with this email and password, who may be inactive, or ``None`` if either is wrong.

        Every call takes the same time.
        """
        try:
            item = self._store.get(*user_key(normalise_email(email)))
        except InvalidUser:
            item = None
        is_right = passwords.verify(item.get("password_hash") if item else None, password)
        return User.from_item(item) if item and is_right else None

    def _create(self, name: str, password_hash: str | None, **members: Any) -> User:
        created = put_user(name, password_hash, self._clock.time(), **members)
        user, exists = User.from_item(created.item), UserExists(f"{name} is already registered")
        return self._engine.carry_out(if_permitted([created], user, lambda _: exists, is_overwritten=True))

    def _change(self, email: str, **change: Any) -> User:
        table, key = user_key(normalise_email(email))
        try:
            return User.from_item(self._store.update(table, key, condition=Attr("email").exists(), **change))
        except ConditionFailed:
            raise unknown_user(key["email"]) from None


def user_key(name: str) -> tuple[str, Item]:
    """Return the table and key of a user, from a normalised email."""
    return TABLE, {"email": name}


def put_user(name: str, password_hash: str | None, now: int, **members: Any) -> Put:
    """Return a conditional put of a new user, which fails if the user exists."""
    item = {"email": name, "created_at": now, "generation": 0, "active": True, **members}
    return Put(TABLE, item | ({"password_hash": password_hash} if password_hash else {}), absent("email"))


def update_password(user: User, password_hash: str, **members: Any) -> Update:
    """Return a conditional password update, which fails if the user was deactivated or has another new password."""
    return Update(
        *user_key(user.email),
        set={"password_hash": password_hash, "generation": user.generation + 1, **members},
        condition=_unchanged_condition(user),
    )


def apply_password_update(user: User, **members: Any) -> User:
    """Return the user after ``update_password``. A second read could include a later deactivation."""
    return replace(user, generation=user.generation + 1, has_password=True, **members)


def update_manager(user: User, manager_id: int) -> Update:
    """Return an update that links a user to a programme manager."""
    return Update(*user_key(user.email), set={"manager_id": manager_id}, condition=Attr("email").exists())


def check_registration(email: str, password: str, terms_accepted: bool) -> str:
    """Return the normalised email of a valid registration. Raises: InvalidUser, naming every invalid field."""
    problems: dict[str, str] = {}
    name = email.strip().lower()
    try:
        name = normalise_mailbox(email)
    except InvalidUser as error:
        problems |= error.problems
    if reason := passwords.problem(name, password):
        problems["password"] = reason
    if not terms_accepted:
        problems["terms"] = "the terms must be accepted"
    if problems:
        raise InvalidUser(problems)
    return name


def normalise_email(email: str) -> str:
    """Return an email address as stored. Raises: InvalidUser."""
    name = email.strip().lower()
    if len(name) > 254 or not name.isprintable() or not _EMAIL.fullmatch(name):
        raise InvalidUser({"email": _NO_EMAIL})
    return name


def normalise_mailbox(email: str) -> str:
    """Return an email address as stored, without special and invisible characters, for sending email.

    ``x<ada@example.com>`` would be a separate login name, but emails to it would reach Ada's mailbox. Users of earlier
    versions may have such a name.

    Raises: InvalidUser.
    """
    name = normalise_email(email)
    if _SPECIAL.search(name) or any(map(is_invisible, name)):
        raise InvalidUser({"email": _NO_EMAIL})
    return name


def _unchanged_condition(user: User) -> Condition:
    """Return the condition that a user is active and has the same generation. Old records have neither attribute."""
    same: Condition = Attr("generation").eq(user.generation)
    is_active = Attr("active").not_exists() | Attr("active").eq(True)
    return Attr("email").exists() & is_active & (same if user.generation else same | Attr("generation").not_exists())


def unknown_user(name: str) -> UnknownUser:
    """Return the error for an email without a user."""
    return UnknownUser(f"no user has the email {name}: register one with `users add`")
