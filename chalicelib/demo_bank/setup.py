"""Installation of the demonstration banks. The operator runs it once for each stage."""

from __future__ import annotations

import secrets
from pathlib import Path

from chalicelib.demo_bank.profiles import PROFILES, Profile
from chalicelib.demo_bank.runtime import Services
from chalicelib.foundation.crypto import signatures
from chalicelib.foundation.identifiers import OpaqueToken
from chalicelib.openbanking.records.bank_record import Bank, NewBank
from chalicelib.openbanking.records.banks import Banks, UnknownBank

_STORAGE_KEY_BYTES = 32
_LOGOS = Path(__file__).parent / "static"


def install(host: Services, banks: Banks) -> list[Bank]:
    """Register the banks with the service and store their credentials in the banks' own secret.

    The installation is idempotent. Lost or rotated keys are replaced, and changed addresses are updated.

    Raises:
        InvalidBank: the service does not accept an address or key.
    """
    return [_install(host, banks, profile) for profile in PROFILES]


def _install(host: Services, banks: Banks, profile: Profile) -> Bank:
    name = host.settings.demo_banks_secret
    stored = host.secrets.get(name)
    credentials = dict(stored.get(profile.name) or {})
    try:
        bank: Bank | None = banks.get(profile.bic)
    except UnknownBank:
        bank = None
    if bank is not None and credentials and _has_current_api_key(host, bank, credentials["api_key"]):
        return _set_logo(banks, profile, _update_addresses(host, banks, profile, bank))
    credentials.setdefault("bic", profile.bic)
    if "signing_key" not in credentials:  # making one takes time
        credentials["signing_key"] = signatures.generate_private_pem()
    credentials.setdefault("storage_key", secrets.token_hex(_STORAGE_KEY_BYTES))
    key = signatures.load_private_key(credentials["signing_key"], own=True)
    public_key = signatures.public_pem(key.public_key())
    if bank is None:
        bank, credentials["api_key"] = banks.add(_new_bank(host, profile, public_key))
    else:
        _update_addresses(host, banks, profile, bank)
        bank = banks.change(profile.bic, public_keys=[public_key])
        credentials["api_key"] = banks.rotate_api_key(profile.bic)
    host.secrets.put(name, {**host.secrets.get(name), profile.name: credentials})
    return _set_logo(banks, profile, bank)


def _set_logo(banks: Banks, profile: Profile, bank: Bank) -> Bank:
    logo = (_LOGOS / f"{profile.name}.svg").read_bytes()
    return bank if bank.logo_digest else banks.set_logo(profile.bic, logo)


def _has_current_api_key(host: Services, bank: Bank, api_key: str) -> bool:
    """Whether a bank's stored key is still valid at the service. An operator may have rotated it."""
    credential = OpaqueToken.parse(api_key, parts=1)
    return credential is not None and credential.matches(bank.api_key(host.clock.time())["digest"])


def _new_bank(host: Services, profile: Profile, public_key: str) -> NewBank:
    return NewBank(
        bic=profile.bic,
        name=profile.title,
        country=profile.country,
        api_version=profile.version,
        domain=profile.domain(host.settings.public_url),
        authorization_url=profile.authorization_url(host.settings.public_url),
        public_keys=[public_key],
        schemes=profile.schemes,
        consent_days=profile.consent_days,
        signature_required=True,
    )


def _update_addresses(host: Services, banks: Banks, profile: Profile, bank: Bank) -> Bank:
    domain = profile.domain(host.settings.public_url)
    authorization_url = profile.authorization_url(host.settings.public_url)
    if (bank.domain, bank.authorization_url) == (domain, authorization_url):
        return bank
    return banks.change(profile.bic, domain=domain, authorization_url=authorization_url)
