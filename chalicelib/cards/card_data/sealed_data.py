"""Secret card data: sealed for one card and field, found by keyed hash, or computed on demand."""

from __future__ import annotations

import hashlib
import hmac
from typing import Literal

from chalicelib.cards.card_data import verification_values
from chalicelib.cards.card_data.keys import CardKeys
from chalicelib.foundation.crypto.vault import Vault

Sealed = Literal["pan", "pin", "acs_password"]
"""The fields that are stored, sealed. A CVC2 never is: it is computed."""


class CardData:
    """Card numbers, PINs and passwords of the access control server (ACS)."""

    def __init__(self, vault: Vault, keys: CardKeys) -> None:
        self._vault = vault
        self._keys = keys

    def seal(self, card_id: int, field: Sealed, text: str) -> bytes:
        """Encrypt ``text`` so that it opens as this field of this card only."""
        return self._vault.seal(text, _place(card_id, field))

    def open(self, card_id: int, field: Sealed, sealed: bytes) -> str:
        """Decrypt a value of ``seal``. Raises: Unsealable."""
        return self._vault.unseal(sealed, _place(card_id, field))

    def lookup(self, pan: str) -> str:
        """The keyed hash for card look-up, 64 hexadecimal digits; it never changes."""
        return self._hash("card number", pan)

    def fingerprint(self, text: str) -> str:
        """The keyed hash that identifies a repeated request, 64 hexadecimal digits; it never changes."""
        return self._hash("request", text)

    def key_version(self) -> int:
        """The version of the verification keys that new cards get."""
        return self._keys.current()

    def cvc2(self, pan: str, year: int, month: int, version: int) -> str:
        """The card's CVC2 under its version of the keys; ``year`` has four digits. Raises: KeyError."""
        return verification_values.cvc2(self._keys.cvk(version), pan, year, month)

    def pvv(self, pan: str, pin: str, version: int) -> str:
        """The PIN's verification value under the card's version of the keys. Raises: KeyError."""
        return verification_values.pvv(self._keys.pvk(version), pan, pin)

    def _hash(self, purpose: str, text: str) -> str:
        return hmac.new(self._keys.derive_key(purpose), text.encode(), hashlib.sha256).hexdigest()


def _place(card_id: int, field: Sealed) -> str:
    return f"card#{card_id}|{field}"
