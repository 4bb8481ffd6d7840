"""Users of the web interface: who may own clients (specification, Web interface records)."""

from __future__ import annotations

import re
from dataclasses import dataclass

from chalicelib.foundation.clock import Clock
from chalicelib.foundation.store import ConditionFailed, Item, Store, absent

TABLE = "users"
PASSWORD_LENGTH = (10, 256)
_EMAIL = re.compile(r"[^@\s]{1,64}@[^@\s.]+(?:\.[^@\s.]+)+")


class InvalidUser(ValueError):
    """A member of a registration that cannot be accepted; the message says which and why."""


class UserExists(Exception):
    """Somebody registered with this email before."""


@dataclass(frozen=True, slots=True)
class User:
    """A registered user; ``email`` is in lower case and is the login name."""

    email: str
    created_at: int


class Users:
    """The users' table. Passwords are kept as Argon2id hashes."""

    def __init__(self, store: Store, clock: Clock) -> None:
        self._store = store
        self._clock = clock

    def register(self, email: str, password: str, *, terms_accepted: bool) -> User:
        """Register a user.

        Raises:
            InvalidUser: naming the member.
            UserExists: the email is taken.
        """
        from argon2 import PasswordHasher  # few requests need it

        name = normalise(email)
        if not PASSWORD_LENGTH[0] <= len(password) <= PASSWORD_LENGTH[1]:
            raise InvalidUser(f"password must have {PASSWORD_LENGTH[0]} to {PASSWORD_LENGTH[1]} characters")
        if password.lower() == name:
            raise InvalidUser("password must not be the email")
        if not terms_accepted:
            raise InvalidUser("the terms must be accepted")
        item = {
            "email": name,
            "password_hash": PasswordHasher().hash(password),
            "terms_accepted_at": self._clock.time(),
            "created_at": self._clock.time(),
        }
        try:
            self._store.put(TABLE, item, absent("email"))
        except ConditionFailed:
            raise UserExists(f"{name} is registered already") from None
        return _user(item)

    def find(self, email: str) -> User | None:
        item = self._store.get(TABLE, {"email": normalise(email)})
        return _user(item) if item else None


def normalise(email: str) -> str:
    """An email address in the form it is stored in. Raises: InvalidUser."""
    name = email.strip().lower()
    if len(name) > 254 or not name.isprintable() or not _EMAIL.fullmatch(name):
        raise InvalidUser("email must be an email address")
    return name


def _user(item: Item) -> User:
    return User(email=item["email"], created_at=item["created_at"])
