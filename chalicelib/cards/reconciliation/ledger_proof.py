"""The ledger check. An account must equal the sum of its rows, and rows, transactions and accounts must be consistent.

This module does not read storage. Callers pass the rows of an account in order, each with its transactions. An
inconsistency raises ``LedgerMismatch``.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from decimal import Decimal

from chalicelib.cards.ledger import entries as ledger
from chalicelib.cards.ledger.transaction_record import timeline
from chalicelib.cards.protocol.values import RETURNS
from chalicelib.cards.reconciliation.reservations import VERBS, ReservedAmount, reserved_amount
from chalicelib.foundation.dynamodb.store import Item
from chalicelib.foundation.fields import registries
from chalicelib.foundation.identifiers import digest
from chalicelib.foundation.lazy_dataclasses import dataclass
from chalicelib.foundation.requests.facts import Key

COMMON = (ledger.EXTERNAL, ledger.NETWORK, ledger.FEES, ledger.CONVERSION, ledger.PENDING, ledger.DISPUTED)
"""The books that do not belong to an account."""
_MEMBERS = {"movement", "cause", "at", "entries", "written_by", *ledger.BALANCES}
_AT_ITS_ID = (
    *("at", "holder_amount", "transaction_type", "mti"),
    *("account_id", "card_id", "authorization_id", "trans_link", "written_by"),
)
"""The members that are copied to the item with the transaction's id."""
Books = dict[tuple[str, int], int]
"""The books' amounts, by name and currency."""


class LedgerMismatch(Exception):
    """The ledger is inconsistent. The message describes the place and the cause.

    Attributes:
        owner: the owner of the rows, for example ``account#17``.
        problem: the contradiction.
        row: the number of the row, if any.
    """

    def __init__(self, owner: str, problem: str, row: Item | None = None) -> None:
        self.owner = owner
        self.problem = problem
        self.row = number_of(row) if row else None
        place = f", row {self.row} ({row['cause']}, {format_time(row['at'])})" if row else ""
        super().__init__(f"{describe_owner(owner)}{place}: {problem}")


