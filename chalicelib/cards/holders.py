"""Holders: the persons and businesses that accounts and cards belong to."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from boto3.dynamodb.conditions import Attr

from chalicelib.cards.protocol.status_codes import Status
from chalicelib.cards.record import Record
from chalicelib.foundation.store import Update

ACCOUNTS = 100
"""So many accounts a holder may have."""

DETAILS = (
    "title",
    "business_name",
    "first_name",
    "last_name",
    "address_line_1",
    "address_line_2",
    "address_line_3",
    "address_line_4",
    "zip_code",
    "city",
    "state",
    "country_ison",
    "phone_number",
    "email",
    "date_of_birth",
    "ip_address",
    "industry_id",
    "date_of_company_incorporation",
    "kyc_completion_level",
    "kyc_document_expiration_date",
    "additional_charset_id",
    "holder_limit_group_id",
    "holder_locale",
)
"""What is known of a holder, by the names that createHolder uses."""


@dataclass(frozen=True, kw_only=True)
class Holder(Record):
    """A holder; ``programme`` is the kind and id of the programme that it came with, if there was one."""

    kind: ClassVar = "holder"
    missing: ClassVar = Status.NO_HOLDER

    holder_type: int
    details: dict[str, Any]
    account_ids: frozenset[int] | None = None
    programme: list[Any] | None = None

    @property
    def accounts(self) -> list[int]:
        return sorted(self.account_ids or ())

    def getting_accounts(self, accounts: Sequence[int], write_id: str) -> Update:
        """The write that adds accounts; it fails when there would be too many."""
        most = ACCOUNTS - len(accounts)
        return Update(
            self.key(self.id)[0],
            self.key(self.id)[1],
            set={"written_by": write_id},
            add={"account_ids": frozenset(accounts)},
            condition=Attr("owner").exists()
            & (Attr("account_ids").not_exists() | Attr("account_ids").size().lte(most)),
        )
