"""Banks (ASPSPs): who they are, where they are reached, and the keys that both sides know each other by."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any

from boto3.dynamodb.conditions import Attr
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPublicKey

from chalicelib.foundation import signatures
from chalicelib.foundation.addresses import InvalidAddress, check_address
from chalicelib.foundation.clock import Clock
from chalicelib.foundation.fields import Bic, InvalidMessage, Message
from chalicelib.foundation.identifiers import Credential, new_credential
from chalicelib.foundation.settings import Settings
from chalicelib.foundation.store import ConditionFailed, Item, Store, absent
from chalicelib.foundation.vault import Vault
from chalicelib.openbanking.protocol.scopes import SCOPES, Scope, Version

TABLE = "banks"
CACHED_SECONDS = 60
KEYS_KEPT = 2
SCHEMES: dict[Version, tuple[str, ...]] = {
    1: ("FPS", "BACS", "CHAPS", "SCTI", "SCT"),
    2: ("FPS", "BACS", "CHAPS", "SCTI", "SCT", "SWIFT"),
}
CONSENT_DAYS = 180
_DIRECTORY = "all"


class InvalidBank(ValueError):
    """A bank's member that cannot be accepted; the message says which and why."""


class UnknownBank(LookupError):
    """There is no bank of that BIC."""


class BankExists(Exception):
    """A bank of that BIC is registered already."""


@dataclass(frozen=True, slots=True)
class NewBank:
    """What an operator says of a bank. ``public_keys`` are PEM; ``scopes`` and ``schemes`` default to all."""

    bic: str
    name: str
    country: str
    api_version: int
    domain: str
    authorization_url: str
    public_keys: Sequence[str] = ()
    schemes: Sequence[str] = ()
    scopes: Sequence[str] = ()
    consent_days: int = CONSENT_DAYS
    certificate_subject: str | None = None
    signature_required: bool | None = None
    active: bool = True


@dataclass(frozen=True, slots=True)
class Bank:
    """A registered bank; ``api_keys`` and ``public_keys`` run from oldest to newest."""

    bic: str
    name: str
    country: str
    api_version: Version
    domain: str
    authorization_url: str
    public_keys: tuple[str, ...]
    schemes: tuple[str, ...]
    scope_names: tuple[str, ...]
    consent_days: int
    certificate_subject: str | None
    signature_required: bool
    active: bool
    api_keys: tuple[Item, ...] = field(repr=False)

    @property
    def scopes(self) -> list[Scope]:
        """The scopes that the bank can provide, in the specification's order."""
        return [scope for name, scope in SCOPES[self.api_version].items() if name in self.scope_names]

    def verification_keys(self) -> list[RSAPublicKey]:
        """The keys that the bank may sign with, newest first."""
        return [signatures.load_public_key(pem) for pem in reversed(self.public_keys)]

    def accepts_key(self, credential: Credential) -> bool:
        return any(credential.matches(entry["digest"]) for entry in self.api_keys)


@dataclass(slots=True)
class _Cached:
    bank: Bank | None
    read_at: int
    api_key: str | None = None
    keys: list[RSAPublicKey] | None = None


