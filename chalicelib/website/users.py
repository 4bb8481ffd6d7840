"""Users of the web interface: who may own clients (specification, Web interface records)."""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

from boto3.dynamodb.conditions import Attr

from chalicelib.foundation.clock import Clock
from chalicelib.foundation.store import ConditionFailed, Item, Store, absent

if TYPE_CHECKING:
    from argon2 import PasswordHasher

TABLE = "users"
PASSWORD_LENGTH = (10, 256)
_EMAIL = re.compile(r"[^@\s]{1,64}@[^@\s.]+(?:\.[^@\s.]+)+")
_ESTIMATED = 32
"""So many characters of a password are judged: the rest only makes it better, and looking at it takes seconds."""
_LONGEST = 4 * PASSWORD_LENGTH[1]
"""So many characters of what was typed are looked at: more than any password has."""
_GUESSABLE = 2
"""zxcvbn's score from which on a password takes more than a million guesses."""


class InvalidUser(ValueError):
    """A member of a registration that cannot be accepted: ``member`` names it, the message says why."""

    def __init__(self, member: str, reason: str) -> None:
        self.member = member
        super().__init__(reason)


class UserExists(Exception):
    """Somebody registered with this email before."""


class UnknownUser(LookupError):
    """Nobody is registered with this email; the message is a sentence."""


@dataclass(frozen=True, slots=True)
class User:
    """A registered user; ``email`` is in lower case and is the login name.

    ``manager_id`` is the programme manager whose cards the user sees and uses, if the operator has linked one.
    """

    email: str
    created_at: int
    manager_id: int | None = None


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
        name, password = normalise(email), _spelled(password)
        _check_password(name, password)
        if not terms_accepted:
            raise InvalidUser("terms", "the terms must be accepted")
        item = {
            "email": name,
            "password_hash": _hasher().hash(password),
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

    def link(self, email: str, manager_id: int) -> User:
        """Have a user see the cards of a programme manager, and of no other. Raises: InvalidUser, UnknownUser."""
        return self._change(email, set={"manager_id": manager_id})

    def unlink(self, email: str) -> User:
        """Have a user see no cards any more. Raises: InvalidUser, UnknownUser."""
        return self._change(email, remove=["manager_id"])

    def authenticate(self, email: str, password: str) -> User | None:
        """The user of an email and a password; ``None``, after as long a time, when there is none or it is another."""
        try:
            item = self._store.get(TABLE, {"email": normalise(email)})
        except InvalidUser:
            item = None
        known = item["password_hash"] if item else _nobodys_hash()
        is_right = _verifies(known, password)
        return _user(item) if item and is_right else None

    def _change(self, email: str, **change: Any) -> User:
        key = {"email": normalise(email)}
        try:
            return _user(self._store.update(TABLE, key, condition=Attr("email").exists(), **change))
        except ConditionFailed:
            raise UnknownUser(f"no user has the email {key['email']}: register one with `users add`") from None


def normalise(email: str) -> str:
    """An email address in the form it is stored in. Raises: InvalidUser."""
    name = email.strip().lower()
    if len(name) > 254 or not name.isprintable() or not _EMAIL.fullmatch(name):
        raise InvalidUser("email", "email must be an email address, like name@example.com")
    return name


def _user(item: Item) -> User:
    return User(email=item["email"], created_at=item["created_at"], manager_id=item.get("manager_id"))


def _check_password(name: str, password: str) -> None:
    """Raises: InvalidUser, for a password that is too short, too long, the email, or one of those tried first."""
    from zxcvbn import zxcvbn  # few requests need it

    if not PASSWORD_LENGTH[0] <= len(password) <= PASSWORD_LENGTH[1]:
        shortest, longest = PASSWORD_LENGTH
        raise InvalidUser("password", f"password must have {shortest} to {longest} characters")
    if password.lower() == name:
        raise InvalidUser("password", "password must not be the email")
    estimate = zxcvbn(password[:_ESTIMATED], user_inputs=[name, *name.split("@")])
    if estimate["score"] < _GUESSABLE:
        reason = estimate["feedback"]["warning"] or "It would be guessed within a million attempts."
        raise InvalidUser(
            "password", f"password is too easy to guess: {reason[:1].lower()}{reason[1:].removesuffix('.')}"
        )


@cache
def _hasher() -> PasswordHasher:
    from argon2 import PasswordHasher, profiles  # few requests need it

    return PasswordHasher.from_parameters(profiles.RFC_9106_LOW_MEMORY)


@cache
def _nobodys_hash() -> str:
    """What an unknown user's password is compared with, so that the answer takes as long as for a known one."""
    return _hasher().hash("nobody has this password")


def _verifies(known: str, password: str) -> bool:
    from argon2.exceptions import VerifyMismatchError

    _nobodys_hash()  # made by whoever comes first, so that its making tells nothing
    try:
        return _hasher().verify(known, _spelled(password))
    except VerifyMismatchError:
        return False


def _spelled(password: str) -> str:
    """A password in one spelling, however a keyboard composes its letters (NFKC, NIST SP 800-63B)."""
    return unicodedata.normalize("NFKC", password[:_LONGEST])[:_LONGEST]
