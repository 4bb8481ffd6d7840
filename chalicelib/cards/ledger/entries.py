"""The ledger: every movement of money is a set of entries that sum to zero in each currency.

A movement is written in the same DynamoDB transaction as its cause. It consists of the changed balances, a row per
account with all entries and the new balances, the transactions that the holder sees, and the limit counts. The
balances of an account always equal the sum of its rows. Contra books have no stored balances, so movements on
different accounts never write the same item.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, Literal, TypeVar, get_args

from chalicelib.cards.ledger.account_record import LedgerAccount
from chalicelib.cards.ledger.transaction_record import TABLE, Transaction, put_transaction
from chalicelib.cards.ledger.usage_counters import CounterChanges, Counters
from chalicelib.foundation.dynamodb.store import Item, Operation, Put, absent
from chalicelib.foundation.lazy_dataclasses import dataclass
from chalicelib.foundation.requests.facts import Key

A = TypeVar("A", bound=LedgerAccount)
Balance = Literal["settled", "held", "reserved"]
BALANCES: tuple[Balance, ...] = get_args(Balance)
MOVEMENT = "movement"
"""The key prefix of an account's rows, which are numbered in chronological order."""

_MOVED = (*BALANCES, "movements", "last_at", "updated_at")
AT_ONCE = 100
"""The number of rows per read."""
EXTERNAL, NETWORK, FEES, CONVERSION = "external", "network", "fees", "conversion"
"""The contra books of payments, card use, fees and conversions."""
PENDING, DISPUTED = "pending", "disputed"
"""The contra books of holds and reservations."""


def movement_key(owner: str, number: int) -> Key:
    """Return the key of a ledger row, given the account's ``owner`` key and the number of the row. The first number is
    1.
    """
    return TABLE, {"owner": owner, "part": f"{MOVEMENT}#{number:012}"}


class Unbalanced(Exception):
    """The entries of a movement do not sum to zero. This is a defect, and the movement is not written."""


@dataclass(frozen=True, slots=True)
class Entry:
    """An amount in a book, in minor units of a currency."""

    book: str
    currency: int
    amount: int


