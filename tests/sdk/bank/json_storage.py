"""A storage that keeps values as a database does: as JSON."""

from __future__ import annotations

import json
from collections.abc import Mapping

from causeway.bank import MemoryStorage
from causeway.bank.storage import Values


class JsonStorage(MemoryStorage):
    """Refuses what JSON cannot express, and gives what JSON makes of the rest."""

    async def add(self, kind: str, key: str, value: Values, *, owner: str = "", expires_at: float = 0.0) -> bool:
        return await super().add(kind, key, as_json(value), owner=owner, expires_at=expires_at)

    async def replace(self, kind: str, key: str, old: Values, new: Values | None) -> bool:
        return await super().replace(kind, key, as_json(old), None if new is None else as_json(new))


def as_json(value: Values) -> Values:
    found: Mapping[str, object] = json.loads(json.dumps(value))
    return found
