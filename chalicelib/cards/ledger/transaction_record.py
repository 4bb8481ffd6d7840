"""Transactions: bookings on an account, as shown to the account holder.

A transaction is stored as rows in the lists of its account and its card, ordered by the time of recording, and as an
item with the transaction's id as its key.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Any, Literal

from chalicelib.cards.ledger.account_record import LedgerAccount
from chalicelib.cards.protocol.values import EXTERNAL_PAYMENT
from chalicelib.cards.storage.record import without_none
from chalicelib.cards.storage.time_ordered import Timeline
from chalicelib.foundation.dynamodb.store import Item, Put, absent
from chalicelib.foundation.lazy_dataclasses import dataclass
from chalicelib.foundation.requests.facts import Key

TABLE = "ledger"
_DIGITS = 11
_AT_ITS_ID = (
    *("account", "account_id", "at", "holder_amount", "transaction_type"),
    *("card_id", "trans_link", "authorization_id", "mti", "written_by"),
)
"""The members that are copied to the item with the transaction's id, so that charging a fee needs no second read."""


@dataclass(frozen=True, kw_only=True)
class Transaction:
    """One transaction. Amounts are positive and in minor units. ``direction`` is the effect on the account.

    Attributes:
        amount: the amount in ``currency``.
        holder_amount: the amount in the account's currency, including blended fees.
        base_rate: units of the account's currency per unit of ``currency``; ``holder_rate`` includes the markup.
        conversion_fee: the markup in the account's currency.
        conversion_fee_blended: whether ``holder_amount`` includes the conversion fee.
        fee: the sum of the other fees that ``holder_amount`` includes.
        trans_link: shared by all related transactions.
        mti: the type of the message that caused the transaction; ``function_code`` is its purpose (ISO 8583).
        parent_id: the transaction for which this transaction charges a fee, or which it disputes or returns.
        authorization_id: the authorization to which a card transaction belongs.
        network: data from the network, keyed by API member.
        counterparty: the other party and the scheme of an external payment, keyed by API member.
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
    """Return the key of the item that stores a transaction by its id."""
    return TABLE, {"owner": f"transaction#{number}", "part": "transaction"}


def timeline(account: str | None, card_id: int | None) -> Timeline:
    """Return the list of transactions of an account or a card. ``account`` is the account's ``owner`` key. If both
    arguments are set, the list contains the card's transactions on the account.
    """
    owner, name = account, "transaction"
    if card_id is not None:
        owner, name = f"card#{card_id}", "transaction" if account is None else f"{account}#transaction"
    assert owner is not None, "a list is of somebody"
    return Timeline(TABLE, owner, name, _DIGITS)


def row_key(lead: Item) -> Key:
    """Return the key of a transaction's row in the account's list. ``lead`` is the item that stores the transaction by
    its id.
    """
    return TABLE, {"owner": lead["account"], "part": lead["part_of_account"]}


def put_transaction(
    transaction: Transaction, account: LedgerAccount, at: int, write_id: str, *, by_card: bool = False
) -> Sequence[Put]:
    """Return the write operations for a new transaction, recorded at ``at`` (Unix milliseconds).

    ``by_card`` also adds the transaction to two lists: all transactions of the card, and the card's transactions on
    this account.
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