class Banks:
    """The banks' table, with a cache of at most a minute: what an operator changes holds everywhere after that."""

    def __init__(self, store: Store, vault: Vault, clock: Clock, settings: Settings) -> None:
        self._store = store
        self._vault = vault
        self._clock = clock
        self._settings = settings
        self._cache: dict[str, _Cached] = {}
        self._directory: tuple[int, list[Item]] = (0, [])

    # -- what requests need

    def find(self, bic: str) -> Bank | None:
        """An active bank by its BIC; an 8-character BIC also means the head office, ``XXX``."""
        for candidate in _spellings(bic):
            bank = self._cached(candidate).bank
            if bank is not None:
                return bank if bank.active else None
        return None

    def outbound_key(self, bank: Bank) -> str:
        """The API key that the service shows the bank: the newest."""
        cached = self._cached(bank.bic)
        if cached.api_key is None:
            cached.api_key = self._vault.unseal(bank.api_keys[-1]["sealed"], _context(bank.bic))
        return cached.api_key

    def verification_keys(self, bank: Bank) -> list[RSAPublicKey]:
        cached = self._cached(bank.bic)
        if cached.keys is None:
            cached.keys = bank.verification_keys()
        return cached.keys

    def directory(self) -> list[Item]:
        """``bic``, ``name``, ``country`` and ``api_version`` of every active bank, by BIC."""
        read_at, rows = self._directory
        if not read_at or self._clock.time() - read_at >= CACHED_SECONDS:
            rows = [row for row in self._rows() if row["active"]]
            self._directory = (self._clock.time(), rows)
        return [{name: row[name] for name in ("bic", "name", "country", "api_version")} for row in rows]

    # -- what the operator does

    def add(self, new: NewBank) -> tuple[Bank, str]:
        """Register a bank; answers it and its API key, which is not shown again.

        Raises:
            InvalidBank, BankExists.
        """
        bank = self._validated(new)
        entry, key = self._new_api_key(bank.bic)
        item = _item(replace(bank, api_keys=(entry,)))
        try:
            self._store.put(TABLE, item, absent("bic"))
        except ConditionFailed:
            raise BankExists(f"{bank.bic} is registered already") from None
        return self._read_again(bank.bic), key

    def get(self, bic: str) -> Bank:
        """Raises: UnknownBank."""
        item = self._store.get(*bank_key(bic.upper()))
        if item is None:
            raise UnknownBank(f"no bank has the BIC {bic}")
        return _bank(item)

    def all(self) -> list[Bank]:
        return sorted((_bank(item) for item in self._store.scan(TABLE)), key=lambda bank: bank.bic)

    def change(self, bic: str, **changes: Any) -> Bank:
        """Change members of a bank, named as in ``NewBank``. Raises: InvalidBank, UnknownBank."""
        bank = self.get(bic)
        known = {member.name for member in fields(NewBank)} - {"bic"}
        if unknown := set(changes) - known:
            raise InvalidBank(f"{', '.join(sorted(unknown))} cannot be changed")
        new = NewBank(**{"bic": bank.bic, **_as_new(bank), **changes})
        item = _item(replace(self._validated(new), api_keys=bank.api_keys))
        members = {name: value for name, value in item.items() if name not in ("bic", "api_keys")}
        removed = [] if "certificate_subject" in members else ["certificate_subject"]
        self._update(bank.bic, set=members, remove=removed)
        return self._read_again(bank.bic)

    def rotate_api_key(self, bic: str) -> str:
        """Make a new API key, used at once; the one before it stays accepted until the next rotation."""
        bank = self.get(bic)
        entry, key = self._new_api_key(bank.bic)
        kept = [*bank.api_keys, entry][-KEYS_KEPT:]
        self._update(bank.bic, condition=Attr("api_keys").eq(list(bank.api_keys)), set={"api_keys": kept})
        self._read_again(bank.bic)
        return key

    def add_public_key(self, bic: str, pem: str) -> Bank:
        """Accept signatures of one more key; at most two are active. Raises: InvalidBank."""
        bank = self.get(bic)
        return self.change(bic, public_keys=[*bank.public_keys, pem])

    def remove_public_key(self, bic: str, kid: str) -> Bank:
        bank = self.get(bic)
        left = [pem for pem in bank.public_keys if signatures.key_id(signatures.load_public_key(pem)) != kid]
        if len(left) == len(bank.public_keys):
            raise InvalidBank(f"{bank.bic} has no key {kid}")
        return self.change(bic, public_keys=left)

    def remove(self, bic: str) -> None:
        """Forget a bank. Its consents stay, and no call of theirs reaches it any more. Raises: UnknownBank."""
        try:
            self._store.delete(TABLE, {"bic": bic.upper()}, Attr("bic").exists())
        except ConditionFailed:
            raise UnknownBank(f"no bank has the BIC {bic}") from None
        self._forget(bic.upper())

    # -- inside

    def _cached(self, bic: str) -> _Cached:
        cached = self._cache.get(bic)
        if cached is None or self._clock.time() - cached.read_at >= CACHED_SECONDS:
            item = self._store.get(*bank_key(bic))
            cached = _Cached(_bank(item) if item else None, self._clock.time())
            if item:  # strangers' guesses must not fill the memory
                self._cache[bic] = cached
        return cached

    def _rows(self) -> list[Item]:
        rows: list[Item] = []
        after: Item | None = None
        while True:
            page = self._store.query(TABLE, ("directory", _DIRECTORY), index="directory", after=after)
            rows += page.items
            after = page.next
            if after is None:
                return rows

    def _read_again(self, bic: str) -> Bank:
        self._forget(bic)
        return self.get(bic)

    def _forget(self, bic: str) -> None:
        self._cache.pop(bic, None)
        self._directory = (0, [])

    def _update(self, bic: str, **changes: Any) -> None:
        condition = changes.pop("condition", None)
        exists = Attr("bic").exists()
        try:
            self._store.update(TABLE, {"bic": bic}, condition=exists & condition if condition else exists, **changes)
        except ConditionFailed as failure:
            if failure.item is None:
                raise UnknownBank(f"no bank has the BIC {bic}") from None
            raise InvalidBank("somebody else changed the bank at the same time: try again") from None

    def _new_api_key(self, bic: str) -> tuple[Item, str]:
        key, key_digest = new_credential(bic)
        sealed = self._vault.seal(key, _context(bic))
        return {"digest": key_digest, "sealed": sealed, "created_at": self._clock.time()}, key

    def _validated(self, new: NewBank) -> Bank:
        bic = _bic(new.bic)
        if new.api_version not in (1, 2):
            raise InvalidBank("api_version must be 1 or 2")
        version: Version = 1 if new.api_version == 1 else 2
        if len(new.country) != 2 or not new.country.isalpha() or not new.country.isascii():
            raise InvalidBank("country must be a code of two letters (ISO 3166-1)")
        if not 1 <= len(new.name.strip()) <= 128 or not new.name.isprintable():
            raise InvalidBank("name must be 1 to 128 printable characters")
        if not 1 <= new.consent_days <= 3650:
            raise InvalidBank("consent_days must be from 1 to 3650")
        keys = tuple(_public_key(pem) for pem in new.public_keys)
        required = version == 2 if new.signature_required is None else new.signature_required or version == 2
        if len(keys) > KEYS_KEPT:
            raise InvalidBank(f"at most {KEYS_KEPT} public keys can be active: remove one first")
        if required and not keys:
            raise InvalidBank("a bank that has to sign needs a public key")
        return Bank(
            bic=bic,
            name=new.name.strip(),
            country=new.country.upper(),
            api_version=version,
            domain=self._address("domain", new.domain).rstrip("/"),
            authorization_url=self._address("authorization_url", new.authorization_url),
            public_keys=keys,
            schemes=_subset("schemes", new.schemes, SCHEMES[version]),
            scope_names=_subset("scopes", new.scopes, tuple(SCOPES[version])),
            consent_days=new.consent_days,
            certificate_subject=new.certificate_subject or None,
            signature_required=required,
            active=new.active,
            api_keys=(),
        )

    def _address(self, member: str, url: str) -> str:
        try:
            return check_address(url, local=self._settings.is_local)
        except InvalidAddress as error:
            raise InvalidBank(f"{member} {error}") from None


