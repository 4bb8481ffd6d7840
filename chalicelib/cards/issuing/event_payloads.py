"""The payloads of events about accounts and cards, with the members of the table of events."""

from __future__ import annotations

from chalicelib.cards.events.card_events import CardEvent
from chalicelib.cards.issuing.account_record import Account
from chalicelib.cards.issuing.card_record import Card
from chalicelib.cards.protocol.card_events import (
    AccountProgramEvent,
    CardActivatedEvent,
    CardCreatedEvent,
    CardStatusEvent,
    ReplacedGroup,
)
from chalicelib.cards.protocol.message import leave_out_none
from chalicelib.cards.protocol.states import ACTIVE
from chalicelib.cards.protocol.values import ACCOUNT_GROUPS


def program_changed(before: Account, after: Account) -> list[CardEvent]:
    """An account was moved to a programme; there is nothing to tell where it was there, and kept its groups."""
    groups = ((name, getattr(before, name), getattr(after, name)) for name in ACCOUNT_GROUPS)
    replaced = [
        leave_out_none(ReplacedGroup(group=name, id_before=old, id=new)) for name, old, new in groups if old != new
    ]
    if before.program_id == after.program_id and not replaced:
        return []
    data: AccountProgramEvent = {
        "account_id": after.id,
        "holder_id": after.holder_id,
        "program_id_before": before.program_id,
        "program_id": after.program_id,
        "replaced_groups": replaced,
    }
    return [CardEvent("account.program_changed", data)]


def card_created(card: Card, *, reissued: bool = False) -> CardEvent:
    """A card was made, or issued anew: then it is known by its new order (``card_request_id``)."""
    data: CardCreatedEvent = {
        "card_id": card.id,
        "card_request_id": card.request_id,
        "holder_id": card.holder_id,
        "account_id": card.account_ids[0],
        "virtual": card.virtual,
        "reissued": int(reissued),
        "card_status": card.stored_status,
    }
    return CardEvent("card.created", data)


def card_activated(card: Card) -> CardEvent:
    data: CardActivatedEvent = {
        "card_id": card.id,
        "card_request_id": card.request_id,
        "holder_id": card.holder_id,
        "card_status": ACTIVE,
    }
    return CardEvent("card.activated", data)


def card_status_changed(card: Card, before: str, after: str, reason_code: int | None = None) -> list[CardEvent]:
    """A card has got another status, or the same one once more: then there is nothing to tell."""
    if before == after:
        return []
    data: CardStatusEvent = {
        "card_id": card.id,
        "holder_id": card.holder_id,
        "card_status_before": before,
        "card_status": after,
        "reason_code": reason_code,
    }
    return [CardEvent("card.status_changed", data)]
