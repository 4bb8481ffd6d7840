"""Card data keys: versioned verification keys, and the look-up key, which never changes.

They are stored in one secret, ``{"lookup", "versions": [{"id", "cvk", "pvk"}]}``, with the oldest version first and
every key wrapped by the KMS key. New cards use the latest version; each card keeps its version, so none is ever
deleted.
"""

from __future__ import annotations

from typing import Any

from chalicelib.cards.card_data.verification_values import KEY_BYTES
from chalicelib.foundation.crypto.wrapped_keys import WrappedKeys, derived_key


class CardKeys(WrappedKeys):
    """Loads the keys on first use and checks for new versions once a minute."""

    always_there = "versions"

    def rotate(self) -> int:
        """Create verification keys for new cards and return their version; existing cards keep theirs.

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
        """A 256-bit key for one purpose (HKDF, RFC 5869); it never changes."""
        return derived_key(self._unwrap(self._load()["lookup"]), purpose)

    def _first(self) -> dict[str, Any]:
        return {"lookup": self._new_key(), "versions": [self._new_version(1)]}

    def _new_version(self, number: int) -> dict[str, Any]:
        return {"id": number, "cvk": self._new_key(), "pvk": self._new_key()}

    def _key(self, version: int, name: str) -> bytes:
        """A double-length key: the first half of the wrapped key. DES ignores the last bit of each byte."""
        return self._unwrap(self._entry("versions", version)[name])[:KEY_BYTES]
