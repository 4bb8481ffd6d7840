"""The ledger: every movement of money is one set of entries that sum to zero in each currency.

A movement is written in the transaction of what causes it: the balances that it changes, a row for each account with
the whole set and the balances afterwards, and the transactions that it shows as. The balances of an account are the
sum of its rows, always. The other sides of its entries are books without balances of their own, so that no two accounts
ever write the same item.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, get_args

from chalicelib.cards.accounts import LedgerAccount
from chalicelib.cards.money.transactions import TABLE, Transaction, recording
from chalicelib.foundation.store import Item, Operation, Put, absent

Balance = Literal["settled", "held", "reserved"]
BALANCES: tuple[Balance, ...] = get_args(Balance)

EXTERNAL, FEES, CONVERSION = "external", "fees", "conversion"
"""The other side of payments, of fees and of exchanges."""
OTHER_SIDE: dict[Balance, str] = {"held": "pending", "reserved": "disputed"}
"""The books that what is held, and what is reserved, stand against."""


class Unbalanced(Exception):
    """A movement's entries do not sum to zero: a defect of this service, and nothing is written."""


@dataclass(frozen=True, slots=True)
class Entry:
    """One line: so many minor units of a currency more, or fewer, in a book."""

    book: str
    currency: int
    amount: int


def book_of(account: LedgerAccount, balance: Balance) -> str:
    return f"{account.owner}:{balance}"


class Movement:
    """One movement in the making.

    Args:
        cause: what it is, in words for the operator.
        at: when it is recorded, in Unix milliseconds; later, where an account's last one was later.
        write_id: names the attempt that writes it.
        about: what its rows say besides, for example the payment that it belongs to.
    """

    def __init__(self, cause: str, at: int, write_id: str, **about: Any) -> None:
        self._head: Item = {"movement": write_id, "cause": cause, **about}
        self._at = at
        self._write_id = write_id
        self._accounts: dict[str, LedgerAccount] = {}
        self._entries: dict[tuple[str, int], int] = {}
        self._transactions: list[tuple[LedgerAccount, Transaction]] = []

    def hold(self, account: LedgerAccount, amount: int) -> None:
        """Promise ``amount`` of the account's money to somebody; a negative amount releases it."""
        self._balanced(account, "held", amount)

    def reserve(self, account: LedgerAccount, amount: int) -> None:
        """Set ``amount`` of the account's money apart until a dispute is over; a negative amount gives it back."""
        self._balanced(account, "reserved", amount)

    def book(self, account: LedgerAccount, amount: int, against: str) -> None:
        """Give the account ``amount``, or with a negative one take it, on the other side of the book ``against``."""
        self._enter(account, "settled", amount)
        self._add(against, account.currency, -amount)

    def exchange(self, currency: int, amount: int, against: str) -> None:
        """Have what an account was given or taken against ``CONVERSION`` be ``amount`` of another currency.

        A positive amount goes out to the book ``against``, a negative one comes in from there.
        """
        self._add(CONVERSION, currency, -amount)
        self._add(against, currency, amount)

    def show(self, account: LedgerAccount, transaction: Transaction) -> None:
        """Have the account's list of transactions say so."""
        self._accounts[account.owner] = account
        self._transactions.append((account, transaction))

    def after(self, account: LedgerAccount) -> LedgerAccount:
        """An account as it stands afterwards."""
        changes = {name: self._entries.get((book_of(account, name), account.currency), 0) for name in BALANCES}
        return account.moved(self._at, **changes)

    def operations(self) -> list[Operation]:
        """The writes; they fail if any of the accounts is not as it was read. Raises: Unbalanced."""
        entries = [Entry(book, currency, amount) for (book, currency), amount in self._entries.items() if amount]
        if left := unbalanced(entries):
            raise Unbalanced(f"{self._head['cause']}: {left}")
        written: list[Operation] = []
        for account in self._accounts.values():
            after = self.after(account)
            written += [account.moving(after, self._write_id), Put(TABLE, self._row(after, entries), absent("owner"))]
        for account, transaction in self._transactions:
            written += recording(transaction, account, self.after(account).last_at, self._write_id)
        return written

    # -- inside

    def _row(self, after: LedgerAccount, entries: Sequence[Entry]) -> Item:
        return {
            "owner": after.owner,
            "part": f"movement#{after.movements:012}",
            **self._head,
            "at": after.last_at,
            "entries": [[entry.book, entry.currency, entry.amount] for entry in entries],
            **{name: getattr(after, name) for name in BALANCES},
            "written_by": self._write_id,
        }

    def _balanced(self, account: LedgerAccount, balance: Balance, amount: int) -> None:
        self._enter(account, balance, amount)
        self._add(OTHER_SIDE[balance], account.currency, -amount)

    def _enter(self, account: LedgerAccount, balance: Balance, amount: int) -> None:
        self._accounts[account.owner] = account
        self._add(book_of(account, balance), account.currency, amount)

    def _add(self, book: str, currency: int, amount: int) -> None:
        place = (book, currency)
        self._entries[place] = self._entries.get(place, 0) + amount


def unbalanced(entries: Sequence[Entry]) -> dict[int, int]:
    """What is left over in each currency; nothing, if every currency's entries sum to zero."""
    sums: dict[int, int] = {}
    for entry in entries:
        sums[entry.currency] = sums.get(entry.currency, 0) + entry.amount
    return {currency: left for currency, left in sums.items() if left}


def entries_of(row: Item) -> list[Entry]:
    """The entries of a row of the ledger."""
    return [Entry(*each) for each in row["entries"]]
