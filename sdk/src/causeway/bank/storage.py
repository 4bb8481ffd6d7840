"""The storage of a bank's application: consents, orders, payments, pages, and pending calls."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

from causeway import _waiting

Values = Mapping[str, Any]
"""A stored value, which must be JSON data. The value of a consent contains the access token and should be encrypted."""
SWEEP_SECONDS = 60.0


class Storage(Protocol):
    """A table with the key (``kind``, ``key``). Each method is one atomic operation, even if several processes use the
    storage.

    Kinds are ``consent``, ``order``, ``payment``, ``undecided``, ``page`` and ``call``.
    """

    async def add(self, kind: str, key: str, value: Values, *, owner: str = "", expires_at: float = 0.0) -> bool:
        """Store a value unless the key already has a value. Returns whether the value was stored.

        ``owner`` is the PSU's id. After ``expires_at`` (Unix seconds; 0 means never), the value is treated as missing.
        """

    async def get(self, kind: str, key: str) -> Values | None:
        """Return the value of a key."""

    async def replace(self, kind: str, key: str, old: Values, new: Values | None) -> bool:
        """Replace the value if it still equals ``old``. If the new value is ``None``, delete the value. Returns whether
        the stored value was changed.
        """

    async def find(self, kind: str, owner: str = "") -> Mapping[str, Values]:
        """Find all values of a kind that belong to an owner. Returns the values by key, oldest first."""


class MemoryStorage:
    """A ``Storage`` in memory, for trials and tests. The content is lost when the process ends."""

    def __init__(self) -> None:
        self._rows: dict[tuple[str, str], tuple[Values, str, float]] = {}
        self._swept = 0.0

    async def add(self, kind: str, key: str, value: Values, *, owner: str = "", expires_at: float = 0.0) -> bool:
        """Store a value. See ``Storage.add``."""
        self._sweep()
        if await self.get(kind, key) is not None:
            return False
        self._rows[kind, key] = (dict(value), owner, expires_at)
        return True

    async def get(self, kind: str, key: str) -> Values | None:
        """Return a value. See ``Storage.get``."""
        value, _, expires_at = self._rows.get((kind, key), (None, "", 0.0))
        return None if value is None or _is_over(expires_at) else value

    async def replace(self, kind: str, key: str, old: Values, new: Values | None) -> bool:
        """Replace a value. See ``Storage.replace``."""
        if await self.get(kind, key) != old:
            return False
        _, owner, expires_at = self._rows[kind, key]
        if new is None:
            del self._rows[kind, key]
        else:
            self._rows[kind, key] = (dict(new), owner, expires_at)
        return True

    async def find(self, kind: str, owner: str = "") -> Mapping[str, Values]:
        """Find values. See ``Storage.find``."""
        return {
            key: value
            for (of, key), (value, belongs_to, expires_at) in self._rows.items()
            if of == kind and belongs_to == owner and not _is_over(expires_at)
        }

    def _sweep(self) -> None:
        """Delete expired items, at most once a minute."""
        if _waiting.now() - self._swept >= SWEEP_SECONDS:
            self._swept = _waiting.now()
            self._rows = {key: row for key, row in self._rows.items() if not _is_over(row[2])}


def _is_over(expires_at: float) -> bool:
    return 0.0 < expires_at <= _waiting.now()
