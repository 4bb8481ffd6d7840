"""Disclosure of card data to a credential (plain, masked, encrypted or absent), and its audit log.

3-D Secure validation values in events are encrypted in the same way.
"""

from __future__ import annotations

import base64
from functools import lru_cache

from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import padding
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPublicKey

from chalicelib.cards.card_data import numbers
from chalicelib.cards.programs.catalogue import Catalogue
from chalicelib.cards.programs.credentials import Credential
from chalicelib.cards.protocol.card_records import ABSENT, ENCRYPTED, MASKED, MINIMUM_KEY_BITS, PLAIN, CardField
from chalicelib.foundation import log
from chalicelib.foundation.crypto import signatures


def is_absent(credential: Credential, field: CardField) -> bool:
    """Whether the credential never receives this field, so that the field need not be decrypted."""
    return credential.modes[field] == ABSENT


def disclose(credential: Credential, card_id: int, field: CardField, clear: str) -> str | None:
    """Return a card value in the form that the credential permits. ``None`` means that the member is omitted.

    Encrypted values are base64 of RSA-OAEP with SHA-256 and MGF1-SHA-256, labelled ``<card_id>|<field>``.
    """
    return None if is_absent(credential, field) else _disclose(credential, card_id, field, clear)


def disclose_expiry(credential: Credential, card_id: int, year: int, month: int) -> tuple[int | str, int | str] | None:
    """Return a card's expiry year and month as the credential permits, either as numbers or as encrypted values."""
    if is_absent(credential, "expiry"):
        return None
    if credential.modes["expiry"] == PLAIN:
        return year, month
    return _disclose(credential, card_id, "expiry", str(year)), _disclose(credential, card_id, "expiry", str(month))


def encrypt_for_event(catalogue: Catalogue, auth_request_id: int, value: str) -> str | None:
    """Encrypt a validation value for an event. Return ``None`` if the programme manager does not deliver these values.

    The encryption is the same as for card data, labelled ``<auth_request_id>|validation_value``.
    """
    if not catalogue.delivers_validation_values or catalogue.events_encryption_key is None:
        return None
    return _encrypt(catalogue.events_encryption_key, f"{auth_request_id}|validation_value", value)


def audit_reveal(credential: Credential, card_id: int, field: CardField) -> None:
    """Write the audit log line for a card datum in a response. Stored responses are also logged."""
    mode = credential.modes[field]
    log.audit("card data revealed", credential=credential.identity, card_id=card_id, field=field, mode=mode)


def _disclose(credential: Credential, card_id: int, field: CardField, clear: str) -> str:
    mode = credential.modes[field]
    if mode == PLAIN:
        return clear
    if mode == MASKED and field == "pan":
        return numbers.mask(clear)
    if mode == ENCRYPTED and credential.encryption_key:
        return _encrypt(credential.encryption_key, f"{card_id}|{field}", clear)
    raise ValueError(f"{field} cannot be revealed to {credential.identity} in the mode {mode}")


def _encrypt(pem: str, label: str, clear: str) -> str:
    scheme = padding.OAEP(padding.MGF1(hashes.SHA256()), hashes.SHA256(), label.encode())
    return base64.b64encode(public_key(pem).encrypt(clear.encode(), scheme)).decode("ascii")


@lru_cache(maxsize=256)
def public_key(pem: str) -> RSAPublicKey:
    """Load a public key. Raises: ValueError, if ``pem`` is not a public RSA key of at least 3072 bits."""
    key = signatures.load_public_key(pem)
    if key.key_size < MINIMUM_KEY_BITS:
        raise signatures.InvalidKey(f"the public key has {key.key_size} bits; at least {MINIMUM_KEY_BITS} are required")
    return key
