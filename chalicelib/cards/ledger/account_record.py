"""Holders' accounts and special accounts, with their balances in minor units."""

from __future__ import annotations

from functools import cached_property
from typing import Any, ClassVar

from chalicelib.cards.programs.catalogue import SpecialAccountEntry
from chalicelib.cards.programs.programmes import EntryId
from chalicelib.cards.protocol.simulator_messages import Balances
from chalicelib.cards.protocol.states import ACCOUNT_RULES, LIVE_ACCOUNT
from chalicelib.cards.protocol.status_codes import Status, require_permitted
from chalicelib.cards.storage.record import TABLE, Record, without_none
from chalicelib.foundation.dynamodb.conditions import Attr
from chalicelib.foundation.dynamodb.store import Check
from chalicelib.foundation.lazy_dataclasses import dataclass
from chalicelib.foundation.requests.facts import Key


@dataclass(frozen=True, kw_only=True)
class LedgerAccount(Record):
    """An account in the ledger.

    Attributes:
        settled: the booked balance.
        held: the amount held for authorizations and outgoing payments.
        reserved: the amount reserved for disputes.
        updated_at: the time of the last activity, in Unix seconds.
        status: one of ``ACCOUNT_STATES``.
        address_ids: the account's external payment addresses.
        movements: the number of the account's ledger rows. The balances are the sum of these rows.
        last_at: the time when the last ledger row was recorded, in Unix milliseconds.
    """

    currency: int
    updated_at: int
    status: str = "A"
    program_id: int | None = None
    holder_id: int | None = None
    fee_group_id: int | None = None
    limit_group_id: int | None = None
    address_ids: frozenset[int] | None = None
    settled: int = 0
    held: int = 0
    reserved: int = 0
    movements: int = 0
    last_at: int = 0

    @cached_property
    def owner(self) -> str:
        """The owner key of the account's rows, which is also the prefix of the account's books in the ledger."""
        return f"{self.kind}#{self.id}"

    @cached_property
    def available(self) -> int:
        return self.settled - self.held - self.reserved

    @property
    def is_empty(self) -> bool:
        return self.settled == self.held == self.reserved == 0

    def visible_balances(self, level: int) -> Balances:
        """Return the balances as visible at a caller's access level. If the account's level is higher, the balances are
        0.
        """
        if self.access_level > level:
            return {"available_balance": 0, "settled_balance": 0}
        return {"available_balance": self.available, "settled_balance": self.settled}

    def require(self, action: str) -> None:
        """Check that the status permits the action. Raises: Refused."""
        require_permitted(ACCOUNT_RULES[action][self.status])


@dataclass(frozen=True, kw_only=True)
class Account(LedgerAccount):
    kind: ClassVar = "account"
    missing: ClassVar = Status.NO_ACCOUNT

    holder_id: int
    status: str
    program_id: int
    fee_group_id: int
    risk_group_id: int
    reason_code: int | None = None
    note: str | None = None

    @property
    def uses(self) -> list[EntryId]:
        named: dict[str, Any] = {
            "account_programme": self.program_id,
            "fee_group": self.fee_group_id,
            "risk_group": self.risk_group_id,
            "limit_group": self.limit_group_id,
        }
        return [*without_none(named).items()]

    def check_live(self) -> Check:
        """Return a check that the account can be assigned to another card."""
        return Check(*self.key(self.id), Attr("status").is_in(list(LIVE_ACCOUNT)))


@dataclass(frozen=True, kw_only=True)
class SpecialAccount(LedgerAccount):
    """A programme manager's own account, without a holder. Its ``id`` is defined in the configuration.

    The record is created when the account gets its first payment address. The account is always active and pays no
    fees.
    """

    kind: ClassVar = "special_account"
    missing: ClassVar = Status.NO_SPECIAL_ACCOUNT

    @property
    def place(self) -> Key:
        return special_account_key(self.manager_id, self.id)

    @cached_property
    def owner(self) -> str:
        return f"{self.kind}#{self.manager_id}.{self.id}"


def special_account_key(manager_id: int, number: int) -> Key:
    return TABLE, {"owner": f"{SpecialAccount.kind}#{manager_id}.{number}", "part": SpecialAccount.kind}


def new_special_account(manager_id: int, entry: SpecialAccountEntry, now: int) -> SpecialAccount:
    """Return a special account as defined in the configuration. ``now`` is in Unix seconds."""
    return SpecialAccount(
        id=entry.id, manager_id=manager_id, access_level=entry.access_level, currency=entry.currency, updated_at=now
    )
