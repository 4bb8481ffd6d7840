"""Card data revealed one by one: number, CVC2, PIN and the password of 3-D Secure, as the credential's modes say."""

from __future__ import annotations

from dataclasses import dataclass

from chalicelib.cards.issuing.card_record import Card
from chalicelib.cards.issuing.card_secrets import CardSecrets
from chalicelib.cards.protocol.card_fields import CardField
from chalicelib.cards.requests import disclosure
from chalicelib.cards.requests.request_context import Call, Outcome


@dataclass(frozen=True, slots=True)
class CardDataFlow:
    """Reveals card data."""

    secrets: CardSecrets

    def get_card_number(self, call: Call) -> Outcome:
        card = _card(call)
        return _shown(call, card, "pan", self.secrets.number(card))

    def get_cvc2(self, call: Call) -> Outcome:
        card = _card(call)
        return _shown(call, card, "cvc2", self.secrets.cvc2(card, self.secrets.number(card)))

    def get_pin(self, call: Call) -> Outcome:
        """A virtual card's PIN is told to nobody."""
        card = _card(call)
        pin = None if card.virtual else self.secrets.pin(card)
        return Outcome({"pin": ""}) if pin is None else _shown(call, card, "pin", pin)

    def get_card_acs_password(self, call: Call) -> Outcome:
        card = _card(call)
        return _shown(call, card, "acs_password", self.secrets.password(card))


def _card(call: Call) -> Card:
    return call.find(Card, call.request.card_id)


def _shown(call: Call, card: Card, field: CardField, clear: str) -> Outcome:
    return Outcome({field: disclosure.shown(call.credential, card.id, field, clear)})
