"""The forms on the page of a card, as a user sends them."""

from __future__ import annotations

from typing import Any

from tests.cards.issuer import EUR, NewCard
from tests.causeway import Answer
from tests.website.person import Person

USE = {
    "amount": "25.00",
    "currency_ison": EUR,
    "transaction_type": 0,
    "entry_mode_type": 5,
    "mcc": "5411",
    "merchant_name": "Corner Shop",
    "merchant_country_ison": 276,
}


def simulate(person: Person, card: NewCard, action: str, **fields: Any) -> Answer:
    """Send a form of the card's page as it stands there."""
    person.get(f"/cards/{card.card_id}")
    return person.post(f"/cards/{card.card_id}/simulator", action=action, draft=person.hidden("draft"), **fields)


def manage(person: Person, card: NewCard, action: str, **fields: Any) -> Answer:
    """Send a form that manages the card as it stands on its page."""
    person.get(f"/cards/{card.card_id}")
    return person.post(f"/cards/{card.card_id}", action=action, draft=person.hidden("draft"), **fields)
