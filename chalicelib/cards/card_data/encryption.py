"""Secret card data: sealed for one card and field, looked up by keyed hash, or computed on demand."""

from __future__ import annotations

import hashlib
import hmac
from typing import Literal

from chalicelib.cards.card_data import verification_values
from chalicelib.cards.card_data.keys import CardKeys
from chalicelib.foundation.crypto.vault import Vault

Sealed = Literal["pan", "pin", "acs_password"]
"""The fields stored sealed. The CVC2 is computed, never stored."""


class CardData:
    """Card numbers, PINs and access control server (ACS) passwords."""

    def __init__(self, vault: Vault, keys: CardKeys) -> None:
        self._vault = vault
        self._keys = keys

    def seal(self, card_id: int, field: Sealed, text: str) -> bytes:
        """Encrypt ``text``, bound to this card and field."""
        return self._vault.seal(text, context_of(card_id, field))

    def open(self, card_id: int, field: Sealed, sealed: bytes) -> str:
        """Decrypt a value from ``seal``. Raises: Unsealable."""
        return self._vault.unseal(sealed, context_of(card_id, field))

    def lookup(self, pan: str) -> str:
        """The keyed hash that finds a card by its number, 64 hexadecimal digits; it never changes."""
        return self._hash("card number", pan)

    def fingerprint(self, text: str) -> str:
        """The keyed hash that identifies a repeated request, 64 hexadecimal digits; it never changes."""
        return self._hash("request", text)

    def key_version(self) -> int:
        """The verification key version for new cards."""
        return self._keys.current()

    def cvc2(self, pan: str, year: int, month: int, version: int) -> str:
        """The card's CVC2, computed with key ``version``; ``year`` has four digits. Raises: KeyError."""
        return verification_values.cvc2(self._keys.cvk(version), pan, year, month)

    def pvv(self, pan: str, pin: str, version: int) -> str:
        """The PIN verification value, computed with key ``version``. Raises: KeyError."""
        return verification_values.pvv(self._keys.pvk(version), pan, pin)

    def _hash(self, purpose: str, text: str) -> str:
        return hmac.new(self._keys.derive_key(purpose), text.encode(), hashlib.sha256).hexdigest()


def context_of(card_id: int, field: Sealed) -> str:
    """The context for which a card's field is sealed."""
    return f"card#{card_id}|{field}"
