"""Cardholder verification: expiry, PIN and CVC2, with counters of failed attempts."""

from __future__ import annotations

import hmac
from dataclasses import field
from typing import Any

from chalicelib.cards.card_data.encryption import CardData
from chalicelib.cards.issuing.card_decryption import compute_cvc2, decrypt_number
from chalicelib.cards.issuing.card_record import Card
from chalicelib.cards.protocol.states import PIN_IS_BLOCKED
from chalicelib.foundation.lazy_dataclasses import dataclass

EXPIRED, WRONG_PIN, PIN_BLOCKED, WRONG_CVC2 = "54", "55", "75", "N7"
CVC2 = "cvc2"
"""The name of a card's counter of incorrect CVC2s."""


@dataclass(frozen=True, slots=True)
class PresentedData:
    expiry_year: int | None = None
    expiry_month: int | None = None
    pin: str | None = field(default=None, repr=False)
    cvc2: str | None = field(default=None, repr=False)


def decline_code(
    card: Card, presented: PresentedData, now: int, *, card_data: CardData
) -> tuple[str | None, dict[str, Any]]:
    """The response code if the check fails, and the changes to the card's counters of failed attempts.

    Write the changes on condition that the card is unchanged; otherwise parallel guesses at PIN and
    CVC2 could exceed the limits.
    """
    is_same_year = presented.expiry_year in (None, card.expiry_year)
    if not is_same_year or presented.expiry_month not in (None, card.expiry_month):
        return EXPIRED, {}
    if presented.pin is None and presented.cvc2 is None:
        return None, {}
    number = decrypt_number(card, card_data)
    code, changes = _check_pin(card, number, presented.pin, card_data)
    if code is not None or presented.cvc2 is None:
        return code, changes
    if card.has_too_many_mismatches(CVC2, now):
        return WRONG_CVC2, changes
    if not hmac.compare_digest(compute_cvc2(card, number, card_data), presented.cvc2):
        return WRONG_CVC2, changes | {"wrong": card.with_wrong_entry(CVC2, now)}
    return None, changes


def _check_pin(card: Card, number: str, pin: str | None, card_data: CardData) -> tuple[str | None, dict[str, Any]]:
    """Count an incorrect PIN; a correct PIN resets the counter."""
    if pin is None:
        return None, {}
    if card.pin_is_blocked:
        return PIN_BLOCKED, {}
    if card.pvv is not None:
        value = card_data.pvv(number, pin, card.key_version)
        if hmac.compare_digest(value, card.pvv):
            return None, {"pin_tries": 0} if card.pin_tries else {}
    tries = card.pin_tries + 1
    if tries < card.pin_tries_limit:
        return WRONG_PIN, {"pin_tries": tries}
    return PIN_BLOCKED, {"pin_tries": tries, "pin_status": PIN_IS_BLOCKED}
