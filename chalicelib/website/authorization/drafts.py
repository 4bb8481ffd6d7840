"""Drafts: secrets in unsent forms, from which the ids and secrets of created records are derived.

A form submitted twice, by a double click or after a lost response, therefore creates the same record. Pages can show
values before they are stored. Users cannot choose derived values.
"""

from __future__ import annotations

import hmac
import re

from chalicelib.foundation.clock import Clock
from chalicelib.foundation.crypto.keyring import Keyring
from chalicelib.foundation.identifiers import base64url, new_id

_DRAFT = re.compile(r"[0-9a-f]{30}")


def create_draft(clock: Clock) -> str:
    """Create a draft: the Unix time as eight hexadecimal digits, followed by 88 random bits."""
    return f"{clock.time():08x}{new_id()}"


def read_draft(clock: Clock, given: str) -> str:
    """Return the submitted draft, or a new draft if it is invalid."""
    return given if _DRAFT.fullmatch(given) else create_draft(clock)


def derive_bytes(keyring: Keyring, draft: str, owner: str, purpose: str) -> bytes:
    """Derive 256 bits from a purpose, an owner and a draft, with a key of the service."""
    key = keyring.derived_keys("website/drafts")[-1]
    return hmac.digest(key, "\x1f".join((purpose, owner, draft)).encode(), "sha256")


def derive_text(keyring: Keyring, draft: str, owner: str, purpose: str) -> str:
    """Return the value of ``derive_bytes`` as 43 URL-safe characters."""
    return base64url(derive_bytes(keyring, draft, owner, purpose))
