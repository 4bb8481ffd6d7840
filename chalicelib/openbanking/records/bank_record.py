"""Banks (ASPSPs): the stored record, the operator's input, and validation."""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import field
from functools import cached_property
from typing import Any, Self

from cryptography.hazmat.primitives.asymmetric.rsa import RSAPublicKey

from chalicelib.foundation.crypto import signatures
from chalicelib.foundation.dynamodb.store import Item
from chalicelib.foundation.fields.field_types import Message
from chalicelib.foundation.fields.problems import InvalidMessage
from chalicelib.foundation.fields.written_text import InvalidTitle, read_title
from chalicelib.foundation.http.addresses import InvalidAddress, check_address, check_query
from chalicelib.foundation.identifiers import OpaqueToken
from chalicelib.foundation.lazy_dataclasses import dataclass
from chalicelib.openbanking.protocol.fields import Bic
from chalicelib.openbanking.protocol.oauth_security import AUTHORIZATION_PARAMETERS
from chalicelib.openbanking.protocol.scopes import Scope
from chalicelib.openbanking.protocol.unified_scopes import to_native, to_unified
from chalicelib.openbanking.protocol.v1_account_messages import BookedOrAvailable
from chalicelib.openbanking.protocol.version import Version
from chalicelib.openbanking.protocol.versions import VERSIONS

MAX_KEYS = 2
CONSENT_DAYS = 180
_NAME_LENGTH = 128
LONGEST_CONSENT_DAYS = 365
LONGEST_HISTORY_DAYS = 3650
MOST_UNATTENDED_READS = 1000
"""The maximum value of a limit of unattended reads. With this value, the item that counts a day's reads takes 25 KB."""
DIRECTORY = "all"
SWITCHES = ("unsigned_amounts", "balance_type", "credit_limit_included", "no_date_to")
"""The members that adapt the unified API to a bank."""
_OF_THE_SERVICE = ("bic", "api_keys", "revision", "registered_at", "logo_digest", "logo_type", "conformance")
"""Members that the operator cannot change."""


class InvalidBank(ValueError):
    """A member of a bank is invalid. The message names the member and the reason."""


@dataclass(frozen=True, slots=True)
class NewBank:
    """The operator's input for a bank. ``public_keys`` are in PEM format. Empty ``scopes`` or ``schemes`` mean all.

    ``history_days`` is the number of past days for which transactions are available, ``None`` if unknown.
    ``unattended_reads`` of 0 removes the limit. The switches of the unified API: ``unsigned_amounts`` if the bank does
    not sign amounts; ``balance_type``, which version 1 does not state; ``credit_limit_included`` in its balances,
    ``None`` if unstated; ``no_date_to`` if the bank does not accept ``date_to`` (version 2).
    """

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
    history_days: int | None = None
    unattended_reads: int | None = None
    unsigned_amounts: bool = False
    balance_type: BookedOrAvailable = "booked"
    credit_limit_included: bool | None = None
    no_date_to: bool = False


