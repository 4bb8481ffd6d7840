"""Transactions: what was booked on an account, as its holder is shown it.

A transaction is a row of its account, in the order of recording, and an item that its id leads to.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, Literal

from chalicelib.cards.accounts import LedgerAccount
from chalicelib.cards.record import Key, present
from chalicelib.foundation.store import Item, Put, absent

TABLE = "ledger"


@dataclass(frozen=True, kw_only=True)
class Transaction:
    """One transaction; amounts are in minor units and positive, ``direction`` is the account's.

    Attributes:
        amount: in ``currency``, what was bought or paid; ``holder_amount`` is its worth in the account's.
        base_rate: how much of the account's currency a unit of ``currency`` is worth, ``holder_rate`` marked up.
        conversion_fee: the mark-up's share in the account's currency, and whether ``holder_amount`` has it in it.
        fee: what of the fees ``holder_amount`` has in it.
        trans_link: the same for all transactions that belong together.
        parent_id: the transaction that this one, a fee, was charged for.
    """

    id: int
    transaction_type: int
    direction: Literal["debit", "credit"]
    trans_link: str
    amount: int
    currency: int
    holder_amount: int
    base_rate: Decimal = Decimal(1)
    holder_rate: Decimal = Decimal(1)
    conversion_fee: int = 0
    conversion_fee_blended: bool = False
    fee: int = 0
    entry_mode: int = 0
    parent_id: int | None = None
    card_id: int | None = None
    country: int | None = None
    fee_code: str | None = None
    description: str | None = None
    reference: str | None = None
    epm_transaction_id: int | None = None
    epm_mandate_id: int | None = None


def transaction_key(number: int) -> Key:
    """The item that a transaction's id leads to."""
    return TABLE, {"owner": f"transaction#{number}", "part": "transaction"}


def recording(transaction: Transaction, account: LedgerAccount, at: int, write_id: str) -> Sequence[Put]:
    """The writes of a new transaction of an account, recorded at ``at`` (Unix milliseconds)."""
    members: dict[str, Any] = present(vars(transaction)) | {"holder_currency": account.currency}
    row: Item = {"owner": account.owner, "part": f"transaction#{at:013}#{transaction.id:011}", "at": at, **members}
    found = {
        "manager_id": account.manager_id,
        "access_level": account.access_level,
        "account": account.owner,
        "part_of_account": row["part"],
    }
    # what a fee may be charged for, or refer to, without another look
    found |= {"holder_amount": transaction.holder_amount, "transaction_type": transaction.transaction_type}
    found |= present({"account_id": account.id, "card_id": transaction.card_id, "trans_link": transaction.trans_link})
    return [
        Put(TABLE, row | {"written_by": write_id}, absent("owner")),
        Put(TABLE, {**transaction_key(transaction.id)[1], **found, "written_by": write_id}, absent("owner")),
    ]
