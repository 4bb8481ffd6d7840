"""The runtime of a demonstration bank: credentials, the service's public keys, storage and secrets.

A bank's credentials are one member of the demonstration banks' secret: ``{"one": {"bic", "api_key",
"signing_key" (PEM), "storage_key" (256 bits, hexadecimal)}, "two": {…}, …}``.
"""

from __future__ import annotations

import hmac
import re
import time
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import field
from functools import lru_cache
from typing import Protocol, TypeVar

import requests
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey, RSAPublicKey
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from chalicelib.demo_bank.format import Format
from chalicelib.demo_bank.profiles import Profile
from chalicelib.foundation import log
from chalicelib.foundation.clock import Clock
from chalicelib.foundation.crypto import signatures
from chalicelib.foundation.crypto.keyring import SecretStore, Vault
from chalicelib.foundation.dynamodb.store import Delete, Item, Put, Store
from chalicelib.foundation.lazy_dataclasses import dataclass
from chalicelib.foundation.settings import Settings

T = TypeVar("T")

TABLE = "demo-banks"
DUE_PAGE_SIZE = 25
CACHED_SECONDS = 60
CONNECT_SECONDS = 3
READ_SECONDS = 15
KEYS_SECONDS = 5
TOO_LONG_SECONDS = 24
"""A response time that exceeds the service's timeout (20 s), but not the timeout of a deployed function (29 s)."""
_private_key = lru_cache(maxsize=8)(signatures.load_private_key)
"""Load a private key. The result is cached, because validating a key takes as long as creating many signatures."""

_PEM = re.compile(r"-----BEGIN PUBLIC KEY-----.+?-----END PUBLIC KEY-----\s*", re.DOTALL)


class Services(Hashable, Protocol):
    """The infrastructure that the banks share with their host."""

    @property
    def settings(self) -> Settings: ...

    @property
    def clock(self) -> Clock: ...

    @property
    def store(self) -> Store: ...

    @property
    def secrets(self) -> SecretStore: ...


class NotInstalled(Exception):
    """The bank has no credentials because it was never registered with the service."""


class HubUnreachable(Exception):
    """The service did not respond, or violated the protocol in its response."""


@dataclass(frozen=True, slots=True)
class DemoBankCredentials:
    """A bank's credentials."""

    api_key: str = field(repr=False)
    signing_key: RSAPrivateKey = field(repr=False)
    storage_key: bytes = field(repr=False)


