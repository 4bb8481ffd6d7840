"""Orders of physical cards: where each is sent, alone or with others; one for every body that a card gets."""

from __future__ import annotations

from typing import Any

from chalicelib.cards.call import Call
from chalicelib.cards.cards import Card
from chalicelib.cards.groups import card_programme
from chalicelib.cards.protocol.card_blocks import DELIVERY_BLOCK, DELIVERY_MANDATORY
from chalicelib.cards.protocol.status_codes import refused_field, refused_fields
from chalicelib.cards.record import TABLE, Key, present
from chalicelib.foundation.problems import Problem
from chalicelib.foundation.store import Operation, Put, absent


def order_key(card_id: int, request_id: int) -> Key:
    return TABLE, {"owner": f"card#{card_id}", "part": f"order#{request_id:020}"}


def ordering(call: Call, card: Card, request: Any) -> list[Operation]:
    """The write that orders a physical card's body; a virtual card has none. Raises: Refused."""
    if card.virtual:
        return []
    delivery = present({name: getattr(request, name) for name in DELIVERY_BLOCK})
    reason = "is required for a physical card"
    problems = [Problem(name, "required", reason) for name in DELIVERY_MANDATORY if name not in delivery]
    if problems:
        raise refused_fields(problems)
    programme = card_programme(call.catalogue, card.program_id)
    if request.order_shipping_method not in programme.shipping_method_ids:
        raise refused_field("order_shipping_method", "value", "is not allowed by the programme")
    members = {"ordered_at": call.now, "delivery": delivery, "written_by": call.write_id}
    return [Put(TABLE, {**order_key(card.id, card.request_id)[1], **members}, absent("owner"))]
