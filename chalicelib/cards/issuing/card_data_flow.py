"""Card data revealed one by one: number, CVC2, PIN and the password of 3-D Secure, as the credential's modes say."""

from __future__ import annotations

from dataclasses import dataclass

from chalicelib.cards.issuing.card_record import Card
from chalicelib.cards.issuing.card_secrets import CardSecrets
from chalicelib.cards.protocol.card_fields import CardField
from chalicelib.cards.protocol.card_messages import OfCard
from chalicelib.cards.protocol.card_records import AcsPassword, CardNumber, Cvc2, Pin
from chalicelib.cards.requests import disclosure
from chalicelib.cards.requests.request_context import Outcome, RequestContext


@dataclass(frozen=True, slots=True)
class CardDataFlow:
    """Reveals card data."""

    secrets: CardSecrets

    def get_card_number(self, request: OfCard, context: RequestContext) -> Outcome[CardNumber]:
        card = context.find(Card, request.card_id)
        return Outcome({"pan": _reveal(context, card, "pan", self.secrets.number(card))})

    def get_cvc2(self, request: OfCard, context: RequestContext) -> Outcome[Cvc2]:
        card = context.find(Card, request.card_id)
        return Outcome({"cvc2": _reveal(context, card, "cvc2", self.secrets.cvc2(card, self.secrets.number(card)))})

    def get_pin(self, request: OfCard, context: RequestContext) -> Outcome[Pin]:
        """A virtual card's PIN is told to nobody."""
        card = context.find(Card, request.card_id)
        pin = None if card.virtual else self.secrets.pin(card)
        return Outcome({"pin": "" if pin is None else _reveal(context, card, "pin", pin)})

    def get_card_acs_password(self, request: OfCard, context: RequestContext) -> Outcome[AcsPassword]:
        card = context.find(Card, request.card_id)
        return Outcome({"acs_password": _reveal(context, card, "acs_password", self.secrets.password(card))})


def _reveal(context: RequestContext, card: Card, field: CardField, clear: str) -> str:
    shown = disclosure.disclose(context.credential, card.id, field, clear)
    assert shown is not None, "who is never shown a field is refused before"
    return shown
