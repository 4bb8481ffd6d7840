"""Keys in one secret, wrapped by the KMS key: loaded on first use and cached for a minute.

Subclasses define the contents of the secret; see ``keyring``.
"""

from __future__ import annotations

import base64
from abc import ABC, abstractmethod
from typing import Any, ClassVar, Protocol

from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from chalicelib.foundation import log
from chalicelib.foundation.aws.errors import SecretChanged
from chalicelib.foundation.clock import Clock

CACHED_SECONDS = 60


class KeyManagement(Protocol):
    """The KMS operations on data keys."""

    def generate_data_key(self) -> tuple[bytes, bytes]:
        """A new 256-bit key: plaintext and wrapped."""

    def unwrap(self, wrapped: bytes) -> bytes:
        """Decrypt a wrapped key."""


class SecretStore(Protocol):
    """The storage of the secret."""

    def get(self, name: str) -> dict[str, Any]:
        """The secret's members; empty for a new secret."""

    def put(self, name: str, value: dict[str, Any], replacing: dict[str, Any] | None = None) -> None:
        """Replace the secret if its value is still ``replacing``. Raises: SecretChanged."""


class NoKeys(Exception):
    """No keys exist yet: create them with ``.venv/bin/python -m infra.admin keys init``."""


class WrappedKeys(ABC):
    """The keys of one secret; each is unwrapped once."""

    always_there: ClassVar[str]
    """A member present in every initialised secret."""

    def __init__(self, secrets: SecretStore, kms: KeyManagement, name: str, clock: Clock) -> None:
        self._secrets = secrets
        self._kms = kms
        self._name = name
        self._clock = clock
        self._state: dict[str, Any] = {}
        self._loaded_at = 0
        self._plain: dict[str, bytes] = {}

    def initialise(self) -> bool:
        """Create the first keys unless keys exist; returns whether it created them."""
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
        """The initial contents of the secret."""

    def _new_key(self) -> str:
        """A new 256-bit key, wrapped, in base64."""
        _, wrapped = self._kms.generate_data_key()
        return base64.b64encode(wrapped).decode()

    def _unwrap(self, wrapped: str) -> bytes:
        """Unwrap a key that ``_new_key`` returned."""
        if wrapped not in self._plain:
            self._plain[wrapped] = self._kms.unwrap(base64.b64decode(wrapped))
        return self._plain[wrapped]

    def _entry(self, member: str, number: int) -> dict[str, Any]:
        """The entry with the id ``number`` in the list ``member``. Raises: KeyError."""
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
        """The secret, cached for up to a minute. Raises: NoKeys."""
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
        """Store and cache a new state of the secret. Raises: SecretChanged."""
        self._secrets.put(self._name, state, replacing)
        self._state, self._loaded_at = state, self._clock.time()


def derived_key(key: bytes, purpose: str) -> bytes:
    """A 256-bit key for one purpose (HKDF, RFC 5869)."""
    return HKDF(hashes.SHA256(), length=32, salt=None, info=purpose.encode()).derive(key)
