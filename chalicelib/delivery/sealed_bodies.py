"""Sealed request and response bodies, split into parts that each fit into an item."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from chalicelib.delivery.delivery_record import TABLE, part_key
from chalicelib.foundation.crypto.vault import Vault
from chalicelib.foundation.dynamodb.store import Item, Put, Store
from chalicelib.foundation.parallel import pieces, together

PART_BYTES = 350_000


class SealedBodies:
    """Seals, splits and reassembles bodies."""

    def __init__(self, store: Store, vault: Vault) -> None:
        self._store = store
        self._vault = vault

    def seal(self, delivery_id: str, name: str, text: str, expires_at: int) -> list[Put]:
        """The writes that store ``text`` under ``name``; all but the first may be written ahead (see
        ``write_ahead``).
        """
        whole = self._vault.seal(text, _context(delivery_id, name))
        return [
            Put(TABLE, part_key(delivery_id, name, number)[1] | {"sealed": piece, "expires_at": expires_at})
            for number, piece in enumerate(pieces(whole, PART_BYTES))
        ]

    def write_ahead(self, parts: Sequence[Put]) -> Put:
        """Write all parts except the first, which is returned for the caller's transaction.

        A transaction holds at most 4 MB. If the first part is never written, the others are unreachable and
        expire.
        """
        first, *rest = parts
        if rest:
            together([partial(self._store.put, part.table, part.item) for part in rest])
        return first

    def open(self, delivery_id: str, name: str, count: int, first: Item | None = None) -> str:
        """The text of ``count`` parts; ``first`` is the first part, if already read.

        Raises:
            Unsealable: a part is missing or was altered.
        """
        known = [first] if first is not None else []
        keys = [part_key(delivery_id, name, number) for number in range(len(known), count)]
        items = [*known, *(self._store.batch_get(keys) if keys else [])]
        whole = b"".join(item["sealed"] for item in items if item)
        return self._vault.unseal(whole, _context(delivery_id, name))


def _context(delivery_id: str, name: str) -> str:
    return f"{TABLE}/{delivery_id}/{name}"
