"""The vault: encrypts stored values that are needed again in plaintext, and binds each to its record.

A sealed value is ``version (1 byte) | data key id (4) | nonce (12) | AES-256-GCM ciphertext``. The additional
authenticated data are the header and the context, so a value moved to another record or attribute cannot be opened.
"""

from __future__ import annotations

import secrets
import struct
from typing import Protocol

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

_VERSION = 1
_HEADER = struct.Struct(">BI")
_NONCE = 12


class Unsealable(Exception):
    """A sealed value was altered or moved to another record, or its key no longer exists."""


def data_key_id(value: object) -> int | None:
    """The id of the data key in the header of a sealed value; ``None`` if ``value`` has no such header.

    Other bytes may begin like a header: compare the id with those of the keys that exist.
    """
    if not isinstance(value, bytes) or len(value) < _HEADER.size + _NONCE:
        return None
    version, number = _HEADER.unpack_from(value)
    return int(number) if version == _VERSION else None


class DataKeys(Protocol):
    """The source of the data keys; see ``keyring``."""

    def current_data_key(self) -> tuple[int, AESGCM]:
        """The id and the cipher of the data key that seals new values."""

    def data_key(self, number: int) -> AESGCM:
        """The cipher of the data key with the id ``number``. Raises: KeyError."""


class Vault:
    """Seals and unseals text."""

    def __init__(self, keys: DataKeys) -> None:
        self._keys = keys

    def seal(self, text: str, context: str) -> bytes:
        """Encrypt ``text`` for the location named by ``context``, for example ``banks/DEMOGB21/api_key``."""
        number, cipher = self._keys.current_data_key()
        header = _HEADER.pack(_VERSION, number)
        nonce = secrets.token_bytes(_NONCE)
        return header + nonce + cipher.encrypt(nonce, text.encode(), header + context.encode())

    def reseal(self, sealed: bytes, context: str) -> bytes:
        """Encrypt a value anew with the data key for new values. Raises: Unsealable."""
        return self.seal(self.unseal(sealed, context), context)

    def unseal(self, sealed: bytes, context: str) -> str:
        """Decrypt a value that was sealed for the same ``context``. Raises: Unsealable."""
        header, rest = sealed[: _HEADER.size], sealed[_HEADER.size :]
        try:
            version, number = _HEADER.unpack(header)
            if version != _VERSION:
                raise Unsealable(f"unknown version of the encrypted value at {context}")
            cipher = self._keys.data_key(number)
            return cipher.decrypt(rest[:_NONCE], rest[_NONCE:], header + context.encode()).decode()
        except (struct.error, KeyError, InvalidTag, ValueError):
            raise Unsealable(f"the encrypted value at {context} cannot be decrypted") from None
