"""What a programme manager's people see at the web interface: actions of this service's own, which nobody else calls.

They answer what the interface shows anyway, gathered for one page, the latest first.
"""

from __future__ import annotations

from typing import ClassVar

from chalicelib.cards.protocol.fields import Id, ItemCount, N, Range
from chalicelib.cards.protocol.message import Needs, Request, given

CARDS, ACCOUNTS = 20, 4
"""So many cards are listed at once, and so many accounts of each: all of them are read together."""
LIST_CARDS, SHOW_CARD, LIST_ACTIVITY = "listCards", "showCard", "listActivity"


class ListCards(Request):
    """listCards: the newest cards, or those before the card ``before``."""

    item_count: Range[1, CARDS]
    before: Id | None = None


class ShowCard(Request):
    """showCard: a card with its holder, its first accounts, and the latest rows of their lists.

    ``item_count`` is how many of activity and transactions, ``balance_count`` of how many movements the balances.
    """

    card_id: Id
    item_count: ItemCount
    balance_count: ItemCount


class ListActivity(Request):
    """listActivity: the latest messages of the network about a card or about all cards, or those before one of them.

    A message is named by its time (Unix milliseconds) and its number.
    """

    conditions: ClassVar = (
        Needs(("before_at",), (given("before_id"),)),
        Needs(("before_id",), (given("before_at"),)),
    )

    item_count: ItemCount
    card_id: Id | None = None
    before_at: N[1, 13] | None = None
    before_id: Id | None = None
