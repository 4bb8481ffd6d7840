"""Decryption, computation and renewed encryption of a stored card's secret data.

The functions raise Unsealable, or KeyError if the key version is missing.
"""

from __future__ import annotations

from typing import Any

from chalicelib.cards.card_data import pins_and_passwords
from chalicelib.cards.card_data.encryption import CardData
from chalicelib.cards.issuing.card_record import Card
from chalicelib.cards.protocol.states import PIN_OK
from chalicelib.cards.protocol.status_codes import Refused, Status


def decrypt_number(card: Card, card_data: CardData) -> str:
    return card_data.open(card.id, "pan", card.pan)


def compute_cvc2(card: Card, number: str, card_data: CardData) -> str:
    return card_data.cvc2(number, card.expiry_year, card.expiry_month, card.key_version)


def decrypt_pin(card: Card, card_data: CardData) -> str | None:
    """Return the card's PIN in clear text, or ``None`` for a card without a PIN."""
    return None if card.pin is None else card_data.open(card.id, "pin", card.pin)


def decrypt_password(card: Card, card_data: CardData) -> str:
    """Return the card's 3-D Secure password in clear text."""
    return card_data.open(card.id, "acs_password", card.acs_password)


def pin_members(card_id: int, number: str, pin: str, key_version: int, card_data: CardData) -> dict[str, Any]:
    """Return the card members for a new PIN: the encrypted PIN, its verification value, and a reset counter."""
    return {
        "pin": card_data.seal(card_id, "pin", pin),
        "pvv": card_data.pvv(number, pin, key_version),
        "pin_status": PIN_OK,
        "pin_tries": 0,
    }


WITHOUT_PIN = {"pin": None, "pvv": None, "pin_status": PIN_OK, "pin_tries": 0}
"""The members of a card without a PIN."""


def require_good(pin: str) -> None:
    """Reject simple PINs. Raises: Refused."""
    if pins_and_passwords.is_simple(pin):
        raise Refused(Status.PIN_TOO_SIMPLE)
