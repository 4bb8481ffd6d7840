"""One-time secrets: links that set a password or confirm an address, and codes for the operator.

Only a digest of the secret is stored, until the secret is used or expires. A use deletes the record by a conditional
write in the transaction of the authorised change, so only one of two parallel uses succeeds.
"""

from __future__ import annotations

import re
import secrets
from collections.abc import Mapping
from typing import Any, Literal

from chalicelib.foundation.clock import Clock
from chalicelib.foundation.dynamodb.conditions import Attr
from chalicelib.foundation.dynamodb.store import Delete, Item, Put, Store, absent
from chalicelib.foundation.identifiers import SECRET_LENGTH, digest, new_secret
from chalicelib.foundation.lazy_dataclasses import dataclass
from chalicelib.website.records.sessions import TABLE

MINUTE, HOUR = 60, 3600
Purpose = Literal["code", "reset", "confirm"]
LIFETIMES: Mapping[Purpose, int] = {"code": 15 * MINUTE, "reset": HOUR, "confirm": 24 * HOUR}
"""The lifetimes in seconds by purpose: a ``code`` for the operator, a password ``reset``, and the confirmation of an
address.
"""

_PART = "one-time"
_LETTERS = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"  # Crockford's Base32: no letter looks like a digit
_CODE_LENGTH, _GROUP = 12, 4
_ALIKE = str.maketrans("OIL", "011")
_SECRET = re.compile(rf"[A-Za-z0-9_-]{{{SECRET_LENGTH}}}")


@dataclass(frozen=True, slots=True)
class OneTimeSecret:
    """A valid secret, its user, and additional stored ``members``."""

    purpose: Purpose
    key: Item
    email: str
    expires_at: int
    members: Mapping[str, Any]


def issue_secret(
    purpose: Purpose, email: str, clock: Clock, lifetime: int | None = None, **members: Any
) -> tuple[str, Put]:
    """Create a secret, and the write operation that stores its digest. ``lifetime`` is in seconds and defaults to the
    purpose's lifetime.
    """
    secret = _random_code() if purpose == "code" else new_secret()
    expires_at = clock.real.time() + (lifetime or LIFETIMES[purpose])
    item = {**_key(purpose, secret), "email": email, "expires_at": expires_at, **members}
    return secret, Put(TABLE, item, absent("owner"))


def find_secret(purpose: Purpose, secret: str, store: Store, clock: Clock) -> OneTimeSecret | None:
    """Return the record of a secret, or ``None`` if the secret is unknown, used or expired."""
    if purpose != "code" and not _SECRET.fullmatch(secret):
        return None
    item = store.get(TABLE, _key(purpose, secret))
    if item is None or item["expires_at"] <= clock.real.time():
        return None
    known = {"owner", "part", "email", "expires_at"}
    members = {name: value for name, value in item.items() if name not in known}
    return OneTimeSecret(purpose, _key(purpose, secret), item["email"], item["expires_at"], members)


def delete_secret(found: OneTimeSecret, clock: Clock) -> Delete:
    """Return a conditional delete, which fails if the secret has been used or has expired."""
    return Delete(TABLE, found.key, Attr("owner").exists() & Attr("expires_at").gt(clock.real.time()))


def is_code(text: str) -> bool:
    """Whether ``text`` has the format of a code, as opposed to an email address."""
    return (
        "@" not in text and len(_normalise_code(text)) == _CODE_LENGTH and set(_normalise_code(text)) <= set(_LETTERS)
    )


def _key(purpose: Purpose, secret: str) -> Item:
    plain = _normalise_code(secret) if purpose == "code" else secret
    return {"owner": f"{purpose}#{digest(plain)}", "part": _PART}


def _random_code() -> str:
    """Create a code of 60 random bits that is easy to read aloud."""
    letters = "".join(secrets.choice(_LETTERS) for _ in range(_CODE_LENGTH))
    return "-".join(letters[start : start + _GROUP] for start in range(0, _CODE_LENGTH, _GROUP))


def _normalise_code(code: str) -> str:
    """Remove spaces and hyphens from a typed code, and replace lookalike characters."""
    return re.sub(r"[\s-]", "", code).upper().translate(_ALIKE)
