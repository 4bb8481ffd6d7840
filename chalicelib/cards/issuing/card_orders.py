"""Orders of physical cards: where each is sent, alone or with others; one for every body that a card gets."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from chalicelib.cards.storage.record import TABLE, Key
from chalicelib.foundation.dynamodb.store import Put, absent


def order_key(card_id: int, request_id: int) -> Key:
    return TABLE, {"owner": f"card#{card_id}", "part": f"order#{request_id:020}"}


def ordering(card_id: int, request_id: int, delivery: Mapping[str, Any], now: int, write_id: str) -> Put:
    """The write that orders a card's body; ``delivery`` has the fields of the delivery and bulk block."""
    members = {"ordered_at": now, "delivery": dict(delivery), "written_by": write_id}
    return Put(TABLE, {**order_key(card_id, request_id)[1], **members}, absent("owner"))
