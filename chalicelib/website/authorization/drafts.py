"""Drafts: secrets in unsent forms, from which the ids and secrets of created records are derived.

A form submitted twice, by a double click or after a lost response, therefore creates the same record, and values can be
shown before they are stored. Users cannot choose derived values.
"""

from __future__ import annotations

import hmac
import re

from chalicelib.foundation.clock import Clock
from chalicelib.foundation.crypto.keyring import Keyring
from chalicelib.foundation.identifiers import base64url, new_id
from chalicelib.foundation.lazy_dataclasses import dataclass

_DRAFT = re.compile(r"[0-9a-f]{30}")


@dataclass(frozen=True, slots=True)
class Drafts:
    """Creates drafts, and derives values from them with a key of the service."""

    keyring: Keyring
    clock: Clock

    def create(self) -> str:
        """Create a draft: the Unix time as eight hexadecimal digits, followed by 88 random bits."""
        return f"{self.clock.time():08x}{new_id()}"

    def read_or_create(self, given: str) -> str:
        """The submitted draft, or a new one if it is invalid."""
        return given if _DRAFT.fullmatch(given) else self.create()

    def derive_bytes(self, draft: str, owner: str, purpose: str) -> bytes:
        """256 bits derived from a purpose, an owner and a draft."""
        key = self.keyring.derived_keys("website/drafts")[-1]
        return hmac.digest(key, "\x1f".join((purpose, owner, draft)).encode(), "sha256")

    def derive_text(self, draft: str, owner: str, purpose: str) -> str:
        """The value of ``derive_bytes`` as 43 URL-safe characters."""
        return base64url(self.derive_bytes(draft, owner, purpose))
