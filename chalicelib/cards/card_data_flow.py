"""Card data revealed one by one: number, CVC2, PIN and the password of 3-D Secure, as the credential's modes say."""

from __future__ import annotations

from dataclasses import dataclass

from chalicelib.cards import disclosure
from chalicelib.cards.call import Call, Outcome
from chalicelib.cards.card_data import CardData
from chalicelib.cards.cards import Card


@dataclass(frozen=True, slots=True)
class CardDataFlow:
    """Reveals card data; every reveal leaves an audit line."""

    card_data: CardData

    def get_card_number(self, call: Call) -> Outcome:
        card = _card(call)
        return _shown(call, card, "pan", self._number(card))

    def get_cvc2(self, call: Call) -> Outcome:
        card = _card(call)
        return _shown(call, card, "cvc2", cvc2_of(self.card_data, card, self._number(card)))

    def get_pin(self, call: Call) -> Outcome:
        card = _card(call)
        if card.virtual or card.pin is None:
            return Outcome({"pin": ""})
        return _shown(call, card, "pin", self.card_data.open(card.id, "pin", card.pin))

    def get_card_acs_password(self, call: Call) -> Outcome:
        card = _card(call)
        return _shown(call, card, "acs_password", self.card_data.open(card.id, "acs_password", card.acs_password))

    def _number(self, card: Card) -> str:
        return self.card_data.open(card.id, "pan", card.pan)


def cvc2_of(card_data: CardData, card: Card, pan: str) -> str:
    """The card's CVC2, computed."""
    return card_data.cvc2(pan, card.expiry_year, card.expiry_month, card.key_version)


def _card(call: Call) -> Card:
    return call.find(Card, call.request.card_id)


def _shown(call: Call, card: Card, field: disclosure.Field, clear: str) -> Outcome:
    return Outcome({field: disclosure.shown(call.credential, card.id, field, clear)})
