"""Requests of 3-D Secure that wait for the cardholder's answer."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from chalicelib.cards.card_data.sealed_data import CardData
from chalicelib.cards.protocol.status_codes import Status
from chalicelib.cards.storage.record import Record

VALID_SECONDS = 300
KEPT = 30 * 24 * 3600
TRIES = 5
"""After so many wrong validation values a request has failed."""

WAITING, CONFIRMED, REFUSED, FAILED = "waiting", "confirmed", "refused", "failed"


@dataclass(frozen=True, kw_only=True)
class Authentication(Record):
    """A request; ``proof`` is the keyed hash of its validation value, ``valid_until`` is in Unix seconds."""

    kind: ClassVar = "authentication"
    missing: ClassVar = Status.NO_AUTHENTICATION

    card_id: int
    amount: int
    currency: int
    proof: str
    valid_until: int
    expires_at: int
    status: str = WAITING
    wrong_values: int = 0
    method: int | None = None

    def is_pending(self, now: int) -> bool:
        """Whether it can still be answered."""
        return self.status == WAITING and now < self.valid_until


def proof(card_data: CardData, number: int, value: str) -> str:
    """What is kept of the validation value of a request."""
    return card_data.fingerprint(f"authentication {number} {value}")
