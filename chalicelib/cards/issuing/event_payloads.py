"""The payloads of events about accounts and cards, with the members of the table of events."""

from __future__ import annotations

from typing import Any

from chalicelib.cards.events.card_events import CardEvent
from chalicelib.cards.issuing.account_record import Account
from chalicelib.cards.issuing.card_record import Card
from chalicelib.cards.protocol.states import ACTIVE
from chalicelib.cards.protocol.values import ACCOUNT_GROUPS
from chalicelib.cards.storage.record import present


def program_changed(before: Account, after: Account) -> list[CardEvent]:
    """An account was moved to a programme; there is nothing to tell where it was there, and kept its groups."""
    groups = ((name, getattr(before, name), getattr(after, name)) for name in ACCOUNT_GROUPS)
    replaced = [present({"group": name, "id_before": old, "id": new}) for name, old, new in groups if old != new]
    if before.program_id == after.program_id and not replaced:
        return []
    told = {
        "account_id": after.id,
        "holder_id": after.holder_id,
        "program_id_before": before.program_id,
        "program_id": after.program_id,
        "replaced_groups": replaced,
    }
    return [CardEvent("account.program_changed", told)]


def card_created(card: Card, *, reissued: bool = False) -> CardEvent:
    """A card was made, or issued anew: then it is known by its new order (``card_request_id``)."""
    more = {"account_id": card.account_ids[0], "virtual": card.virtual, "reissued": int(reissued)}
    return CardEvent("card.created", _body_of(card) | more | {"card_status": card.stored_status})


def card_activated(card: Card) -> CardEvent:
    """A card was activated."""
    return CardEvent("card.activated", _body_of(card) | {"card_status": ACTIVE})


def card_status_changed(card: Card, before: str, after: str, reason_code: int | None = None) -> list[CardEvent]:
    """A card has got another status, or the same one once more: then there is nothing to tell."""
    if before == after:
        return []
    told = {"card_id": card.id, "holder_id": card.holder_id, "card_status_before": before, "card_status": after}
    return [CardEvent("card.status_changed", told | {"reason_code": reason_code})]


def _body_of(card: Card) -> dict[str, Any]:
    return {"card_id": card.id, "card_request_id": card.request_id, "holder_id": card.holder_id}
