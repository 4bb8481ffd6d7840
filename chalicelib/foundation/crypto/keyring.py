"""The service's own keys (signing keys and data keys), and the vault, which seals values with the data keys.

The keys are stored in one secret, ``{"signing_keys": [{"pem", "active_from"}], "data_keys": [{"id", "wrapped",
"created_at"}]}``, oldest first; data keys of earlier releases have no ``created_at``. Data keys are wrapped by the KMS
key; each process unwraps a data key once. There are at most two signing keys: the newest with a past ``active_from``
(Unix seconds) signs, and both are published so that banks have a key before its first use.

The vault encrypts stored values that are needed again in plaintext, and binds each to its record. A sealed value is
``version (1 byte) | data key id (4) | nonce (12) | AES-256-GCM ciphertext``. The additional authenticated data are the
header and the context, so a value moved to another record or attribute cannot be opened.
"""

from __future__ import annotations

import base64
import secrets
import struct
from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any, ClassVar, Protocol

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey, RSAPublicKey
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from chalicelib.foundation import log
from chalicelib.foundation.aws.errors import SecretChanged
from chalicelib.foundation.clock import CLOCK_SKEW_SECONDS, Clock
from chalicelib.foundation.crypto import signatures

CACHED_SECONDS = 60
KEYS_DERIVED_FROM = 3
_VERSION = 1
_HEADER = struct.Struct(">BI")
_NONCE = 12


class KeyManagement(Protocol):
    """The KMS operations that the keyring needs: generate and unwrap data keys."""

    def generate_data_key(self) -> tuple[bytes, bytes]:
        """Generate a 256-bit key, in plaintext and wrapped."""

    def unwrap(self, wrapped: bytes) -> bytes:
        """Decrypt a wrapped key."""


class SecretStore(Protocol):
    """The storage of the secret that contains the wrapped keys."""

    def get(self, name: str) -> dict[str, Any]:
        """Return the secret's members, or no members for a new secret."""

    def put(self, name: str, value: dict[str, Any], replacing: dict[str, Any] | None = None) -> None:
        """Replace the secret if its current value equals ``replacing``. Raises: SecretChanged."""


class NoKeys(Exception):
    """No keys exist yet. Create them with ``.venv/bin/python -m infra.admin keys init``."""


class WrappedKeys(ABC):
    """The keys of one secret, wrapped by the KMS key. The secret is cached for a minute, and each key is unwrapped
    once.
    """

    always_there: ClassVar[str]
    """The name of a member that every initialised secret contains."""

    def __init__(self, secrets: SecretStore, kms: KeyManagement, name: str, clock: Clock) -> None:
        self._secrets = secrets
        self._kms = kms
        self._name = name
        self._clock = clock
        self._state: dict[str, Any] = {}
        self._loaded_at = 0
        self._plain: dict[str, bytes] = {}

    def initialise(self) -> bool:
        """Create the first keys unless keys exist. Returns whether keys were created."""
        state = self._secrets.get(self._name)
        if state.get(self.always_there):
            return False
        try:
            self._save(self._first(), replacing=state)
        except SecretChanged:  # another process initialised it
            return False
        return True

    @abstractmethod
    def _first(self) -> dict[str, Any]:
        """Create the initial contents of the secret."""

    def _new_key(self) -> str:
        """Create a 256-bit key and return it wrapped, in base64."""
        _, wrapped = self._kms.generate_data_key()
        return base64.b64encode(wrapped).decode()

    def _unwrap(self, wrapped: str) -> bytes:
        if wrapped not in self._plain:
            self._plain[wrapped] = self._kms.unwrap(base64.b64decode(wrapped))
        return self._plain[wrapped]

    def _entry(self, member: str, number: int) -> dict[str, Any]:
        found = self._find(member, number)
        if found is None:  # another process may already use a key from a rotation that this one has not loaded
            self._state = {}
            found = self._find(member, number)
        if found is None:
            raise KeyError(number)
        return found

    def _find(self, member: str, number: int) -> dict[str, Any] | None:
        return next((entry for entry in self._load()[member] if int(entry["id"]) == number), None)

    def _load(self) -> dict[str, Any]:
        """Load the secret, cached for up to a minute. Raises: NoKeys."""
        state = self._state  # another thread may replace it at any time
        if not state or not 0 <= self._clock.time() - self._loaded_at < CACHED_SECONDS:
            try:
                state = self._secrets.get(self._name)
            except Exception:
                if not state:
                    raise
                log.exception("keys not reloaded")  # the cached state stays in use for another period
            if not state.get(self.always_there):
                raise NoKeys(
                    f"the secret {self._name} contains no keys yet: run `.venv/bin/python -m infra.admin keys init`"
                )
            self._state, self._loaded_at = state, self._clock.time()
        return state

    def _save(self, state: dict[str, Any], replacing: dict[str, Any]) -> None:
        self._secrets.put(self._name, state, replacing)
        self._state, self._loaded_at = state, self._clock.time()


