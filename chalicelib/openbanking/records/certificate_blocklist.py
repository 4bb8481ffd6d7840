"""The operator's certificate blocklist. It exists because API Gateway does not check revocation lists.

A blocked certificate, of a TPP or a bank, is an item in the clients' table, so that the authentication of TPPs reads it
together with the client. Scans of clients skip items without ``owner``.
"""

from __future__ import annotations

import re

from chalicelib.foundation.clock import Clock
from chalicelib.foundation.dynamodb.store import Item, Store
from chalicelib.foundation.identifiers import digest
from chalicelib.foundation.lazy_dataclasses import dataclass
from chalicelib.openbanking.records.client_record import TABLE

CACHED_SECONDS = 60
_PREFIX = "certificate/"


class InvalidSerialNumber(ValueError):
    """A serial number is not hexadecimal."""


@dataclass(frozen=True, slots=True)
class BlockedCertificate:
    """A blocked certificate.

    ``issuer`` is an RFC 4514 string, ``serial_number`` hexadecimal, ``blocked_at`` Unix seconds.
    """

    issuer: str
    serial_number: str
    reason: str
    blocked_at: int

    @classmethod
    def from_item(cls, item: Item) -> BlockedCertificate:
        return cls(item["issuer"], item["serial_number"], item["reason"], item["blocked_at"])

    def as_item(self) -> Item:
        members = {name: getattr(self, name) for name in self.__dataclass_fields__}
        return blocklist_key(self.issuer, self.serial_number)[1] | members


class CertificateBlocklist:
    """The blocked certificates in DynamoDB.

    A change takes effect with the next request of a TPP, and within a minute for banks. Thread-safe: a thread replaces
    the cache and never changes it. A missing entry is read again.
    """

    def __init__(self, store: Store, clock: Clock) -> None:
        self._store = store
        self._clock = clock
        self.cache: dict[tuple[str, str], tuple[bool, int]] = {}

    def is_blocked(self, issuer: str, serial_number: str) -> bool:
        """Whether a trusted certificate is blocked, cached for up to a minute."""
        now, named = self._clock.time(), (issuer, serial_number)
        cached = self.cache.get(named)
        if cached is not None and now - cached[1] < CACHED_SECONDS:
            return cached[0]
        found = self._store.get(*blocklist_key(issuer, serial_number)) is not None
        fresh = {each: entry for each, entry in self.cache.items() if now - entry[1] < CACHED_SECONDS}
        self.cache = fresh | {named: (found, now)}
        return found

    def block(self, issuer: str, serial_number: str, reason: str) -> BlockedCertificate:
        """Refuse a certificate from now on. A second call replaces the reason. Raises: InvalidSerialNumber."""
        serial = normalize_serial_number(serial_number)
        blocked = BlockedCertificate(_normalize_issuer(issuer), serial, reason, self._clock.time())
        self._store.put(TABLE, blocked.as_item())
        return blocked

    def unblock(self, issuer: str, serial_number: str) -> bool:
        """Accept a certificate again. Return whether the certificate was blocked. Raises: InvalidSerialNumber."""
        table, key = blocklist_key(issuer, normalize_serial_number(serial_number))
        found = self._store.get(table, key) is not None
        self._store.delete(table, key)
        return found

    def all(self) -> list[BlockedCertificate]:
        """Return all blocked certificates, the latest first. This reads the whole table."""
        items = (item for item in self._store.scan(TABLE) if item["client_id"].startswith(_PREFIX))
        return sorted(map(BlockedCertificate.from_item, items), key=lambda each: (-each.blocked_at, each.serial_number))


def blocklist_key(issuer: str, serial_number: str) -> tuple[str, Item]:
    """Return the table and key of a certificate's blocklist entry. If the entry exists, the certificate is refused.

    Different notations of an issuer or of a hexadecimal serial number have the same key. The order and case of an
    issuer's attributes are ignored, because programs format them differently (RFC 5280 §7.1).
    """
    try:
        serial = normalize_serial_number(serial_number)
    except InvalidSerialNumber:
        serial = serial_number
    return TABLE, {"client_id": _PREFIX + digest("\n".join((_order_attributes(issuer), serial)))}


def normalize_serial_number(text: str) -> str:
    """Return a serial number as plain lower-case hexadecimal without leading zeros. Raises: InvalidSerialNumber."""
    digits = text.replace(":", "").replace(" ", "").lower().removeprefix("0x")
    if not re.fullmatch("[0-9a-f]+", digits):
        raise InvalidSerialNumber(f"{text!r} is not a hexadecimal serial number such as 0a:1b:2c")
    return digits.lstrip("0") or "0"


def _order_attributes(issuer: str) -> str:
    """Return an issuer's attributes for the key, sorted and in lower case, or an unreadable name unchanged."""
    from chalicelib.foundation.crypto.distinguished_names import InvalidName, split_name

    try:
        return "\n".join(sorted(split_name(issuer))).casefold()
    except InvalidName:
        return issuer


def _normalize_issuer(issuer: str) -> str:
    """Return the issuer in normalized notation. A malformed name that cannot be parsed is returned unchanged."""
    from chalicelib.foundation.crypto.distinguished_names import InvalidName, normalize_name

    try:
        return normalize_name(issuer)
    except InvalidName:
        return issuer