@dataclass(frozen=True)
class Bank:
    """A registered bank. ``api_keys`` and ``public_keys`` are ordered from oldest to newest.

    ``unattended_reads`` is the number of times a day that a TPP may read an account in the PSU's absence, or ``None``
    if unlimited.

    ``revision`` is incremented by every change, so that concurrent changes by two operators are detected.
    ``registered_at`` (Unix seconds) is ``None`` for banks registered before the service recorded it. ``logo_digest``
    and ``logo_type``, its media type, are ``None`` for a bank without a logo. ``conformance`` summarizes the published
    report (see ``conformance_reports``), if any.
    """

    bic: str
    name: str
    country: str
    api_version: int
    domain: str
    authorization_url: str
    public_keys: tuple[str, ...]
    schemes: tuple[str, ...]
    scope_names: tuple[str, ...]
    consent_days: int
    certificate_subject: str | None
    signature_required: bool
    active: bool
    revision: int
    api_keys: tuple[Item, ...] = field(repr=False)
    registered_at: int | None = None
    history_days: int | None = None
    logo_digest: str | None = None
    logo_type: str | None = None
    conformance: Item | None = None
    unattended_reads: int | None = None
    unsigned_amounts: bool = False
    balance_type: BookedOrAvailable = "booked"
    credit_limit_included: bool | None = None
    no_date_to: bool = False

    @property
    def version(self) -> Version:
        """The bank's protocol version."""
        return VERSIONS[self.api_version]

    @property
    def current_report(self) -> Item | None:
        """The summary of the published conformance report, if the report is about the bank's protocol version."""
        report = self.conformance
        return report if report and report["version"] == self.api_version else None

    @property
    def scopes(self) -> list[Scope]:
        """The scopes that the bank supports, in the specification's order."""
        return [scope for name, scope in self.version.scopes.items() if name in self.scope_names]

    @property
    def unified_scopes(self) -> list[str]:
        """The unified scopes that the bank provides entirely."""
        return to_unified(self.scope_names, self.api_version)

    def provides(self, scopes: Iterable[str]) -> bool:
        """Whether the bank provides all of the scopes, native or unified."""
        return set(to_native(scopes, self.api_version)) <= set(self.scope_names)

    @cached_property
    def verification_keys(self) -> list[RSAPublicKey]:
        """The public keys for verifying the bank's signatures, newest first."""
        return [signatures.load_public_key(pem) for pem in reversed(self.public_keys)]

    def accepts_key(self, credential: OpaqueToken) -> bool:
        return any(credential.matches(entry["digest"]) for entry in self.api_keys)

    def api_key(self, now: int) -> Item:
        """Return the API key to send to the bank: the newest key whose ``active_from`` has passed."""
        return next((entry for entry in reversed(self.api_keys) if entry["active_from"] <= now), self.api_keys[0])

    @classmethod
    def from_item(cls, item: Item) -> Self:
        members: dict[str, Any] = {name: item.get(name, getattr(cls, name, None)) for name in cls.__dataclass_fields__}
        members = {name: tuple(value) if isinstance(value, list) else value for name, value in members.items()}
        return cls(**members)

    def to_item(self) -> Item:
        item = {name: getattr(self, name) for name in self.__dataclass_fields__}
        item = {name: list(value) if isinstance(value, tuple) else value for name, value in item.items()}
        return {name: value for name, value in item.items() if value is not None} | {"directory": DIRECTORY}

    def as_new(self) -> dict[str, Any]:
        """Return the members that the operator may change, named as in ``NewBank``."""
        members = {name: getattr(self, name) for name in self.__dataclass_fields__}
        members["scopes"] = members.pop("scope_names")
        return {name: value for name, value in members.items() if name not in _OF_THE_SERVICE}