class DemoBank:
    """A running demonstration bank. Its credentials and the service's keys are reloaded after a minute.

    ``pause`` waits for a number of seconds. Tests pass a function that returns immediately.
    """

    def __init__(
        self, profile: Profile, format_: Format, services: Services, pause: Callable[[float], None] = time.sleep
    ) -> None:
        self.profile = profile
        self.format = format_
        self.pause = pause
        self.settings = services.settings
        self.clock = services.clock
        self.store = services.store
        self._secrets = services.secrets
        self._credentials: tuple[int, DemoBankCredentials] | None = None
        self._hub_keys: tuple[int, list[RSAPublicKey]] | None = None

    @property
    def domain(self) -> str:
        return self.profile.domain(self.settings.public_url)

    @property
    def path(self) -> str:
        return self.profile.path(self.settings.public_url)

    def key(self, record: str) -> dict[str, str]:
        """Return the storage key of one of this bank's records."""
        return {"bank": self.profile.name, "id": record}

    def credentials(self) -> DemoBankCredentials:
        """Return the bank's credentials at the hub. Raises: NotInstalled."""
        now = self.clock.time()
        if self._credentials is None or now - self._credentials[0] >= CACHED_SECONDS:
            self._credentials = (now, self._read_or_reuse(self._read_credentials, self._credentials))
        return self._credentials[1]

    def hub_keys(self) -> Sequence[RSAPublicKey]:
        """Return the service's published public keys. Raises: HubUnreachable."""
        now = self.clock.time()
        if self._hub_keys is None or now - self._hub_keys[0] >= CACHED_SECONDS:
            self._hub_keys = (now, self._read_or_reuse(self._fetch_hub_keys, self._hub_keys))
        return self._hub_keys[1]

    def call_hub(
        self,
        method: str,
        path: str,
        body: bytes | None = None,
        headers: Mapping[str, str] | None = None,
        seconds: float = READ_SECONDS,
    ) -> requests.Response:
        """Make one HTTP request to the service, on a separate connection.

        ``seconds`` is the time limit for the response. Raises: HubUnreachable.
        """
        with requests.Session() as session:
            session.trust_env = False
            session.verify = self.settings.outbound_ca_file or True
            try:
                return session.request(
                    method,
                    self.settings.bank_api_url + path,
                    data=body,
                    headers=dict(headers or {}),
                    timeout=(min(CONNECT_SECONDS, seconds), min(READ_SECONDS, seconds)),
                    allow_redirects=False,
                )
            except requests.RequestException as error:
                raise HubUnreachable(f"{path}: {type(error).__name__}") from error

    def seal(self, text: str, record: str) -> bytes:
        """Encrypt a secret for storage in a record."""
        return self._vault().seal(text, self._context(record))

    def unseal(self, sealed: bytes, record: str) -> str:
        return self._vault().unseal(sealed, self._context(record))

    def derive(self, purpose: str, *parts: str) -> bytes:
        """Derive a 256-bit value from ``purpose`` and ``parts`` with this bank's storage key."""
        message = "\x1f".join((purpose, *parts)).encode()
        return hmac.digest(self.credentials().storage_key, message, "sha256")

    def _read_or_reuse(self, read: Callable[[], T], before: tuple[int, T] | None) -> T:
        """Return the result of ``read``. If ``read`` fails, reuse the previous result for one more period."""
        try:
            return read()
        except NotInstalled:
            raise
        except Exception:
            if before is None:
                raise
            log.exception("demo bank: keys not reloaded", bank=self.profile.name)
            return before[1]

    def _vault(self) -> Vault:
        return Vault(_StorageKey(AESGCM(self.credentials().storage_key)))

    def _context(self, record: str) -> str:
        return f"{TABLE}/{self.profile.name}/{record}"

    def _read_credentials(self) -> DemoBankCredentials:
        found = self._secrets.get(self.settings.demo_banks_secret).get(self.profile.name)
        if not found:
            raise NotInstalled(f"{self.profile.title} has no credentials in {self.settings.demo_banks_secret}")
        return DemoBankCredentials(
            api_key=found["api_key"],
            signing_key=_private_key(found["signing_key"]),
            storage_key=bytes.fromhex(found["storage_key"]),
        )

    def _fetch_hub_keys(self) -> list[RSAPublicKey]:
        answer = self.call_hub("GET", "/bank/public_key", seconds=KEYS_SECONDS)
        keys = [signatures.load_public_key(pem) for pem in _PEM.findall(answer.text)] if answer.ok else []
        if not keys:
            raise HubUnreachable(f"/bank/public_key: status {answer.status_code} without keys")
        return keys


@dataclass(frozen=True, slots=True)
class _StorageKey:
    """The bank's single storage key, with the interface that the vault expects."""

    cipher: AESGCM

    def current_data_key(self) -> tuple[int, AESGCM]:
        return 1, self.cipher

    def data_key(self, number: int) -> AESGCM:
        return {1: self.cipher}[number]


@dataclass(frozen=True, slots=True)
class DueTimes:
    """An index of due work, with records ``<prefix>#<time>#<id>``. A record expires ``retention_seconds`` after its
    time.
    """

    prefix: str
    retention_seconds: int

    def key(self, bank: DemoBank, at: int, identifier: str) -> Item:
        return bank.key(f"{self.prefix}#{at:012d}#{identifier}")

    def find(self, bank: DemoBank) -> Iterator[tuple[int, str]]:
        """Iterate over the times and ids of due work, oldest first."""
        partition, now = ("bank", bank.profile.name), bank.clock.time()
        for item in bank.store.each(TABLE, partition, sort_prefix=("id", f"{self.prefix}#"), limit=DUE_PAGE_SIZE):
            _, at, identifier = item["id"].split("#")
            if int(at) > now:
                return
            yield int(at), identifier

    def next_time(self, bank: DemoBank) -> int | None:
        """Return the earliest due time in Unix seconds, or ``None`` if the index is empty."""
        partition = ("bank", bank.profile.name)
        found = bank.store.query(TABLE, partition, sort_prefix=("id", f"{self.prefix}#"), limit=1)
        return int(found.items[0]["id"].split("#")[1]) if found.items else None

    def postpone(self, bank: DemoBank, at: int, identifier: str, seconds: int) -> None:
        """Move an entry from ``at`` to a later time."""
        later = bank.clock.time() + seconds
        again = self.key(bank, later, identifier) | {"expires_at": later + self.retention_seconds}
        bank.store.transact([Put(TABLE, again), Delete(TABLE, self.key(bank, at, identifier))])
