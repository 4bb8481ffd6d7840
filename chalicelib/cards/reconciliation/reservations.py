"""Held and reserved amounts of an account, in the ledger's rows and in the records.

Payments and authorizations hold money. Open disputes reserve money.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from chalicelib.cards.ledger.entries import Balance
from chalicelib.cards.protocol.states import DISPUTE_OPENED
from chalicelib.foundation.dynamodb.store import Item

PAYMENT, AUTHORIZATION, DISPUTE = "payment", "authorization", "dispute of transaction"
ABOUT = {"epm_transaction_id": PAYMENT, "authorization_id": AUTHORIZATION, "transaction_id": DISPUTE}
"""Members of a row that identify its subject."""
_CLAIMING: Mapping[Balance, tuple[str, ...]] = {
    "held": ("epm_transaction_id", "authorization_id"),
    "reserved": ("transaction_id",),
}
"""The row members that identify records with held or reserved money, by balance."""
VERBS: Mapping[Balance, str] = {"held": "holds", "reserved": "reserves"}


class ReservedAmount(NamedTuple):
    """A held or reserved amount, identified by its payment, authorization or disputed transaction."""

    kind: str
    number: int

    def __str__(self) -> str:
        return f"{self.kind} {self.number}"

    @property
    def balance(self) -> Balance:
        """The balance that contains the amount: held or reserved."""
        return "reserved" if self.kind == DISPUTE else "held"

    @property
    def verb(self) -> str:
        """The verb for messages, "holds" or "reserves"."""
        return VERBS[self.balance]

    def amount(self, record: Item | None) -> int:
        """Return the amount that the record holds or reserves, in minor units of the account's currency."""
        if record is None:
            return 0
        if self.kind == DISPUTE:
            return int(record["amount"]) if record["step"] == DISPUTE_OPENED else 0
        return int(record.get("held", 0))


def reserved_amount(row: Item, balance: Balance) -> ReservedAmount | None:
    """Return the held or reserved amount that a ledger row changes, if any."""
    found = (ReservedAmount(ABOUT[name], row[name]) for name in _CLAIMING[balance] if row.get(name) is not None)
    return next(found, None)


def describe_row(row: Item) -> str:
    """Describe the subject of a ledger row as text. The text is empty if the row has no subject."""
    return ", ".join(str(ReservedAmount(kind, row[name])) for name, kind in ABOUT.items() if row.get(name) is not None)


def find_mismatches(
    claims: Mapping[ReservedAmount, int], records: Mapping[ReservedAmount, Item | None]
) -> list[ReservedAmount]:
    """Return the amounts without a record, and the amounts that differ between the record and the rows."""
    return [
        claim for claim, record in records.items() if record is None or claim.amount(record) != claims.get(claim, 0)
    ]
