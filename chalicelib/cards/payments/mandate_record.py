"""Mandates: who may collect from an address by direct debit."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from chalicelib.cards.payments.pending_index import TABLE
from chalicelib.cards.protocol.payment_states import LIVE, MANDATE_RULES
from chalicelib.cards.protocol.status_codes import Refused, Status
from chalicelib.cards.storage.record import Record


@dataclass(frozen=True, kw_only=True)
class Mandate(Record):
    """A mandate; ``reason`` is why it was cancelled."""

    kind: ClassVar = "mandate"
    missing: ClassVar = Status.NO_EXTERNAL_TRANSACTION
    table: ClassVar = TABLE

    address_id: int
    creditor_name: str
    reference: str
    created_at: int
    state: str = LIVE
    reason: int | None = None

    @property
    def is_live(self) -> bool:
        return self.state == LIVE

    def require(self, action: str) -> None:
        """Raises: Refused, when its state does not let the action pass."""
        status = MANDATE_RULES[action][self.state]
        if status is not None:
            raise Refused(status)