class Movement:
    """A movement under construction.

    Args:
        cause: a description for the operator.
        at: the time of recording in Unix milliseconds. If an account's last movement is not earlier than ``at``,
            ``operations`` uses a later time.
        write_id: identifies the write attempt.
        tally: the counter and list changes to write with the movement.
        about: additional members of the movement's rows, for example the payment.
    """

    def __init__(self, cause: str, at: int, write_id: str, tally: CounterChanges | None = None, **about: Any) -> None:
        self._head: Item = {"movement": write_id, "cause": cause, **about}
        self.at = at
        self._write_id = write_id
        self.tally = tally or CounterChanges()
        self._cards: dict[str, Counters] = {}
        self._members: dict[str, dict[str, Any]] = {}
        self._accounts: dict[str, LedgerAccount] = {}
        self._entries: dict[tuple[str, int], int] = {}
        self._transactions: list[tuple[LedgerAccount, Transaction]] = []

    def hold(self, account: LedgerAccount, amount: int, **members: Any) -> None:
        """Hold ``amount`` on the account. A negative amount releases a hold. ``members`` of the account are set in the
        same write.
        """
        self._members.setdefault(account.owner, {}).update(members)
        self._enter(account, "held", amount, PENDING)

    def reserve(self, account: LedgerAccount, amount: int) -> None:
        """Reserve ``amount`` until a dispute is resolved. A negative amount releases the reservation."""
        self._enter(account, "reserved", amount, DISPUTED)

    def book(self, account: LedgerAccount, amount: int, against: str) -> None:
        """Credit the account with ``amount``, or debit a negative amount, against the book ``against``."""
        self._enter(account, "settled", amount, against)

    def exchange(self, currency: int, amount: int, against: str) -> None:
        """Exchange an amount booked against ``CONVERSION`` for ``amount`` in another currency.

        A positive amount is credited to the book ``against``, and a negative amount is debited.
        """
        self.add_entry(CONVERSION, currency, -amount)
        self.add_entry(against, currency, amount)

    def list_by_card(self, *cards: Counters) -> None:
        """Append the movement's transactions to the lists of these cards."""
        for counters in cards:
            self._cards[counters.owner] = counters
            self.at = max(self.at, self.tally.current(counters).last_at + 1)

    def list_transaction(self, account: LedgerAccount, transaction: Transaction) -> None:
        """Add a transaction to the account's list."""
        self._accounts[account.owner] = account
        self._transactions.append((account, transaction))

    def account_after(self, account: A) -> A:
        """Return the account with its balances after the movement."""
        owner, currency = account.owner, account.currency
        recorded = max(self.at, account.last_at + 1)
        return replace(
            account,
            **{name: getattr(account, name) + self._entries.get((f"{owner}:{name}", currency), 0) for name in BALANCES},
            movements=account.movements + 1,
            last_at=recorded,
            updated_at=max(recorded // 1000, account.updated_at),
        )

    def operations(self) -> list[Operation]:
        """Return the movement's write operations, which fail if any of the accounts was changed concurrently. Raises:
        Unbalanced.
        """
        entries = [Entry(book, currency, amount) for (book, currency), amount in self._entries.items() if amount]
        if left := imbalance(entries):
            raise Unbalanced(f"{self._head['cause']}: {left}")
        written: list[Operation] = []
        for account in self._accounts.values():
            after = self.account_after(account)
            members = self._members.get(account.owner, {}) | {name: getattr(after, name) for name in _MOVED}
            row: Item = {
                **movement_key(after.owner, after.movements)[1],
                **self._head,
                "at": after.last_at,
                "entries": [[entry.book, entry.currency, entry.amount] for entry in entries],
                **{name: getattr(after, name) for name in BALANCES},
                "written_by": self._write_id,
            }
            written += [account.update(self._write_id, **members), Put(TABLE, row, absent("owner"))]
        for account, transaction in self._transactions:
            at = self.account_after(account).last_at
            by_card = transaction.card_id is not None
            if by_card:
                self.tally.note_listing(self._cards[f"card#{transaction.card_id}"], at)
            written += put_transaction(transaction, account, at, self._write_id, by_card=by_card)
        return [*written, *self.tally.operations(self._write_id)]

    def _enter(self, account: LedgerAccount, balance: Balance, amount: int, against: str) -> None:
        """Add an amount to a balance of the account, and add the counter-entry to the book ``against``."""
        self._accounts[account.owner] = account
        self.add_entry(f"{account.owner}:{balance}", account.currency, amount)
        self.add_entry(against, account.currency, -amount)

    def add_entry(self, book: str, currency: int, amount: int) -> None:
        place = (book, currency)
        self._entries[place] = self._entries.get(place, 0) + amount


def imbalance(entries: Sequence[Entry]) -> dict[int, int]:
    """Return the non-zero sums of the entries by currency. The result is empty if the entries are balanced."""
    sums: dict[int, int] = {}
    for entry in entries:
        sums[entry.currency] = sums.get(entry.currency, 0) + entry.amount
    return {currency: left for currency, left in sums.items() if left}


def entries_of(row: Item) -> list[Entry]:
    return [Entry(*each) for each in row["entries"]]


def balance_before(read: Callable[[Sequence[Key]], list[Item | None]], account: LedgerAccount, at: int) -> int:
    """Return the settled balance before the first movement at or after ``at`` (Unix milliseconds).

    Row times increase with row numbers, so each read of ``AT_ONCE`` rows reduces the range to a hundredth. Two reads
    suffice for 10,000 movements, and three for a million.
    """
    first, last, balance = 1, account.movements, 0
    while first <= last:
        step = max(1, -(-(last - first + 1) // AT_ONCE))
        numbers = [*range(first, last + 1, step)][:AT_ONCE]
        rows = read([movement_key(account.owner, number) for number in numbers])
        earlier = [(number, row) for number, row in zip(numbers, rows, strict=True) if row and row["at"] < at]
        if not earlier:
            return balance
        found, row = earlier[-1]
        balance = row["settled"]
        first, last = found + 1, min(last, found + step - 1)
    return balance
