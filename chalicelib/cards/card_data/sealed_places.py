"""Names of the sealed fields of card items. This module can be imported without storage."""

from __future__ import annotations

from functools import partial
from typing import get_args

from chalicelib.cards.card_data.encryption import Sealed, context_of
from chalicelib.cards.storage.record import TABLE
from chalicelib.foundation.crypto.sealed_places import SealedPlace
from chalicelib.foundation.dynamodb.store import Item


def _context(field: Sealed, item: Item) -> str | None:
    return context_of(item["id"], field) if item["part"] == "card" else None


SEALED = tuple(SealedPlace(TABLE, ("owner", "part"), field, partial(_context, field)) for field in get_args(Sealed))
