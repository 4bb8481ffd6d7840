"""Signatures of messages between a bank and the hub: RSASSA-PKCS1-v1_5 with SHA-256 over the exact body, in Base64."""

from __future__ import annotations

import asyncio
import base64
import hashlib
import re
from collections.abc import Iterable

import httpx
from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric.padding import PKCS1v15
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey, RSAPublicKey
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    PublicFormat,
    load_pem_private_key,
    load_pem_public_key,
)

from causeway import _waiting
from causeway._retries import Retries
from causeway._user_agent import user_agent
from causeway.errors import ConfigurationError, ConnectionLost

FRESH_SECONDS = 60.0
"""Number of seconds for which the hub's keys may be cached."""
PAUSE_SECONDS = 1.0
"""Minimum number of seconds between two fetches of the keys that are caused by invalid signatures."""
FETCH_WAITS = Retries(waits=(0.1, 0.4))
FETCH_SECONDS = 5.0
"""The timeout of one attempt to fetch the keys, in seconds. All attempts together take less time than the hub waits for
the response to a webhook.
"""
SMALLEST_KEY = 2048
PEM = re.compile(rb"-----BEGIN PUBLIC KEY-----.+?-----END PUBLIC KEY-----", re.DOTALL)


class Signer:
    """Signs a bank's requests and responses."""

    def __init__(self, private_key: str | bytes, password: bytes | None = None) -> None:
        """Load ``private_key``, the bank's RSA key in PEM format, and decrypt it with ``password``.

        Raises ``ConfigurationError`` if the key is not an RSA key, or has less than 2048 bits.
        """
        text = private_key.encode() if isinstance(private_key, str) else private_key
        try:
            key = load_pem_private_key(text, password)
        except (ValueError, TypeError, UnsupportedAlgorithm):
            key = None
        if not isinstance(key, RSAPrivateKey) or key.key_size < SMALLEST_KEY:
            raise ConfigurationError(f"the private key must be RSA in PEM, of at least {SMALLEST_KEY} bits")
        self._key = key

    def __repr__(self) -> str:
        return f"Signer(key {self.key_id})"

    @property
    def key_id(self) -> str:
        """The id that the hub and its operator use for the key."""
        return key_id(self._key.public_key())

    def sign(self, body: bytes) -> str:
        """Return the value of the ``X-Signature`` header for a body."""
        return base64.b64encode(self._key.sign(body, PKCS1v15(), SHA256())).decode()


class HubKeys:
    """The hub's published keys, cached for a minute."""

    def __init__(self, client: httpx.AsyncClient, url: str) -> None:
        """Create a cache for the keys at ``url``, which is the hub's URL for banks followed by ``/bank/public_key``."""
        self._client = client
        self._url = url
        self._keys: tuple[RSAPublicKey, ...] = ()
        self._fetched = float("-inf")
        self._lock = asyncio.Lock()

    async def verify(self, body: bytes, signature: str) -> bool:
        """Return whether the hub signed exactly this body. Before a signature is refused, the keys are fetched again.

        Raises ``ConnectionLost`` if the keys cannot be fetched.
        """
        if await self._update(FRESH_SECONDS) and verify(self._keys, body, signature):
            return True
        return await self._update(PAUSE_SECONDS) and verify(self._keys, body, signature)

    async def _update(self, oldest: float) -> bool:
        """Fetch the keys again if the cached keys are at least ``oldest`` seconds old."""
        async with self._lock:
            if _waiting.now() - self._fetched >= oldest:
                self._keys = await self._fetch()
                self._fetched = _waiting.now()
        return True

    async def _fetch(self) -> tuple[RSAPublicKey, ...]:
        repeat = 0
        while True:
            try:
                return await self._fetch_once()
            except ConnectionLost:
                wait = FETCH_WAITS.wait(repeat, None)
                if wait is None:
                    raise
            await _waiting.async_sleep(wait)
            repeat += 1

    async def _fetch_once(self) -> tuple[RSAPublicKey, ...]:
        try:
            named = {"User-Agent": user_agent(self._client)}
            answer = await self._client.get(self._url, headers=named, timeout=FETCH_SECONDS, follow_redirects=False)
        except httpx.HTTPError as error:
            raise ConnectionLost(f"the hub's keys cannot be fetched ({type(error).__name__})") from error
        try:
            keys = tuple(read_keys(answer.content)) if answer.status_code == httpx.codes.OK else ()
        except (ValueError, UnsupportedAlgorithm) as error:
            raise ConnectionLost("the hub's keys cannot be read") from error
        if not keys:
            raise ConnectionLost(f"the hub's keys cannot be fetched (status {answer.status_code})")
        return keys


def read_keys(pems: bytes) -> Iterable[RSAPublicKey]:
    """Return the RSA keys in a text that contains any number of public keys in PEM format."""
    for pem in PEM.findall(pems):
        key = load_pem_public_key(pem)
        if isinstance(key, RSAPublicKey):
            yield key


def verify(keys: Iterable[RSAPublicKey], body: bytes, signature: str) -> bool:
    """Return whether one of the keys signed exactly this body."""
    try:
        signed = base64.b64decode(signature, validate=True)
    except ValueError:
        return False
    return any(_is_signed(key, body, signed) for key in keys)


def _is_signed(key: RSAPublicKey, body: bytes, signature: bytes) -> bool:
    try:
        key.verify(signature, body, PKCS1v15(), SHA256())
    except InvalidSignature:
        return False
    return True


def key_id(key: RSAPublicKey) -> str:
    """Return the first 16 hexadecimal digits of the SHA-256 of the key's SubjectPublicKeyInfo."""
    return hashlib.sha256(key.public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)).hexdigest()[:16]
