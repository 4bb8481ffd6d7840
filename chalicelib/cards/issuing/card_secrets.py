"""The secret data of a stored card: decrypted, computed, or sealed again."""

from __future__ import annotations

from typing import Any

from chalicelib.cards.card_data import cardholder_secrets
from chalicelib.cards.card_data.sealed_data import CardData
from chalicelib.cards.issuing.card_record import Card
from chalicelib.cards.protocol.states import PIN_OK
from chalicelib.cards.protocol.status_codes import Refused, Status
from chalicelib.foundation.lazy_dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class CardSecrets:
    """Opens the sealed data of a ``Card``. Raises: Unsealable, or KeyError if the key version is missing."""

    card_data: CardData

    def number(self, card: Card) -> str:
        return self.card_data.open(card.id, "pan", card.pan)

    def cvc2(self, card: Card, number: str) -> str:
        return self.card_data.cvc2(number, card.expiry_year, card.expiry_month, card.key_version)

    def pin(self, card: Card) -> str | None:
        """The PIN; ``None`` for a card without one."""
        return None if card.pin is None else self.card_data.open(card.id, "pin", card.pin)

    def password(self, card: Card) -> str:
        """The 3-D Secure password."""
        return self.card_data.open(card.id, "acs_password", card.acs_password)

    def with_pin(self, card_id: int, number: str, pin: str, key_version: int) -> dict[str, Any]:
        """The card members for a new PIN: the sealed PIN, its verification value, and a reset counter."""
        return {
            "pin": self.card_data.seal(card_id, "pin", pin),
            "pvv": self.card_data.pvv(number, pin, key_version),
            "pin_status": PIN_OK,
            "pin_tries": 0,
        }


WITHOUT_PIN = {"pin": None, "pvv": None, "pin_status": PIN_OK, "pin_tries": 0}
"""The members of a card without a PIN."""


def require_good(pin: str) -> None:
    """Reject simple PINs. Raises: Refused."""
    if cardholder_secrets.is_simple(pin):
        raise Refused(Status.PIN_TOO_SIMPLE)