def derived_key(key: bytes, purpose: str) -> bytes:
    """Derive a 256-bit key for one purpose (HKDF, RFC 5869)."""
    return HKDF(hashes.SHA256(), length=32, salt=None, info=purpose.encode()).derive(key)


class Keyring(WrappedKeys):
    """Loads the keys on first use and checks for new keys once a minute."""

    always_there = "signing_keys"

    def __init__(self, secrets: SecretStore, kms: KeyManagement, name: str, clock: Clock) -> None:
        super().__init__(secrets, kms, name, clock)
        self._ciphers: dict[int, AESGCM] = {}
        self._derived: dict[tuple[int, str], bytes] = {}
        self._private: dict[str, RSAPrivateKey] = {}

    def rotate_signing_key(self, overlap: int) -> str:
        """Publish a new signing key now and sign with it after ``overlap`` seconds. Returns its key id.

        The current signing key remains. A key that is not yet active is replaced. Without an overlap, the old key is no
        longer published; use this for a compromised key.

        Raises:
            SecretChanged: another operator changed the secret at the same time.
        """
        state = self._load()
        pem = signatures.generate_private_pem()
        entry = {"pem": pem, "active_from": self._clock.time() + overlap}
        previous = [self._signing_entry(state)] if overlap else []
        self._save({**state, "signing_keys": [*previous, entry]}, replacing=state)
        return signatures.key_id(self._key(pem).public_key())

    def rotate_data_key(self) -> int:
        """Add a data key and seal new values with it. Older values can still be opened. Returns the new key's id.

        Raises:
            SecretChanged: another operator changed the secret at the same time.
        """
        state = self._load()
        number = int(state["data_keys"][-1]["id"]) + 1
        entry = {"id": number, "wrapped": self._new_key(), "created_at": self._clock.time()}
        self._save({**state, "data_keys": [*state["data_keys"], entry]}, replacing=state)
        return number

    def remove_data_key(self, number: int) -> None:
        """Delete a data key. Values sealed with it can never be opened again (see ``resealing``).

        Raises:
            KeyError: there is no such key.
            ValueError: the key seals new values.
            SecretChanged: another operator changed the secret at the same time.
        """
        state = self._load()
        left = [entry for entry in state["data_keys"] if int(entry["id"]) != number]
        if len(left) == len(state["data_keys"]):
            raise KeyError(number)
        if number == int(state["data_keys"][-1]["id"]):
            raise ValueError("the newest data key seals new values")
        self._save({**state, "data_keys": left}, replacing=state)

    def data_keys(self) -> Mapping[int, int]:
        """Return the creation times of the data keys by id, oldest first. Times are Unix seconds, or 0 if unknown."""
        return {int(entry["id"]): int(entry.get("created_at", 0)) for entry in self._load()["data_keys"]}

    def signing_key(self) -> RSAPrivateKey:
        return self._key(self._signing_entry(self._load())["pem"])

    def public_keys(self) -> list[RSAPublicKey]:
        """Return all published keys, newest first."""
        return [self._key(entry["pem"]).public_key() for entry in reversed(self._load()["signing_keys"])]

    def current_data_key(self) -> tuple[int, AESGCM]:
        number = int(self._load()["data_keys"][-1]["id"])
        return number, self.data_key(number)

    def data_key(self, number: int) -> AESGCM:
        if number not in self._ciphers:
            self._ciphers[number] = AESGCM(self._unwrap_data_key(number))
        return self._ciphers[number]

    def derived_keys(self, purpose: str) -> list[bytes]:
        """Derive 256-bit keys for one purpose. Sign with the last key, verify with all keys.

        They are derived from the newest three data keys (HKDF, RFC 5869). The newest key signs once it is a minute old
        by any clock, because other processes may take a minute to load it. Until then, the second newest key signs. A
        signature remains valid after one rotation, even if its key was new.
        """
        numbers = self._recent_data_keys()
        signing = self._deriving_data_key()
        ordered = [number for number in numbers if number != signing] + [signing]
        return [self._derive(number, purpose) for number in ordered]

    def derived_signing_key(self, purpose: str) -> bytes:
        """Return the signing key, which is the last key of ``derived_keys``. Other data keys are not unwrapped."""
        return self._derive(self._deriving_data_key(), purpose)

    def _derive(self, number: int, purpose: str) -> bytes:
        if (number, purpose) not in self._derived:
            self._derived[number, purpose] = derived_key(self._unwrap_data_key(number), purpose)
        return self._derived[number, purpose]

    def _recent_data_keys(self) -> list[int]:
        return list(self.data_keys())[-KEYS_DERIVED_FROM:]

    def _deriving_data_key(self) -> int:
        number, created_at = list(self.data_keys().items())[-1]
        is_known = self._clock.time() - created_at >= CACHED_SECONDS + CLOCK_SKEW_SECONDS
        return number if is_known else self._recent_data_keys()[-2:][0]

    def _first(self) -> dict[str, Any]:
        return {
            "signing_keys": [{"pem": signatures.generate_private_pem(), "active_from": 0}],
            "data_keys": [{"id": 1, "wrapped": self._new_key(), "created_at": self._clock.time()}],
        }

    def _unwrap_data_key(self, number: int) -> bytes:
        return self._unwrap(self._entry("data_keys", number)["wrapped"])

    def _signing_entry(self, state: dict[str, Any]) -> dict[str, Any]:
        now = self._clock.time()
        active = [entry for entry in state["signing_keys"] if entry["active_from"] <= now] or state["signing_keys"][:1]
        newest: dict[str, Any] = active[-1]
        return newest

    def _key(self, pem: str) -> RSAPrivateKey:
        if pem not in self._private:
            self._private[pem] = signatures.load_private_key(pem, own=True)
        return self._private[pem]


class Unsealable(Exception):
    """A sealed value cannot be opened: it was altered or moved to a different record, or its key no longer exists."""


def data_key_id(value: object) -> int | None:
    """Return the data key id in the header of a sealed value, or ``None`` if ``value`` has no such header.

    Other bytes may look like a header, so compare the id with existing keys.
    """
    if not isinstance(value, bytes) or len(value) < _HEADER.size + _NONCE:
        return None
    version, number = _HEADER.unpack_from(value)
    return int(number) if version == _VERSION else None


class DataKeys(Protocol):
    """An interface that provides the data keys."""

    def current_data_key(self) -> tuple[int, AESGCM]:
        """Return the id and the cipher of the data key that seals new values."""

    def data_key(self, number: int) -> AESGCM:
        """Return the cipher of the data key with the id ``number``. Raises: KeyError."""


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
        """Encrypt a value again with the newest data key. Raises: Unsealable."""
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
