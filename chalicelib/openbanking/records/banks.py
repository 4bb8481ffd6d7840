"""The table of banks: reads, cached for up to a minute, and the operator's changes.

A bank's logo and its conformance report are separate items, because every relayed call reads the bank's item.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import field, fields, replace
from functools import partial
from typing import Any

from cryptography.hazmat.primitives.asymmetric.rsa import RSAPublicKey

from chalicelib.foundation.clock import Clock
from chalicelib.foundation.crypto import signatures
from chalicelib.foundation.crypto.keyring import Vault
from chalicelib.foundation.crypto.sealed_places import SealedPlace
from chalicelib.foundation.dynamodb.conditions import Attr
from chalicelib.foundation.dynamodb.store import Check, Delete, Item, Operation, Put, Store, Update, absent
from chalicelib.foundation.identifiers import new_credential
from chalicelib.foundation.lazy_dataclasses import dataclass
from chalicelib.foundation.parallel import pieces, together
from chalicelib.foundation.requests.engine import Engine, if_permitted
from chalicelib.foundation.requests.facts import Facts
from chalicelib.foundation.settings import Settings
from chalicelib.openbanking.protocol.bics import spellings
from chalicelib.openbanking.records.bank_logos import Logo, logo_key
from chalicelib.openbanking.records.bank_record import DIRECTORY, MAX_KEYS, Bank, InvalidBank, NewBank, validate_bank
from chalicelib.openbanking.records.conformance_reports import ConformanceReport, read_report, report_key

TABLE = "banks"
CACHED_SECONDS = 60
_OPTIONAL = ("certificate_subject", "history_days", "unattended_reads", "credit_limit_included")
"""Members that an operator can remove."""


class UnknownBank(LookupError):
    """No bank has this BIC."""


class BankExists(Exception):
    """A bank with this BIC is already registered, with or without the suffix ``XXX``."""


@dataclass(frozen=True, slots=True)
class _Cached:
    """A cached bank, and its decrypted API keys by digest, which are cached for the same time."""

    bank: Bank
    read_at: int
    api_keys: dict[str, str] = field(default_factory=dict, repr=False)


class Banks:
    """The registered banks. An operator's change takes effect everywhere within a minute."""

    def __init__(self, store: Store, vault: Vault, clock: Clock, settings: Settings, engine: Engine) -> None:
        self._store = store
        self._engine = engine
        self._vault = vault
        self._clock = clock
        self._settings = settings
        self.cache: dict[str, _Cached] = {}
        self._directory: tuple[int, list[Bank]] = (0, [])

    # -- for requests

    def find(self, bic: str, *, active: bool = True) -> Bank | None:
        """Return the bank with this BIC, or ``None``. Inactive banks are returned only if ``active`` is false.

        An 8-character BIC also identifies the head office, ``XXX``.
        """
        cached = self._read_cached(bic)
        return cached.bank if cached and (cached.bank.active or not active) else None

    def outbound_key(self, bank: Bank) -> str:
        """Return the API key to send to the bank."""
        now = self._clock.time()
        cached = self._read_cached(bank.bic) or _Cached(bank, now)
        entry = cached.bank.api_key(now)
        if entry["digest"] not in cached.api_keys:
            cached.api_keys[entry["digest"]] = self._vault.unseal(entry["sealed"], _context(bank.bic))
        return cached.api_keys[entry["digest"]]

    def verification_keys(self, bank: Bank) -> list[RSAPublicKey]:
        """Return the public keys for verifying the bank's signatures."""
        cached = self._read_cached(bank.bic)
        return (cached.bank if cached else bank).verification_keys

    def directory(self) -> list[Bank]:
        """Return all active banks, ordered by BIC."""
        read_at, banks = self._directory
        if not read_at or not 0 <= self._clock.time() - read_at < CACHED_SECONDS:
            banks = [
                bank for bank in self._read_all(row["bic"] for row in self._rows() if row["active"]) if bank.active
            ]
            self._directory = (self._clock.time(), banks)
        return banks

    def list_registered(self) -> list[Bank]:
        """Return all banks ordered by BIC, active or not. A recently added bank may be missing."""
        return self._read_all(row["bic"] for row in self._rows())

    def find_logo(self, bic: str) -> Logo | None:
        """Return a bank's current logo."""
        item = self._store.get(*logo_key(bic)) if spellings(bic) else None
        return Logo.from_item(item) if item else None

    def find_report(self, bank: Bank) -> ConformanceReport | None:
        """Return the published report of a bank about its protocol version, or ``None``."""
        item = self._store.get(*report_key(bank.bic)) if bank.current_report else None
        return ConformanceReport.from_item(item) if item else None

    # -- for the operator

    def add(self, new: NewBank) -> tuple[Bank, str]:
        """Register a bank. Returns the bank and its API key, which is displayed only once.

        Raises:
            InvalidBank.
            BankExists: a bank has this BIC, with or without the suffix ``XXX``.
        """
        bank = validate_bank(new, local=self._settings.is_local)
        entry, key = self._new_api_key(bank.bic, 0)
        item = replace(bank, api_keys=(entry,), registered_at=self._clock.time()).to_item()
        _, *others = spellings(bank.bic)
        writes: list[Operation] = [
            Put(TABLE, item, absent("bic")),
            *(Check(*bank_key(other), absent("bic")) for other in others),
        ]

        def refuse(facts: Facts) -> BankExists:
            registered = next(stored["bic"] for write in writes if (stored := facts.item_of(write)))
            spelled = f", as {registered}" if registered != bank.bic else ""
            return BankExists(f"{bank.bic} is already registered{spelled}")

        self._engine.carry_out(if_permitted(writes, None, refuse))
        return self._read_again(bank.bic), key

    def get(self, bic: str) -> Bank:
        """Return the bank with this BIC, with or without the suffix ``XXX``. The cache is not used. Raises:
        UnknownBank.
        """
        item = self._read_item(bic.upper())
        if item is None:
            raise _unknown_bank(bic)
        return Bank.from_item(item)

    def all(self) -> list[Bank]:
        items = (item for item in self._store.scan(TABLE) if is_bank(item))
        return sorted(map(Bank.from_item, items), key=lambda bank: bank.bic)

    def change(self, bic: str, **changes: Any) -> Bank:
        """Change members of a bank, named as in ``NewBank``. Raises: InvalidBank, UnknownBank."""
        return self._change(self.get(bic), changes)

    def rotate_api_key(self, bic: str, overlap: int = 0) -> str:
        """Create a new API key: accepted from the bank immediately, sent to the bank after ``overlap`` seconds.

        The previous key is accepted until the next rotation.
        """
        bank = self.get(bic)
        entry, key = self._new_api_key(bank.bic, overlap)
        api_keys = [bank.api_key(self._clock.time()), entry][-MAX_KEYS:]
        self._write(bank, self._update_members(bank, {"api_keys": api_keys}))
        return key

    def add_public_key(self, bic: str, pem: str) -> Bank:
        """Accept signatures made with an additional key. At most two keys are active. Raises: InvalidBank."""
        bank = self.get(bic)
        return self._change(bank, {"public_keys": [*bank.public_keys, pem]})

    def remove_public_key(self, bic: str, kid: str) -> Bank:
        """Stop accepting signatures made with a key. Raises: InvalidBank."""
        bank = self.get(bic)
        left = [pem for pem in bank.public_keys if signatures.key_id(signatures.load_public_key(pem)) != kid]
        if len(left) == len(bank.public_keys):
            raise InvalidBank(f"{bank.bic} has no key {kid}")
        return self._change(bank, {"public_keys": left})

    def set_logo(self, bic: str, content: bytes) -> Bank:
        """Store a bank's logo: PNG, JPEG or SVG. Raises: InvalidBank, UnknownBank."""
        from chalicelib.openbanking.records.logo_validation import read_logo

        logo, bank = read_logo(content), self.get(bic)
        changes = {"logo_digest": logo.digest, "logo_type": logo.media_type}
        return self._write(bank, self._update_members(bank, changes), Put(TABLE, logo.to_item(bank.bic)))

    def remove_logo(self, bic: str) -> Bank:
        """Delete a bank's logo. Raises: UnknownBank, and InvalidBank if the bank has no logo."""
        bank = self.get(bic)
        if bank.logo_digest is None:
            raise InvalidBank(f"{bank.bic} has no logo")
        return self._write(
            bank, self._update_members(bank, {}, ["logo_digest", "logo_type"]), Delete(*logo_key(bank.bic))
        )

    def publish_report(self, bic: str, content: bytes) -> Bank:
        """Store a report of the conformance kit, as JSON, in place of the previous report. Raises: InvalidBank,
        UnknownBank.
        """
        bank = self.get(bic)
        report = read_report(content, bank)
        update = self._update_members(bank, {"conformance": report.summary})
        return self._write(bank, update, Put(TABLE, report.to_item(bank.bic)))

    def unpublish_report(self, bic: str) -> Bank:
        """Delete a bank's conformance report. Raises: UnknownBank, and InvalidBank if none is published."""
        bank = self.get(bic)
        if bank.conformance is None:
            raise InvalidBank(f"no report about {bank.bic} is published")
        return self._write(bank, self._update_members(bank, {}, ["conformance"]), Delete(*report_key(bank.bic)))

    def remove(self, bic: str) -> None:
        """Delete a bank, its logo and its conformance report. Its consents remain, but their calls no longer reach the
        bank.

        Raises: UnknownBank.
        """
        key = self.get(bic).bic
        parts = [Delete(*logo_key(key)), Delete(*report_key(key))]
        deletes = [Delete(*bank_key(key), Attr("bic").exists()), *parts]
        self._engine.carry_out(if_permitted(deletes, None, lambda _: _unknown_bank(bic)))
        self.forget()

    # -- internals

    def _read_cached(self, bic: str) -> _Cached | None:
        cached = self.cache.get(bic)
        if cached is None or not 0 <= self._clock.time() - cached.read_at < CACHED_SECONDS:
            self.cache.pop(bic, None)
            item = self._read_item(bic)
            if item is None:  # not cached, so that guesses cannot fill the memory
                return None
            cached = _Cached(Bank.from_item(item), self._clock.time())
            self.cache[bic] = self.cache[cached.bank.bic] = cached
        return cached

    def _read_item(self, bic: str) -> Item | None:
        """Return a bank's item by its BIC, with or without the suffix ``XXX``. An exact match has precedence."""
        keys = [bank_key(spelling) for spelling in spellings(bic)]
        return next((item for item in self._store.batch_get(keys) if item), None) if keys else None

    def _rows(self) -> list[Item]:
        return list(self._store.each(TABLE, ("directory", DIRECTORY), index="directory"))

    def _read_all(self, bics: Iterable[str]) -> list[Bank]:
        """Read the banks with these BICs, in the given order. Unknown BICs are omitted."""
        batches = pieces([bank_key(bic) for bic in bics], 100)
        found = together([partial(self._store.batch_get, batch) for batch in batches])
        return [Bank.from_item(item) for items in found for item in items if item]

    def _read_again(self, bic: str) -> Bank:
        self.forget()
        return self.get(bic)

    def forget(self) -> None:
        """Empty the cache, so that the next look-up reads from storage."""
        self.cache.clear()
        self._directory = (0, [])

    def _change(self, bank: Bank, changes: Mapping[str, Any]) -> Bank:
        if unknown := set(changes) - {member.name for member in fields(NewBank)} | set(changes) & {"bic"}:
            raise InvalidBank(f"{', '.join(sorted(unknown))} cannot be changed")
        new = NewBank(**{"bic": bank.bic, **bank.as_new(), **changes})
        current = (bank.name, bank.domain, bank.authorization_url, bank.certificate_subject)
        item = validate_bank(new, local=self._settings.is_local, current=current).to_item()
        members = {name: value for name, value in item.items() if name not in ("bic", "api_keys", "revision")}
        removed = [name for name in _OPTIONAL if name not in members]
        return self._write(bank, self._update_members(bank, members, removed))

    def _update_members(self, bank: Bank, members: Mapping[str, Any], removed: Sequence[str] = ()) -> Update:
        """Return the write operation that changes a bank's members. The write fails unless ``bank.revision`` is still
        current.
        """
        return Update(
            *bank_key(bank.bic),
            set={**members, "revision": bank.revision + 1},
            remove=removed,
            condition=Attr("revision").eq(bank.revision),
        )

    def _write(self, bank: Bank, update: Update, *more: Operation) -> Bank:
        """Write a change together with its dependent writes. Raises: UnknownBank, InvalidBank."""

        def refuse(facts: Facts) -> Exception:
            is_there = bool(facts.item_of(update))
            return InvalidBank("the bank was changed concurrently: try again") if is_there else _unknown_bank(bank.bic)

        self._engine.carry_out(if_permitted([update, *more], None, refuse))
        return self._read_again(bank.bic)

    def _new_api_key(self, bic: str, overlap: int) -> tuple[Item, str]:
        key, key_digest = new_credential(bic)
        now = self._clock.time()
        sealed = self._vault.seal(key, _context(bic))
        return {"digest": key_digest, "sealed": sealed, "created_at": now, "active_from": now + overlap}, key


def bank_key(bic: str) -> tuple[str, Item]:
    return TABLE, {"bic": bic}


def is_bank(item: Item) -> bool:
    """Whether an item of the table is a bank, and not a logo or a report."""
    return "/" not in item["bic"]


def _unknown_bank(bic: str) -> UnknownBank:
    return UnknownBank(f"no bank has the BIC {bic}")


def _context(bic: str) -> str:
    return f"{TABLE}/{bic}/api_key"


SEALED = (SealedPlace(TABLE, ("bic",), "api_keys", lambda item: _context(item["bic"])),)
