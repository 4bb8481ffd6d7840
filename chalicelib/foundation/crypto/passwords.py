"""Password rules and Argon2id hashes."""

from __future__ import annotations

import unicodedata
from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from argon2 import PasswordHasher

LENGTH = (10, 256)
_ESTIMATED = 32
"""The number of characters of a password whose strength is estimated. Estimating a longer password takes seconds, and
the result could only be higher.
"""
_LONGEST = 4 * LENGTH[1]
"""The maximum number of input characters that are used. No valid password is longer."""
_GUESSABLE = 2
"""The lowest accepted zxcvbn score. A password with this score requires more than a million guesses."""


def problem(name: str, given: str) -> str | None:
    """Return why a password for ``name`` is rejected: too short, too long, the email address, or easily guessed."""
    from zxcvbn import zxcvbn  # few requests need it

    password = _normalise(given)
    if not LENGTH[0] <= len(password) <= LENGTH[1]:
        return f"password must have {LENGTH[0]} to {LENGTH[1]} characters"
    if password.lower() == name:
        return "password must not be the email address"
    estimate = zxcvbn(password[:_ESTIMATED], user_inputs=[name, *name.split("@")])
    if estimate["score"] < _GUESSABLE:
        reason = estimate["feedback"]["warning"] or "It can be guessed within a million attempts."
        return f"password is too easy to guess: {reason[:1].lower()}{reason[1:].removesuffix('.')}"
    return None


def hash_password(password: str) -> str:
    """Hash a password for storage."""
    return hasher().hash(_normalise(password))


def verify(known: str | None, password: str) -> bool:
    """Whether a password matches a stored hash. Without a hash, return ``False`` after the time that a comparison
    takes.
    """
    from argon2.exceptions import VerifyMismatchError

    nobodys = nobodys_hash()  # created by the first call of any kind, so that timing reveals nothing
    try:
        return hasher().verify(known or nobodys, _normalise(password)) and known is not None
    except VerifyMismatchError:
        return False


def are_same(one: str, other: str) -> bool:
    """Whether two inputs are the same password after Unicode normalisation."""
    return _normalise(one) == _normalise(other)


@cache
def hasher() -> PasswordHasher:
    from argon2 import PasswordHasher, profiles  # few requests need it

    return PasswordHasher.from_parameters(profiles.RFC_9106_LOW_MEMORY)


@cache
def nobodys_hash() -> str:
    """Return a dummy hash, against which passwords of unknown users are verified."""
    return hasher().hash("nobody has this password")


def _normalise(password: str) -> str:
    """Normalise a password (NFKC, NIST SP 800-63B)."""
    return unicodedata.normalize("NFKC", password[:_LONGEST])[:_LONGEST]
