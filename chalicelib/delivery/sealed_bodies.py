"""Encrypted request and response bodies, split into parts that each fit into an item."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import partial

from chalicelib.delivery.delivery_record import TABLE, part_key
from chalicelib.foundation.crypto.keyring import Unsealable, Vault
from chalicelib.foundation.crypto.sealed_places import SealedPlace
from chalicelib.foundation.dynamodb.store import Item, Put, Store
from chalicelib.foundation.parallel import pieces, together

PART_BYTES = 350_000


class SealedBodies:
    """Encrypts, splits and reassembles bodies."""

    def __init__(self, store: Store, vault: Vault) -> None:
        self._store = store
        self._vault = vault

    def seal(self, delivery_id: str, name: str, text: str, expires_at: int) -> list[Put]:
        """Encrypt ``text``, and return the write operations that store the encrypted text under ``name``.

        All writes except the first may be made in advance (see ``write_ahead``).
        """
        whole = self._vault.seal(text, _context(delivery_id, name))
        return [
            Put(TABLE, part_key(delivery_id, name, number)[1] | {"sealed": piece, "expires_at": expires_at})
            for number, piece in enumerate(pieces(whole, PART_BYTES))
        ]

    def write_ahead(self, parts: Sequence[Put]) -> Put:
        """Write all parts except the first, and return the first part for the caller's transaction.

        The parts are written in advance because a DynamoDB transaction is limited to 4 MB. If the first part is never
        written, the other parts are unreachable and expire.
        """
        first, *rest = parts
        if rest:
            together([partial(self._store.put, part.table, part.item) for part in rest])
        return first

    def open(self, delivery_id: str, name: str, count: int, first: Item | None = None) -> str:
        """Return the text of ``count`` parts. ``first`` is the first part, if it was already read.

        Raises:
            Unsealable: a part is missing or was altered.
        """
        known = [first] if first is not None else []
        keys = [part_key(delivery_id, name, number) for number in range(len(known), count)]
        items = [*known, *(self._store.batch_get(keys) if keys else [])]
        return self._unseal(delivery_id, name, items)

    def open_stored(self, delivery_id: str, counts: Mapping[str, int]) -> dict[str, str]:
        """Return the texts of several bodies by name, read together. ``counts`` maps each name to its number of parts.

        Bodies that are no longer stored, or cannot be decrypted, are omitted.
        """
        keys = [(name, number) for name, count in counts.items() for number in range(count)]
        items = self._store.batch_get([part_key(delivery_id, *key) for key in keys]) if keys else []
        texts: dict[str, str] = {}
        for name in counts:
            parts = [item for (part, _), item in zip(keys, items, strict=True) if part == name]
            with suppress(Unsealable):
                texts[name] = self._unseal(delivery_id, name, parts)
        return texts

    def _unseal(self, delivery_id: str, name: str, items: Sequence[Item | None]) -> str:
        whole = b"".join(item["sealed"] for item in items if item)
        return self._vault.unseal(whole, _context(delivery_id, name))


def _context(delivery_id: str, name: str) -> str:
    return f"{TABLE}/{delivery_id}/{name}"


def _sealed_for(item: Item) -> str | None:
    """Return the encryption context of a body that consists of one part, or ``None`` for a longer body.

    A longer body cannot be resealed, because it cannot be replaced in one write. It expires after 30 days.
    """
    name, _, number = item["part"].rpartition("#")
    is_whole = number == "000" and len(item["sealed"]) < PART_BYTES
    return _context(item["delivery_id"], name) if is_whole else None


SEALED = (SealedPlace(TABLE, ("delivery_id", "part"), "sealed", _sealed_for),)
