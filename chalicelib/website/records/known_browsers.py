"""Browsers that have signed in to an account before: strangers cannot lock them out by guessing its password.

Such a browser keeps a signed cookie for each account, which says nothing but that: it signs nobody in. Its failed
sign-ins are counted for it alone (see ``attempts``).
"""

from __future__ import annotations

import hashlib
import re
from typing import TYPE_CHECKING

from chalicelib.foundation.clock import Clock
from chalicelib.foundation.crypto.keyring import Keyring
from chalicelib.foundation.identifiers import digest, new_id

if TYPE_CHECKING:
    from itsdangerous import Signer

LIFETIME = 180 * 24 * 3600
"""How long a browser is known after it has signed in, in seconds."""
COOKIE = "causeway_known_"
"""How the names of the cookies begin; a digest of the account's email follows."""
_VALUE = re.compile(r"([0-9a-f]{22})-([0-9]{1,12})\.([A-Za-z0-9_-]+)")


class KnownBrowsers:
    """Makes the cookies, and recognises them."""

    def __init__(self, keyring: Keyring, clock: Clock) -> None:
        self._keyring = keyring
        self._clock = clock

    def cookie_value(self, email: str, browser: str | None = None) -> str:
        """The value of the cookie of a browser that has signed in now; one that was known keeps its id."""
        browser_id = f"{browser or new_id()}-{self._clock.time()}"
        return f"{browser_id}.{self._signer().get_signature(_signed_text(browser_id, email)).decode()}"

    def find(self, email: str, value: str) -> str | None:
        """The id of a browser that has signed in to this account before; ``None`` for any other value."""
        found = _VALUE.fullmatch(value)
        if found is None or self._clock.time() >= int(found[2]) + LIFETIME:
            return None
        is_ours = self._signer().verify_signature(_signed_text(f"{found[1]}-{found[2]}", email), found[3])
        return found[1] if is_ours else None

    def _signer(self) -> Signer:
        from itsdangerous import Signer  # few requests need it

        keys = self._keyring.derived_keys("website/known-browser")
        return Signer(keys, salt="website/known-browser", digest_method=hashlib.sha256)


def cookie_name(email: str) -> str:
    """The name of the cookie for an account."""
    return f"{COOKIE}{digest(email)[:16]}"


def _signed_text(browser_id: str, email: str) -> str:
    return f"{browser_id} {email}"
