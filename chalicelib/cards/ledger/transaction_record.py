"""Transactions: bookings on an account, as its holder sees them.

A transaction is a row of its account and of its card, in the order of recording, and an item that its id leads to.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Any, Literal

from chalicelib.cards.issuing.account_record import LedgerAccount
from chalicelib.cards.protocol.values import EXTERNAL_PAYMENT
from chalicelib.cards.storage.record import Key, without_none
from chalicelib.cards.storage.time_ordered import Timeline
from chalicelib.foundation.dynamodb.store import Item, Put, absent
from chalicelib.foundation.lazy_dataclasses import dataclass

TABLE = "ledger"
_DIGITS = 11
_AT_ITS_ID = (
    *("account", "account_id", "at", "holder_amount", "transaction_type"),
    *("card_id", "trans_link", "authorization_id", "mti", "written_by"),
)
"""Members copied to the item at a transaction's id, so that a fee needs no other read."""


@dataclass(frozen=True, kw_only=True)
class Transaction:
    """One transaction; amounts are in minor units and positive, ``direction`` is the account's.

    Attributes:
        amount: in ``currency``; ``holder_amount`` is its value in the account's.
        base_rate: units of the account's currency for one of ``currency``; ``holder_rate`` is marked up.
        conversion_fee: the mark-up's share in the account's currency, and whether ``holder_amount`` has it in it.
        fee: what of the fees ``holder_amount`` has in it.
        trans_link: the same for all transactions that belong together.
        mti: the type of the message that it came with (ISO 8583), ``function_code`` what that was for.
        parent_id: the transaction that this one was charged for, a fee, is about, a dispute, or gives back, a return.
        authorization_id: of a card transaction, what it belongs to.
        network: what the network said of it, by the interface's names.
        counterparty: of an external payment, its other side and its scheme, by the interface's names.
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
    mti: int = EXTERNAL_PAYMENT
    function_code: int | None = None
    parent_id: int | None = None
    card_id: int | None = None
    country: int | None = None
    fee_code: str | None = None
    description: str | None = None
    reference: str | None = None
    epm_transaction_id: int | None = None
    epm_mandate_id: int | None = None
    authorization_id: int | None = None
    reason_code: int | None = None
    network: Mapping[str, Any] | None = None
    counterparty: Mapping[str, Any] | None = None


def transaction_key(number: int) -> Key:
    """The key of the item stored under a transaction's id."""
    return TABLE, {"owner": f"transaction#{number}", "part": "transaction"}


def timeline(account: str | None, card_id: int | None) -> Timeline:
    """The list of an account, which the owner of its rows names, of a card, or of a card's on an account."""
    owner, name = account, "transaction"
    if card_id is not None:
        owner, name = f"card#{card_id}", "transaction" if account is None else f"{account}#transaction"
    assert owner is not None, "a list is of somebody"
    return Timeline(TABLE, owner, name, _DIGITS)


def row_key(lead: Item) -> Key:
    """The row of the account's list that a transaction's item leads to."""
    return TABLE, {"owner": lead["account"], "part": lead["part_of_account"]}


def put_transaction(
    transaction: Transaction, account: LedgerAccount, at: int, write_id: str, *, by_card: bool = False
) -> Sequence[Put]:
    """The writes of a new transaction of an account, recorded at ``at`` (Unix milliseconds).

    The row is in the account's list and in two of the card's: all its transactions, and those of the account.
    """
    members: dict[str, Any] = without_none(vars(transaction)) | {"holder_currency": account.currency}
    members |= {"account": account.owner, "account_id": account.id, "at": at, "written_by": write_id}
    lists = [timeline(account.owner, None)]
    if by_card:
        lists += [timeline(None, transaction.card_id), timeline(account.owner, transaction.card_id)]
    places = [each.key(at, transaction.id)[1] for each in lists]
    leads_to = transaction_key(transaction.id)[1] | {
        "manager_id": account.manager_id,
        "access_level": account.access_level,
        "part_of_account": places[0]["part"],
        **{name: members[name] for name in _AT_ITS_ID if name in members},
    }
    return [Put(TABLE, item, absent("owner")) for item in (*(place | members for place in places), leads_to)]
