"""Accounts: what cards spend from. Amounts are integers in minor units of the account's currency."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from boto3.dynamodb.conditions import Attr

from chalicelib.cards.programmes import EntryId
from chalicelib.cards.protocol.states import ACCOUNT_RULES, LIVE_ACCOUNT
from chalicelib.cards.protocol.status_codes import Refused, Status
from chalicelib.cards.record import Record, present
from chalicelib.foundation.store import Check


@dataclass(frozen=True, kw_only=True)
class Account(Record):
    """An account. ``settled`` is what was booked, ``held`` what is promised to merchants, ``reserved`` is disputed.

    ``updated_at`` is the time of its last activity, in Unix seconds.
    """

    kind: ClassVar = "account"
    missing: ClassVar = Status.NO_ACCOUNT

    holder_id: int
    currency: int
    status: str
    program_id: int
    fee_group_id: int
    risk_group_id: int
    updated_at: int
    limit_group_id: int | None = None
    reason_code: int | None = None
    note: str | None = None
    settled: int = 0
    held: int = 0
    reserved: int = 0

    @property
    def available(self) -> int:
        return self.settled - self.held - self.reserved

    @property
    def is_empty(self) -> bool:
        return self.settled == self.held == self.reserved == 0

    @property
    def uses(self) -> list[EntryId]:
        """The entries of the programme manager's set-up that it stands on."""
        named = {
            "account_programme": self.program_id,
            "fee_group": self.fee_group_id,
            "risk_group": self.risk_group_id,
            "limit_group": self.limit_group_id,
        }
        return [*present(named).items()]

    def require(self, action: str) -> None:
        """Raises: Refused, when the account's status does not let the action pass."""
        status = ACCOUNT_RULES[action][self.status]
        if status is not None:
            raise Refused(status)

    def staying_live(self) -> Check:
        """The condition that the account still takes new cards."""
        return Check(*self.key(self.id), Attr("status").is_in(list(LIVE_ACCOUNT)))