def bank_key(bic: str) -> tuple[str, Item]:
    return TABLE, {"bic": bic}


class _BicField(Message):
    bic: Bic


def _bic(text: str) -> str:
    try:
        return _BicField.read({"bic": text}).bic
    except InvalidMessage as error:
        raise InvalidBank(str(error)) from None


def _spellings(bic: str) -> tuple[str, ...]:
    if len(bic) == 8:
        return bic, f"{bic}XXX"
    return (bic, bic[:8]) if bic.endswith("XXX") else (bic,)


def _public_key(pem: str) -> str:
    try:
        return signatures.public_pem(signatures.load_public_key(pem))
    except signatures.InvalidKey as error:
        raise InvalidBank(str(error)) from None


def _subset(member: str, chosen: Sequence[str], known: tuple[str, ...]) -> tuple[str, ...]:
    if unknown := set(chosen) - set(known):
        raise InvalidBank(f"{member}: {', '.join(sorted(unknown))} does not exist in the bank's version")
    return tuple(name for name in known if not chosen or name in chosen)


def _context(bic: str) -> str:
    return f"{TABLE}/{bic}/api_key"


def _as_new(bank: Bank) -> dict[str, Any]:
    members = {name: getattr(bank, name) for name in Bank.__dataclass_fields__}
    members["scopes"] = members.pop("scope_names")
    return {name: value for name, value in members.items() if name not in ("bic", "api_keys")}


def _item(bank: Bank) -> Item:
    item = {name: getattr(bank, name) for name in Bank.__dataclass_fields__}
    item = {name: list(value) if isinstance(value, tuple) else value for name, value in item.items()}
    return {name: value for name, value in item.items() if value is not None} | {"directory": _DIRECTORY}


def _bank(item: Item) -> Bank:
    members: dict[str, Any] = {name: item.get(name) for name in Bank.__dataclass_fields__}
    members = {name: tuple(value) if isinstance(value, list) else value for name, value in members.items()}
    return Bank(**members)