def validate_bank(new: NewBank, *, local: bool, current: Collection[str | None] = ()) -> Bank:
    """Validate the operator's input and build the bank's record, without API keys.

    Args:
        new: the operator's input.
        local: whether this is the local stage, where private addresses are allowed.
        current: the current name, URLs and certificate subject, accepted unchecked because earlier rules may have
            allowed them.

    Raises:
        InvalidBank: a member is invalid.
    """
    bic = valid_bic(new.bic)
    if new.api_version not in VERSIONS:
        raise InvalidBank(f"api_version must be {' or '.join(map(str, VERSIONS))}")
    version = VERSIONS[new.api_version]
    if len(new.country) != 2 or not new.country.isalpha() or not new.country.isascii():
        raise InvalidBank("country must be a two-letter code (ISO 3166-1)")
    if not 1 <= new.consent_days <= LONGEST_CONSENT_DAYS:
        raise InvalidBank(f"consent_days must be from 1 to {LONGEST_CONSENT_DAYS}")
    if new.history_days is not None and not 1 <= new.history_days <= LONGEST_HISTORY_DAYS:
        raise InvalidBank(f"history_days must be from 1 to {LONGEST_HISTORY_DAYS}")
    if not 0 <= (new.unattended_reads or 0) <= MOST_UNATTENDED_READS:
        raise InvalidBank(f"unattended_reads must be from 1 to {MOST_UNATTENDED_READS}, or 0 for no limit")
    keys = tuple(_public_key(pem) for pem in new.public_keys)
    required = version.signature_required or bool(new.signature_required)
    _check_switches(new, version)
    if len(keys) > MAX_KEYS:
        raise InvalidBank(f"at most {MAX_KEYS} public keys can be active: remove one first")
    if required and not keys:
        raise InvalidBank("a bank that must sign its calls needs a public key")
    return Bank(
        bic=bic,
        name=new.name if new.name in current else _title(new.name),
        country=new.country.upper(),
        api_version=version.number,
        domain=_address("domain", new.domain, local, current).rstrip("/"),
        authorization_url=_authorization_url(new.authorization_url, local, current),
        public_keys=keys,
        schemes=_subset("schemes", new.schemes, version.schemes),
        scope_names=_subset("scopes", new.scopes, tuple(version.scopes)),
        consent_days=new.consent_days,
        certificate_subject=_subject(new.certificate_subject, current),
        signature_required=required,
        active=new.active,
        unattended_reads=new.unattended_reads or None,
        revision=1,
        api_keys=(),
        history_days=new.history_days,
        unsigned_amounts=new.unsigned_amounts,
        balance_type=new.balance_type,
        credit_limit_included=new.credit_limit_included,
        no_date_to=new.no_date_to,
    )


def _title(name: str) -> str:
    try:
        return read_title(name, _NAME_LENGTH)
    except InvalidTitle as error:
        raise InvalidBank(f"name {error}") from None


def _address(member: str, url: str, local: bool, current: Collection[str | None]) -> str:
    try:
        return url if url in current else check_address(url, local=local)
    except InvalidAddress as error:
        raise InvalidBank(f"{member} {error}") from None


def _authorization_url(url: str, local: bool, current: Collection[str | None]) -> str:
    checked = _address("authorization_url", url, local, current)
    try:
        check_query(checked, () if checked in current else AUTHORIZATION_PARAMETERS)
    except InvalidAddress as error:
        raise InvalidBank(f"authorization_url {error}") from None
    return checked


def _subject(name: str | None, current: Collection[str | None]) -> str | None:
    from chalicelib.foundation.crypto.distinguished_names import InvalidName, split_name

    if name and name not in current:
        try:
            split_name(name)
        except InvalidName as error:
            raise InvalidBank(f"certificate_subject {error}") from None
    return name or None


def _check_switches(new: NewBank, version: Version) -> None:
    """Refuse a switch that has an effect at banks of another version only. Raises: InvalidBank."""
    for other in VERSIONS.values():
        for name in other.switches - version.switches:
            if getattr(new, name) != getattr(Bank, name):
                raise InvalidBank(f"{name} applies to banks of version {other} only")


class _BicField(Message):
    bic: Bic


def sort_by_name(banks: Iterable[Bank]) -> list[Bank]:
    """Sort banks by name, ignoring case."""
    return sorted(banks, key=lambda bank: bank.name.casefold())


def valid_bic(text: str) -> str:
    """Validate a BIC and convert it to upper case. Raises: InvalidBank."""
    try:
        return _BicField.read({"bic": text}).bic
    except InvalidMessage as error:
        raise InvalidBank(str(error)) from None


def _public_key(pem: str) -> str:
    try:
        return signatures.public_pem(signatures.load_public_key(pem))
    except signatures.InvalidKey as error:
        raise InvalidBank(str(error)) from None


def _subset(member: str, chosen: Sequence[str], known: tuple[str, ...]) -> tuple[str, ...]:
    if unknown := set(chosen) - set(known):
        raise InvalidBank(f"{member} not available in the bank's version: {', '.join(sorted(unknown))}")
    return tuple(name for name in known if not chosen or name in chosen)
