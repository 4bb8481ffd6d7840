"""Unattended reads: a TPP's reads of an account in the PSU's absence, counted by day (RTS on SCA, Article 36(5)).

Each consent, call, account and UTC day has an item with the counted reads. A conditional write adds one read, so
concurrent requests cannot exceed the bank's limit. A read is counted under its own id. So the write can be retried when
DynamoDB's response is lost, and undone exactly.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self

from chalicelib.foundation.clock import Clock, timestamp
from chalicelib.foundation.dynamodb.conditions import Attr
from chalicelib.foundation.dynamodb.store import Item, Update
from chalicelib.foundation.identifiers import digest, new_id
from chalicelib.foundation.lazy_dataclasses import dataclass
from chalicelib.openbanking.records.consents import TABLE

_RETENTION_SECONDS = 2 * 24 * 3600
_IDENTIFIERS = ("account_id", "iban", "payment_id")


@dataclass(frozen=True, slots=True)
class ReadReservation:
    """One read of a consent's data, counted in the items ``parts``, one item for each identifier in the request.

    ``read_id`` identifies the read. ``reserved_at`` is a Unix second of the day on which the read is counted.
    """

    consent_id: str
    parts: tuple[str, ...]
    read_id: str
    reserved_at: int = 0

    def as_members(self) -> dict[str, Any]:
        """Return the read as members of a stored call."""
        return {"unattended_read": {"parts": list(self.parts), "read_id": self.read_id}}

    @classmethod
    def from_members(cls, consent_id: str, members: Mapping[str, Any]) -> Self | None:
        """Restore the read of a stored call. Return ``None`` if the call was not counted."""
        stored = members.get("unattended_read")
        return cls(consent_id, tuple(stored["parts"]), stored["read_id"]) if stored else None


class UnattendedReads:
    """Builds the write operations that count reads."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock

    def new(self, consent_id: str, call: str, request: Mapping[str, Any]) -> ReadReservation:
        """Create a read by the TPP's ``call``.

        The read is for the account or payment in ``request``, or for all accounts if ``request`` has no identifier.
        """
        now = self._clock.time()
        day = timestamp(now)[:10]
        named = [f"{name}={request[name]}" for name in _IDENTIFIERS if name in request]
        parts = tuple(f"reads#{day}#{call}#{digest(each)}" for each in named or ("",))
        return ReadReservation(consent_id, parts, new_id(), now)

    def update_reserved(self, read: ReadReservation, limit: int) -> list[Update]:
        """Return the write operations that count ``read``. They fail if ``limit`` other reads were already counted. A
        retry has no effect.
        """
        reads = Attr("reads")
        free = reads.not_exists() | reads.contains(read.read_id) | reads.size().lt(limit)
        return [
            Update(*key, set=self._expiry(), add={"reads": frozenset({read.read_id})}, condition=free)
            for key in _keys(read)
        ]

    def update_released(self, read: ReadReservation) -> list[Update]:
        """Return the write operations that undo ``update_reserved``. A retry has no effect."""
        return [Update(*key, set=self._expiry(), delete={"reads": frozenset({read.read_id})}) for key in _keys(read)]

    def _expiry(self) -> Item:
        return {"expires_at": self._clock.time() + _RETENTION_SECONDS}


def _keys(read: ReadReservation) -> list[tuple[str, Item]]:
    return [(TABLE, {"consent_id": read.consent_id, "part": part}) for part in read.parts]
