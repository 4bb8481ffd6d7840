"""The sandbox's simulator of 3-D Secure: it plays online shops that have the cardholder authenticated."""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from chalicelib.cards.card_data.sealed_data import CardData
from chalicelib.cards.events.card_events import CardEvent
from chalicelib.cards.issuing.card_record import Card
from chalicelib.cards.protocol import simulator_messages
from chalicelib.cards.protocol.simulator_messages import SimulateAuthentication
from chalicelib.cards.protocol.states import ACTIVE
from chalicelib.cards.protocol.values import CHALLENGE, FRICTIONLESS, REJECTED
from chalicelib.cards.requests import disclosure
from chalicelib.cards.requests.request_context import Outcome, RequestContext
from chalicelib.cards.storage.record import present
from chalicelib.cards.storage.sequences import Sequences
from chalicelib.cards.three_ds import whitelist_record
from chalicelib.cards.three_ds.authentication_record import KEPT, VALID_SECONDS, Authentication, proof
from chalicelib.cards.three_ds.whitelist_record import Purchase


@dataclass(frozen=True, slots=True)
class ThreeDsSimulatorFlow:
    """Asks the issuer's access control server what a shop would ask."""

    sequences: Sequences
    card_data: CardData

    def simulate_authentication(
        self, request: SimulateAuthentication, context: RequestContext
    ) -> Outcome[simulator_messages.Authentication]:
        card = context.find(Card, request.card_id)
        if card.status(context.now) != ACTIVE:
            return Outcome({"outcome": REJECTED})
        purchase = Purchase(request.amount, request.currency_ison, _facts(request))
        if any(rule.matches(purchase) for rule in whitelist_record.of_card(context.store, card.id)):
            return Outcome({"outcome": FRICTIONLESS})
        number, value = self.sequences.next("authentication"), f"{secrets.randbelow(10**6):06}"
        asked = Authentication(
            id=number,
            manager_id=context.manager_id,
            access_level=card.access_level,
            card_id=card.id,
            amount=request.amount,
            currency=request.currency_ison,
            proof=proof(self.card_data, number, value),
            valid_until=context.now + VALID_SECONDS,
            expires_at=context.now + KEPT,
        )
        told = {"auth_request_id": number, "validation_value": value, "expires_at": asked.valid_until}
        encrypted = disclosure.in_event(context.catalogue, number, value)
        events = [authentication_requested(asked, request.members(), encrypted)]
        return Outcome(
            {"outcome": CHALLENGE, **told}, [asked.making(context.write_id), card.unchanged()], events=events
        )


def _facts(request: SimulateAuthentication) -> dict[str, str]:
    """What is known of a purchase, spelt as the lists of a rule have it."""
    country, shop = request.merchant_country_ison, None
    if request.acquirer_bin is not None and request.merchant_id is not None:
        shop = f"{request.acquirer_bin}+{request.merchant_id}"
    facts = {
        "acquirer_bin_merchant_id": shop,
        "mcc": request.mcc,
        "merchant_country_ison": None if country is None else f"{country:03}",
        "merchant_name": request.merchant_name,
    }
    return present(facts)


_SHOP = ("acquirer_bin", "mcc", "merchant_name", "merchant_id", "merchant_country_ison", "terminal_id")


def authentication_requested(asked: Authentication, given: Mapping[str, Any], encrypted: str | None) -> CardEvent:
    """A shop waits for the cardholder's answer; ``given`` has what is known of the shop, under the wire's names.

    ``encrypted`` is the validation value, for a programme manager that delivers it.
    """
    told = {
        "auth_request_id": asked.id,
        "card_id": asked.card_id,
        "amount": asked.amount,
        "currency_ison": asked.currency,
        **{name: given.get(name) for name in _SHOP},
        "expires_at": asked.valid_until,
        "validation_value": encrypted,
    }
    return CardEvent("three_d_secure.requested", told)
