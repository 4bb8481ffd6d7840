"""Holders: the people and businesses that own accounts and cards."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from chalicelib.cards.programs.programmes import EntryId
from chalicelib.cards.protocol.holder_messages import HolderRecord
from chalicelib.cards.protocol.status_codes import Status, refused_field
from chalicelib.cards.protocol.values import BUSINESS
from chalicelib.cards.storage.record import Record
from chalicelib.foundation.dynamodb.conditions import Attr
from chalicelib.foundation.dynamodb.store import Update
from chalicelib.foundation.lazy_dataclasses import dataclass

MOST_ACCOUNTS = 100
"""The maximum number of accounts per holder."""

DETAILS = tuple(name for name in HolderRecord.__annotations__ if name not in ("id", "holder_type", "access_level"))
"""The descriptive members of a holder's record."""


@dataclass(frozen=True, kw_only=True)
class Holder(Record):
    """A holder. ``programme`` is the kind and id of the programme in which the holder was created, if any."""

    kind: ClassVar = "holder"
    missing: ClassVar = Status.NO_HOLDER

    holder_type: int
    details: dict[str, Any]
    account_ids: frozenset[int] | None = None
    programme: list[Any] | None = None

    @property
    def name(self) -> str:
        """The business name, or the first and last name."""
        names = ("business_name",) if self.holder_type == BUSINESS else ("first_name", "last_name")
        return " ".join(str(self.details[name]) for name in names if self.details.get(name))

    @property
    def accounts(self) -> list[int]:
        return sorted(self.account_ids or ())

    @property
    def limit_group_id(self) -> int | None:
        number: int | None = self.details.get("holder_limit_group_id")
        return number

    @property
    def uses(self) -> list[EntryId]:
        return [] if self.limit_group_id is None else [("limit_group", self.limit_group_id)]

    def require_room(self, accounts: int) -> None:
        """Check that the holder may have this number of additional accounts. Raises: Refused."""
        has = len(self.account_ids or ())
        if has + accounts > MOST_ACCOUNTS:
            raise refused_field("holder_id", "length", f"has {has} accounts; the maximum is {MOST_ACCOUNTS}")

    def update_accounts(self, accounts: Sequence[int], write_id: str) -> Update:
        """Return the update that adds accounts. The update fails if the number of accounts would exceed the maximum."""
        most, account_ids = MOST_ACCOUNTS - len(accounts), Attr("account_ids")
        return Update(
            *self.place,
            set={"written_by": write_id},
            add={"account_ids": frozenset(accounts)},
            condition=Attr("owner").exists() & (account_ids.not_exists() | account_ids.size().lte(most)),
        )
