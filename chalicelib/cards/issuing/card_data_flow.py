"""Card data revealed one by one: number, CVC2, PIN and the password of 3-D Secure, as the credential's modes say."""

from __future__ import annotations

from dataclasses import dataclass

from chalicelib.cards.issuing.card_record import Card
from chalicelib.cards.issuing.card_secrets import CardSecrets
from chalicelib.cards.protocol.card_fields import CardField
from chalicelib.cards.requests import disclosure
from chalicelib.cards.requests.request_context import Outcome, RequestContext


@dataclass(frozen=True, slots=True)
class CardDataFlow:
    """Reveals card data."""

    secrets: CardSecrets

    def get_card_number(self, context: RequestContext) -> Outcome:
        card = _card(context)
        return _shown(context, card, "pan", self.secrets.number(card))

    def get_cvc2(self, context: RequestContext) -> Outcome:
        card = _card(context)
        return _shown(context, card, "cvc2", self.secrets.cvc2(card, self.secrets.number(card)))

    def get_pin(self, context: RequestContext) -> Outcome:
        """A virtual card's PIN is told to nobody."""
        card = _card(context)
        pin = None if card.virtual else self.secrets.pin(card)
        return Outcome({"pin": ""}) if pin is None else _shown(context, card, "pin", pin)

    def get_card_acs_password(self, context: RequestContext) -> Outcome:
        card = _card(context)
        return _shown(context, card, "acs_password", self.secrets.password(card))


def _card(context: RequestContext) -> Card:
    return context.find(Card, context.request.card_id)


def _shown(context: RequestContext, card: Card, field: CardField, clear: str) -> Outcome:
    return Outcome({field: disclosure.shown(context.credential, card.id, field, clear)})
