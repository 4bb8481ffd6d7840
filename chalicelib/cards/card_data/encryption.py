"""Secret card data and its keys. Data is encrypted for one card and field, looked up by keyed hash, or computed on
demand.

The verification keys are versioned. The look-up key never changes. The keys are stored in one secret, ``{"lookup",
"versions": [{"id", "cvk", "pvk"}]}``. The oldest version is first, and every key is wrapped by the KMS key. New cards
use the latest version. A card's key version never changes, so no version is deleted.
"""

from __future__ import annotations

import hashlib
import hmac
from typing import Any, Literal

from chalicelib.cards.card_data import verification_values
from chalicelib.cards.card_data.verification_values import KEY_BYTES
from chalicelib.foundation.crypto.keyring import Vault, WrappedKeys, derived_key

Sealed = Literal["pan", "pin", "acs_password"]
"""The card fields that are stored encrypted. The CVC2 is computed and never stored."""


class CardKeys(WrappedKeys):
    """The card data keys, loaded on first use and checked for new versions once a minute."""

    always_there = "versions"

    def rotate(self) -> int:
        """Create verification keys for new cards and return their version. Existing cards keep their version.

        Raises:
            SecretChanged: another operator changed the keys concurrently.
        """
        state = self._load()
        number = int(state["versions"][-1]["id"]) + 1
        self._save({**state, "versions": [*state["versions"], self._new_version(number)]}, replacing=state)
        return number

    def current(self) -> int:
        """The key version for new cards."""
        return int(self._load()["versions"][-1]["id"])

    def cvk(self, version: int) -> bytes:
        """The card verification key of a version, 16 bytes. Raises: KeyError."""
        return self._key(version, "cvk")

    def pvk(self, version: int) -> bytes:
        """The PIN verification key of a version, 16 bytes. Raises: KeyError."""
        return self._key(version, "pvk")

    def derive_key(self, purpose: str) -> bytes:
        """Derive a 256-bit key for one purpose (HKDF, RFC 5869). The derived key never changes."""
        return derived_key(self._unwrap(self._load()["lookup"]), purpose)

    def _first(self) -> dict[str, Any]:
        return {"lookup": self._new_key(), "versions": [self._new_version(1)]}

    def _new_version(self, number: int) -> dict[str, Any]:
        return {"id": number, "cvk": self._new_key(), "pvk": self._new_key()}

    def _key(self, version: int, name: str) -> bytes:
        """Return a double-length DES key, which is the first half of the unwrapped key.

        The parity bits are not adjusted, because DES ignores the last bit of each byte.
        """
        return self._unwrap(self._entry("versions", version)[name])[:KEY_BYTES]


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
        """Return the keyed hash that finds a card by its number, as 64 hexadecimal digits. The hash never changes."""
        return self._hash("card number", pan)

    def fingerprint(self, text: str) -> str:
        """Return the keyed hash that identifies a duplicate request, as 64 hexadecimal digits. The hash never
        changes.
        """
        return self._hash("request", text)

    def key_version(self) -> int:
        """The verification key version for new cards."""
        return self._keys.current()

    def cvc2(self, pan: str, year: int, month: int, version: int) -> str:
        """Compute the card's CVC2 with key ``version``. ``year`` has four digits. Raises: KeyError."""
        return verification_values.cvc2(self._keys.cvk(version), pan, year, month)

    def pvv(self, pan: str, pin: str, version: int) -> str:
        """Compute the PIN verification value with key ``version``. Raises: KeyError."""
        return verification_values.pvv(self._keys.pvk(version), pan, pin)

    def _hash(self, purpose: str, text: str) -> str:
        return hmac.new(self._keys.derive_key(purpose), text.encode(), hashlib.sha256).hexdigest()


def context_of(card_id: int, field: Sealed) -> str:
    """Return the context to which the encryption of a card's field is bound."""
    return f"card#{card_id}|{field}"
