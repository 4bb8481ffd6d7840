"""The service's own keys: signing keys, and the data keys that the vault seals with.

They live in one secret, ``{"signing_keys": [{"pem", "active_from"}], "data_keys": [{"id", "wrapped"}]}``, oldest
first. Data keys are wrapped by the KMS key; a process unwraps each of them once. Of at most two signing keys the newest
whose ``active_from`` (Unix seconds) has come signs, and both are published, so that banks know a key before it is used.
"""

from __future__ import annotations

import base64
from typing import Any, Protocol

from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey, RSAPublicKey
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from chalicelib.foundation import log, signatures
from chalicelib.foundation.clock import Clock

CACHED_SECONDS = 60
_KEYS_DERIVED_FROM = 3


class KeyManagement(Protocol):
    """The part of the KMS that the keyring needs."""

    def generate_data_key(self) -> tuple[bytes, bytes]:
        """A new 256-bit key: plain and wrapped."""

    def unwrap(self, wrapped: bytes) -> bytes:
        """The plain key of a wrapped one."""


class SecretStore(Protocol):
    """Where the keyring is kept."""

    def get(self, name: str) -> dict[str, Any]:
        """The secret's members; empty when nothing was stored yet."""

    def put(self, name: str, value: dict[str, Any], replacing: dict[str, Any] | None = None) -> None:
        """Replace the secret, if it still is ``replacing``. Raises: SecretChanged."""


class SecretChanged(Exception):
    """Somebody else changed the secret at the same time; theirs holds."""


class NoKeys(Exception):
    """The keyring was never initialised: ``python -m infra.admin keys init`` does it."""


class Keyring:
    """Loads the keys on first use and looks for new ones once a minute."""

    def __init__(self, secrets: SecretStore, kms: KeyManagement, name: str, clock: Clock) -> None:
        self._secrets = secrets
        self._kms = kms
        self._name = name
        self._clock = clock
        self._state: dict[str, Any] = {}
        self._loaded_at = 0
        self._plain: dict[int, bytes] = {}
        self._ciphers: dict[int, AESGCM] = {}
        self._private: dict[str, RSAPrivateKey] = {}

    def initialise(self) -> bool:
        """Make the first keys; answers whether there were none yet."""
        state = self._secrets.get(self._name)
        if state.get("signing_keys"):
            return False
        _, wrapped = self._kms.generate_data_key()
        first = {
            "signing_keys": [{"pem": signatures.generate_private_pem(), "active_from": 0}],
            "data_keys": [{"id": 1, "wrapped": base64.b64encode(wrapped).decode()}],
        }
        try:
            self._save(first, replacing=state)
        except SecretChanged:  # by another initialiser
            return False
        return True

    def rotate_signing_key(self, overlap: int) -> str:
        """Publish a new signing key now and sign with it after ``overlap`` seconds; answers its key id.

        The key that signs until then stays; one that was still waiting for its time is replaced. Without an overlap
        the old key is not even published any more: that is for a key that was stolen.

        Raises:
            SecretChanged: by another operator at the same time.
        """
        state = self._load()
        pem = signatures.generate_private_pem()
        entry = {"pem": pem, "active_from": self._clock.time() + overlap}
        kept = [self._signing_entry(state)] if overlap else []
        self._save({**state, "signing_keys": [*kept, entry]}, replacing=state)
        return signatures.key_id(self._key(pem).public_key())

    def rotate_data_key(self) -> int:
        """Seal with a new data key from now on; what older ones sealed still opens. Answers its id.

        Raises:
            SecretChanged: by another operator at the same time.
        """
        state = self._load()
        _, wrapped = self._kms.generate_data_key()
        number = int(state["data_keys"][-1]["id"]) + 1
        entry = {"id": number, "wrapped": base64.b64encode(wrapped).decode()}
        self._save({**state, "data_keys": [*state["data_keys"], entry]}, replacing=state)
        return number

    def signing_key(self) -> RSAPrivateKey:
        return self._key(self._signing_entry(self._load())["pem"])

    def public_keys(self) -> list[RSAPublicKey]:
        """All published keys, newest first."""
        return [self._key(entry["pem"]).public_key() for entry in reversed(self._load()["signing_keys"])]

    def current_data_key(self) -> tuple[int, AESGCM]:
        number = int(self._load()["data_keys"][-1]["id"])
        return number, self.data_key(number)

    def data_key(self, number: int) -> AESGCM:
        if number not in self._ciphers:
            self._ciphers[number] = AESGCM(self._unwrapped(number))
        return self._ciphers[number]

    def derived_keys(self, purpose: str) -> list[bytes]:
        """256-bit keys for one purpose: sign with the last of them, verify with all.

        They come of the newest three data keys (HKDF, RFC 5869). The one to sign with is the newest but one, if there
        are two: for a minute after a rotation not every process knows the newest. What was signed outlives one
        rotation.
        """
        numbers = [int(entry["id"]) for entry in self._load()["data_keys"][-_KEYS_DERIVED_FROM:]]
        signing = numbers[-2:][0]
        ordered = [number for number in numbers if number != signing] + [signing]
        return [_derived(self._unwrapped(number), purpose) for number in ordered]

    def _unwrapped(self, number: int) -> bytes:
        """A data key in clear, unwrapped once. Raises: KeyError."""
        if number not in self._plain:
            wrapped = self._wrapped(number)
            if wrapped is None:  # sealed by a process that has seen a rotation which this one has not
                self._state = {}
                wrapped = self._wrapped(number)
            if wrapped is None:
                raise KeyError(number)
            self._plain[number] = self._kms.unwrap(base64.b64decode(wrapped))
        return self._plain[number]

    def _wrapped(self, number: int) -> str | None:
        return next((entry["wrapped"] for entry in self._load()["data_keys"] if int(entry["id"]) == number), None)

    def _signing_entry(self, state: dict[str, Any]) -> dict[str, Any]:
        now = self._clock.time()
        active = [entry for entry in state["signing_keys"] if entry["active_from"] <= now] or state["signing_keys"][:1]
        newest: dict[str, Any] = active[-1]
        return newest

    def _key(self, pem: str) -> RSAPrivateKey:
        if pem not in self._private:
            self._private[pem] = signatures.load_private_key(pem, own=True)
        return self._private[pem]

    def _load(self) -> dict[str, Any]:
        state = self._state  # another thread may replace it at any time
        if not state or self._clock.time() - self._loaded_at >= CACHED_SECONDS:
            try:
                state = self._secrets.get(self._name)
            except Exception:
                if not state:
                    raise
                log.exception("keys not read again")  # what was read before goes on for as long again
            if not state.get("signing_keys"):
                raise NoKeys(f"the secret {self._name} holds no keys yet: run `python -m infra.admin keys init`")
            self._state, self._loaded_at = state, self._clock.time()
        return state

    def _save(self, state: dict[str, Any], replacing: dict[str, Any]) -> None:
        self._secrets.put(self._name, state, replacing)
        self._state, self._loaded_at = state, self._clock.time()


def _derived(key: bytes, purpose: str) -> bytes:
    return HKDF(hashes.SHA256(), length=32, salt=None, info=purpose.encode()).derive(key)
