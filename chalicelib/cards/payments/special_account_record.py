"""Special accounts: those of a programme manager's own, which no holder has. The set-up names them.

The record with the balances is made with the first address that one gets. It is always active, and pays no fees.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from chalicelib.cards.issuing.account_record import LedgerAccount
from chalicelib.cards.programs.catalogue import SpecialAccountEntry
from chalicelib.cards.protocol.status_codes import Status
from chalicelib.cards.storage.record import TABLE, Key


@dataclass(frozen=True, kw_only=True)
class SpecialAccount(LedgerAccount):
    """A special account; its ``id`` is one of the programme manager's."""

    kind: ClassVar = "special_account"
    missing: ClassVar = Status.NO_SPECIAL_ACCOUNT

    @property
    def place(self) -> Key:
        return special_account_key(self.manager_id, self.id)


def special_account_key(manager_id: int, number: int) -> Key:
    return TABLE, {"owner": f"{SpecialAccount.kind}#{manager_id}.{number}", "part": SpecialAccount.kind}


def new_special_account(manager_id: int, entry: SpecialAccountEntry, now: int) -> SpecialAccount:
    """An empty one, as the set-up describes it; ``now`` in Unix seconds."""
    return SpecialAccount(
        id=entry.id,
        manager_id=manager_id,
        access_level=entry.access_level,
        currency=entry.currency,
        updated_at=now,
    )
