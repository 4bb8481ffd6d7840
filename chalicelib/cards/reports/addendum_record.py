"""Addendums: details of a transaction that the network sends after the transaction was booked.

An addendum is stored as a row of its transaction and of its programme manager, in order of recording, and as an item
under its id. A programme manager's rows are distributed over several partitions, and the rows' positions are reserved.
"""

from __future__ import annotations

from collections.abc import Sequence

from chalicelib.cards.authorization.activity_record import TABLE
from chalicelib.cards.ledger.transaction_record import transaction_key
from chalicelib.cards.storage.record import without_none
from chalicelib.cards.storage.reserved_rows import ReservedRow
from chalicelib.cards.storage.sequences import Sequences
from chalicelib.cards.storage.time_ordered import Timeline, shard_of, shards
from chalicelib.foundation.dynamodb.conditions import Attr
from chalicelib.foundation.dynamodb.store import Item, Operation, Put, Update, absent
from chalicelib.foundation.requests.facts import Key

_DIGITS = 20
_LAST_AT = "last_addendum_at"


def of_transaction(number: int) -> Timeline:
    """Return the addendums of a transaction."""
    return Timeline(TABLE, f"transaction#{number}", "addendum", _DIGITS)


def of_manager(manager_id: int) -> Sequence[Timeline]:
    """Return all addendums of a programme manager, as one timeline per shard."""
    return [Timeline(TABLE, shard, "addendum", _DIGITS) for shard in shards(manager_id)]


def new_entry(manager_id: int, sequences: Sequences) -> tuple[Timeline, int]:
    """Return the timeline and the id of a new addendum in the list for all transactions."""
    number = sequences.next("addendum")
    return Timeline(TABLE, shard_of(manager_id, number), "addendum", _DIGITS), number


def addendum_key(number: int) -> Key:
    """Return the key of the item that stores an addendum by its id."""
    return TABLE, {"owner": f"addendum#{number}", "part": "addendum"}


def next_at(transaction: Item, at: int) -> int:
    """Return the time of a transaction's next addendum, which is ``at`` or just after the last addendum."""
    return max(at, int(transaction.get(_LAST_AT, 0)) + 1)


def put_addendum(addendum: Item, transaction: Item, reserved: ReservedRow) -> Sequence[Operation]:
    """Return the write operations of a new addendum, which fail if the transaction's item has changed.

    The addendum's ``data`` is JSON. ``at`` is in Unix milliseconds.
    """
    number, of, at = addendum["id"], addendum["transaction_id"], addendum["at"]
    found = {name: addendum[name] for name in ("manager_id", "access_level", "transaction_id", "at", "written_by")}
    found |= without_none({"listed_at": reserved.listed_at(at)})
    table, place = of_transaction(of).key(at, number)
    last_at = transaction.get(_LAST_AT)
    as_read = Attr(_LAST_AT).not_exists() if last_at is None else Attr(_LAST_AT).eq(last_at)
    return [
        Update(*transaction_key(of), set={_LAST_AT: at}, condition=Attr("owner").exists() & as_read),
        Put(table, {**place, **addendum}, absent("owner")),
        reserved.put(addendum),
        Put(TABLE, {**addendum_key(number)[1], **found}, absent("owner")),
    ]