class AccountProof:
    """An account's rows in order, and their sums.

    Attributes:
        balances: the sums of the account's own books.
        claims: current held and reserved amounts by cause.
        books: amounts in the common books. A movement of several accounts is counted for only one of the accounts.
        rows: the number of rows.
        transactions: the number of transactions.
        last_at: the last row's time in Unix milliseconds.
    """

    def __init__(self, owner: str, currency: int) -> None:
        self.owner = owner
        self.currency = currency
        self.balances: dict[ledger.Balance, int] = dict.fromkeys(ledger.BALANCES, 0)
        self.claims: dict[ReservedAmount, int] = {}
        self.books: Books = {}
        self.rows = 0
        self.transactions = 0
        self.last_at = 0

    def add_row(self, row: Item, shown: Sequence[Item]) -> None:
        """Add the next row, with its transactions from ``pair_rows``. Raises: LedgerMismatch."""
        number = number_of(row)
        if lost := _MEMBERS - row.keys():
            raise self._mismatch(f"row {number} has no {', '.join(sorted(lost))}")
        if number != self.rows + 1:
            raise self._mismatch(f"row {self.rows + 1} before it is missing", row)
        if row["at"] <= self.last_at:
            raise self._mismatch(f"it is not later than the previous row, dated {format_time(self.last_at)}", row)
        entries = ledger.entries_of(row)
        if left := ledger.imbalance(entries):
            amounts = ", ".join(format_amount(amount, currency) for currency, amount in left.items())
            raise self._mismatch(f"its entries sum to {amounts}, not to zero", row)
        changes = self._balance_changes(row, entries)
        for name in ledger.BALANCES:
            self.balances[name] += changes[name]
            if row[name] != self.balances[name]:
                self._fail(
                    row, f"the {name} balance after it", row[name], "but the rows add up to", self.balances[name]
                )
        for balance in VERBS:
            self._apply_claim(row, balance, changes[balance])
        self._check_transactions(row, changes["settled"], shown)
        self._count_books(entries)
        self.rows, self.last_at = number, row["at"]
        self.transactions += len(shown)

    def compare(self, account: Item) -> None:
        """Compare the account's item with the sum of its rows. Raises: LedgerMismatch."""
        if account["movements"] != self.rows:
            raise self._mismatch(f"its row count is {account['movements']}, but it has {self.rows} rows")
        for name, amount in self.balances.items():
            if account[name] != amount:
                said, summed = format_amount(account[name], self.currency), format_amount(amount, self.currency)
                raise self._mismatch(f"its {name} balance is {said}, but its {self.rows} rows add up to {summed}")
        if account["last_at"] != self.last_at:
            noted, last = format_time(account["last_at"]), format_time(self.last_at)
            raise self._mismatch(f"its last movement is dated {noted}, but its last row is dated {last}")

    def _balance_changes(self, row: Item, entries: Sequence[ledger.Entry]) -> dict[ledger.Balance, int]:
        changes: dict[ledger.Balance, int] = dict.fromkeys(ledger.BALANCES, 0)
        for entry in entries:
            owner, _, name = entry.book.rpartition(":")
            if entry.book not in COMMON and not (owner and name in ledger.BALANCES):
                raise self._mismatch(f"there is no book {entry.book!r}", row)
            if owner != self.owner:
                continue
            if entry.currency != self.currency:
                amount = format_amount(entry.amount, entry.currency)
                raise self._mismatch(f"{amount} is not in the account's currency", row)
            changes[name] += entry.amount  # type: ignore[index]
        return changes

    def _apply_claim(self, row: Item, balance: ledger.Balance, change: int) -> None:
        if not change:
            return
        claim = reserved_amount(row, balance)
        if claim is None:
            raise self._mismatch(
                f"it {VERBS[balance]} {format_amount(change, self.currency)} for no payment, authorization or dispute",
                row,
            )
        left = self.claims.pop(claim, 0) + change
        if left < 0:
            raise self._mismatch(f"it releases {format_amount(-left, self.currency)} more than {claim} {balance}", row)
        if left:
            self.claims[claim] = left

    def _check_transactions(self, row: Item, change: int, shown: Sequence[Item]) -> None:
        for transaction in shown:
            if transaction["at"] != row["at"]:
                raise _without_row(self.owner, transaction)
            if transaction["written_by"] != row["written_by"]:
                raise self._mismatch(f"transaction {transaction['id']} was not written together with it", row)
        if (total := sum(map(_balance_change, shown))) != change:
            self._fail(row, "the booked amount", change, "but its transactions add up to", total)

    def _mismatch(self, problem: str, row: Item | None = None) -> LedgerMismatch:
        return LedgerMismatch(self.owner, problem, row)

    def _fail(self, row: Item, what: str, noted: int, instead: str, found: int) -> None:
        said, summed = format_amount(noted, self.currency), format_amount(found, self.currency)
        raise self._mismatch(f"{what} is {said}, {instead} {summed}", row)

    def _count_books(self, entries: Sequence[ledger.Entry]) -> None:
        if min(owners_of(entries), default=self.owner) != self.owner:
            return
        for entry in entries:
            if entry.book in COMMON:
                place = entry.book, entry.currency
                self.books[place] = self.books.get(place, 0) + entry.amount


def pair_rows(owner: str, rows: Iterable[Item], shown: Iterable[Item]) -> Iterator[tuple[Item, list[Item]]]:
    """Yield each row with the transactions recorded up to its time.

    Raises: LedgerMismatch, if a transaction does not belong to the row or follows the last row.
    """
    waiting = iter(shown)
    transaction = next(waiting, None)
    for row in rows:
        up_to_it = []
        while transaction is not None and transaction["at"] <= row["at"]:
            up_to_it.append(transaction)
            transaction = next(waiting, None)
        yield row, up_to_it
    if transaction is not None:
        raise _without_row(owner, transaction)


def _without_row(owner: str, transaction: Item) -> LedgerMismatch:
    return LedgerMismatch(
        owner, f"transaction {transaction['id']} of {format_time(transaction['at'])} belongs to no row"
    )


def check_pointer(transaction: Item, pointer: Item | None) -> None:
    """Compare a transaction with the item that stores the transaction by its id. Raises: LedgerMismatch."""
    owner = transaction["owner"]
    said = f"the lookup of its transaction {transaction['id']} of {format_time(transaction['at'])} by id"
    if pointer is None:
        raise LedgerMismatch(owner, f"{said} finds nothing")
    leads_elsewhere = (pointer["account"], pointer["part_of_account"]) != (owner, transaction["part"])
    if leads_elsewhere or any(pointer.get(name) != transaction.get(name) for name in _AT_ITS_ID):
        raise LedgerMismatch(owner, f"{said} finds a different transaction")


