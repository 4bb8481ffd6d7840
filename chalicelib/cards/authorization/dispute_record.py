"""Disputes: what holders do not want to have paid for. A transaction is disputed once."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from chalicelib.cards.authorization.activity_record import TABLE
from chalicelib.cards.protocol.status_codes import Status
from chalicelib.cards.storage.record import Key, Record
from chalicelib.foundation.dynamodb.store import Check, absent


@dataclass(frozen=True, kw_only=True)
class Dispute(Record):
    """The dispute of a transaction; it stands under the transaction's id.

    Attributes:
        account_id: where it was booked.
        step: the one of ``DISPUTE_STEPS`` that it has reached.
        amount: what is disputed, in minor units of the account's currency.
        worth: what of the transaction's own amount that is, which cannot be refunded, too.
        opened_at: in Unix seconds.
    """

    kind: ClassVar = "dispute"
    missing: ClassVar = Status.NO_TRANSACTION
    table: ClassVar = TABLE

    transaction_id: int
    account_id: int
    step: str
    amount: int
    worth: int
    opened_at: int

    @property
    def place(self) -> Key:
        return self.key(self.transaction_id)

    @classmethod
    def check_undisputed(cls, transaction_id: int) -> Check:
        """The condition that a transaction was not disputed: what was read of it may be of different moments."""
        return Check(*cls.key(transaction_id), absent("owner"))
