"""Lists of cards: all of a programme manager, spread over partitions, so that none carries them all.

A row says which card there is, and nothing that could change; it is written together with the card.
"""

from __future__ import annotations

from collections.abc import Sequence

from chalicelib.cards.issuing.card_record import Card
from chalicelib.cards.storage.record import TABLE
from chalicelib.cards.storage.time_ordered import Rows, shard_of, shards
from chalicelib.foundation.dynamodb.store import Put, absent

_NAME = "card"


def of_manager(manager_id: int) -> Sequence[Rows]:
    """The cards of a programme manager, by shards."""
    return [Rows(TABLE, shard, _NAME) for shard in shards(manager_id)]


def row_part(card_id: int) -> str:
    """What a card's row stands at: the newest cards have the highest numbers, as near as processes count them."""
    return f"{_NAME}#{card_id:020}"


def put_row(card: Card, write_id: str) -> Put:
    """The write of a new card's row."""
    owner = shards(card.manager_id)[shard_of(card.id)]
    row = {"owner": owner, "part": row_part(card.id), "card_id": card.id, "written_by": write_id}
    return Put(TABLE, row, absent("owner"))