def copies_of(transaction: Item) -> list[Key]:
    """Return the keys of a transaction's copies in the lists of its card."""
    card, owner = transaction.get("card_id"), transaction["owner"]
    lists = [] if card is None else [timeline(None, card), timeline(owner, card)]
    return [each.key(transaction["at"], transaction["id"]) for each in lists]


def check_copy(transaction: Item, copy: Item | None) -> None:
    """Compare a transaction with its copy in a list of its card. Raises: LedgerMismatch."""
    said = f"its transaction {transaction['id']} of {format_time(transaction['at'])}"
    if copy is None:
        raise LedgerMismatch(transaction["owner"], f"{said} is not in both lists of card {transaction['card_id']}")
    place = {"owner": copy["owner"], "part": copy["part"]}
    if copy != transaction | place:
        raise LedgerMismatch(transaction["owner"], f"{said} is different in the lists of card {transaction['card_id']}")


@dataclass(frozen=True, slots=True)
class SharedRow:
    """A movement of several accounts with rows that were not read. ``row`` is the row of ``owner`` that was read."""

    owner: str
    row: Item
    fingerprint: str
    missing: frozenset[str]


class SharedMovements:
    """Movements of several accounts. All rows of a movement must have the same entries.

    A movement is stored from its first row to its last row. At most ``most`` movements are stored at a time. Further
    movements are only counted, in ``left_out``. The class is thread-safe.
    """

    def __init__(self, most: int = 200_000) -> None:
        self.left_out = 0
        self._most = most
        self._halves: dict[str, SharedRow] = {}
        self._lock = threading.Lock()

    def note(self, owner: str, row: Item) -> None:
        """Record a row of an account. The call can be repeated for the same row. Raises: LedgerMismatch."""
        owners = frozenset(owners_of(ledger.entries_of(row)) | {owner})
        movement = row["movement"]
        if len(owners) == 1 and movement not in self._halves:
            return
        fingerprint = digest(repr(sorted(row["entries"])))
        with self._lock:
            half = self._halves.get(movement)
            if half is None and len(self._halves) >= self._most:
                self.left_out += 1
                return
            if half is not None and half.fingerprint != fingerprint:
                raise LedgerMismatch(
                    owner,
                    f"its entries differ from those of row {number_of(half.row)} of {describe_owner(half.owner)}",
                    row,
                )
            missing = (half.missing if half else owners) - {owner}
            self._halves.pop(movement, None)
            if missing:
                seen = {name: row[name] for name in ("part", "cause", "at")}
                self._halves[movement] = SharedRow(owner, seen, fingerprint, missing)

    def missing_halves(self) -> Mapping[str, Mapping[str, SharedRow]]:
        """Return the movements with unread rows, keyed by the account to which the unread rows belong."""
        found: dict[str, dict[str, SharedRow]] = {}
        for movement, half in self._halves.items():
            for owner in half.missing:
                found.setdefault(owner, {})[movement] = half
        return found


def owners_of(entries: Iterable[ledger.Entry]) -> set[str]:
    """Return the accounts in a row's entries."""
    return {entry.book.rpartition(":")[0] for entry in entries} - {""}


def number_of(row: Item) -> int:
    """Return the number of a row within its account, starting at 1."""
    return int(row["part"].partition("#")[2])


def describe_owner(owner: str) -> str:
    """Describe an account as text, for example ``account 17`` or ``special account 1.801``."""
    kind, _, number = owner.partition("#")
    return f"{kind.replace('_', ' ')} {number}"


def format_time(milliseconds: int) -> str:
    """Format Unix milliseconds as ISO 8601."""
    return datetime.fromtimestamp(milliseconds / 1000, UTC).isoformat(timespec="milliseconds")


def format_amount(amount: int, currency: int) -> str:
    """Format an amount in minor units as readable text."""
    decimals = registries.minor_units().get(currency, 0)
    name = registries.currency_numbers().get(currency, f"of currency {currency}")
    return f"{Decimal(amount).scaleb(-decimals):,.{decimals}f} {name}"


def _balance_change(transaction: Item) -> int:
    """Return the amount by which a transaction changes the settled balance.

    The amount includes a conversion fee that is not part of the transaction's amount.
    """
    amount = transaction["holder_amount"] * (-1 if transaction["direction"] == "debit" else 1)
    beside = 0 if transaction["conversion_fee_blended"] else transaction["conversion_fee"]
    return int(amount + (beside if transaction["transaction_type"] in RETURNS else -beside))
