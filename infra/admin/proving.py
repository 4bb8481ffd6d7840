"""Proves the ledger: reads accounts, rows, transactions and payments, while the service goes on.

An account is read first and then its rows, up to the number that it counted: what is written meanwhile comes after
them. Rows come page by page, and a few accounts at the same time.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TypeVar

from chalicelib.cards.accounts import Account
from chalicelib.cards.external.payments import ExternalPayment
from chalicelib.cards.external.special_accounts import SpecialAccount, special_account_key
from chalicelib.cards.money.ledger import BALANCES
from chalicelib.cards.money.proof import (
    Books,
    Broken,
    Fold,
    Shared,
    check_pointer,
    money,
    number_of,
    paired,
    spoken,
    wrongly_held,
)
from chalicelib.cards.money.transactions import TABLE as LEDGER
from chalicelib.cards.money.transactions import transaction_key
from chalicelib.cards.protocol.values import OF_HOLDER
from chalicelib.cards.record import TABLE as CARDS
from chalicelib.cards.record import Key
from chalicelib.foundation.parallel import pieces, together
from chalicelib.foundation.store import Item, Store

T = TypeVar("T")

AT_ONCE = 16
"""So many accounts are read at the same time."""
PAGE = 500
LOOKS = 3
"""So often an account is looked at anew before it is called broken: a page may not show yet what is just written."""
KINDS = (Account.kind, SpecialAccount.kind)
_READ_TOGETHER = 100


@dataclass
class Proven:
    """What was proven: how much there was, and what stands in the books by name and currency.

    The accounts' own books are summed up by kind, as in ``("account:settled", 978)``. ``left_out`` are movements of
    two accounts that were not compared, since too many of them were open at the same time.
    """

    accounts: dict[str, int] = field(default_factory=lambda: dict.fromkeys(KINDS, 0))
    rows: int = 0
    transactions: int = 0
    books: Books = field(default_factory=dict)
    left_out: int = 0

    def add(self, fold: Fold) -> None:
        kind = fold.owner.partition("#")[0]
        own = {(f"{kind}:{name}", fold.currency): fold.balances[name] for name in BALANCES}
        for place, amount in (own | fold.books).items():
            self.books[place] = self.books.get(place, 0) + amount
        self.accounts[kind] += 1
        self.rows += fold.rows
        self.transactions += fold.transactions


def prove(store: Store) -> Proven:
    """Prove the whole ledger. Raises: Broken, with the first thing that does not fit."""
    proven, shared = Proven(), Shared()
    held = _held(store)
    accounts = (item for item in store.scan(CARDS) if item["part"] in KINDS)
    for batch in _batches(accounts, AT_ONCE):
        folds = together([partial(_look, store, item, held.get(item["owner"], ()), shared) for item in batch])
        for fold in folds:
            proven.add(fold)
            held.pop(fold.owner, None)
    for owner, numbers in held.items():
        raise Broken(owner, f"there is no such account, and payment {numbers[0]} holds money of it")
    _find_missing(store, shared)
    _find_strays(store)
    proven.left_out = shared.left_out
    return proven


def prove_one(store: Store, key: Key) -> Fold | None:
    """Prove one account, and that its movements are those of other accounts, too; ``None`` when there is none.

    Raises: Broken.
    """
    item, shared = store.get(*key), Shared()
    if item is None:
        return None
    fold = _look(store, item, (), shared)
    _find_missing(store, shared)
    return fold


# -- one account


@dataclass
class _Reading:
    """How far the rows and the transactions of an account were read; what came after them is ``beyond``."""

    store: Store
    fold: Fold
    shared: Shared
    after: dict[str, Item | None] = field(default_factory=lambda: {"movement#": None, "transaction#": None})
    beyond: str | None = None

    def go_on(self) -> None:
        """Read the account, and the rows that it counts. Raises: Broken."""
        account = _account(self.store, self.fold.owner)
        self.beyond = None
        for row, shown in paired(self.fold.owner, self._rows(account), self._shown(account)):
            self.fold.take(row, shown)
            self.shared.note(self.fold.owner, row)
        self.fold.compare(account)

    def _rows(self, account: Item) -> Iterator[Item]:
        for row in self._all("movement#"):
            if number_of(row) > account["movements"]:
                self.beyond = f"it has row {number_of(row)} that it does not count"
                return
            self._passed("movement#", row)
            yield row

    def _shown(self, account: Item) -> Iterator[Item]:
        for rows in _batches(self._all("transaction#"), _READ_TOGETHER):
            known = [row for row in rows if row["at"] <= account["last_at"]]
            pointers = self.store.batch_get([transaction_key(row["id"]) for row in known]) if known else []
            for row, pointer in zip(known, pointers, strict=True):
                check_pointer(row, pointer)
                self._passed("transaction#", row)
                yield row
            if len(known) < len(rows):
                self.beyond = f"its transaction {rows[len(known)]['id']} belongs to no row"
                return

    def _all(self, prefix: str) -> Iterator[Item]:
        after = self.after[prefix]
        while True:
            owner = ("owner", self.fold.owner)
            page = self.store.query(LEDGER, owner, sort_prefix=("part", prefix), after=after, limit=PAGE)
            yield from page.items
            after = page.next
            if after is None:
                return

    def _passed(self, prefix: str, row: Item) -> None:
        self.after[prefix] = {"owner": row["owner"], "part": row["part"]}


def _look(store: Store, account: Item, noted: Sequence[int], shared: Shared) -> Fold:
    """Prove one account; ``noted`` are payments that held money of it before. Raises: Broken."""
    for attempt in range(LOOKS):
        try:
            return _proven(store, account, noted, shared)
        except Broken:
            if attempt + 1 == LOOKS:
                raise
            store.wait(4)
    raise AssertionError("unreachable")


def _proven(store: Store, account: Item, noted: Sequence[int], shared: Shared) -> Fold:
    fold = Fold(account["owner"], account["currency"])
    reading = _Reading(store, fold, shared)
    reading.go_on()
    if reading.beyond is not None:  # it was written just now, and then the account counts it by now
        was = fold.rows
        beyond = reading.beyond
        reading.go_on()
        if fold.rows == was:
            raise Broken(fold.owner, beyond)
    payments = _payments(store, {*fold.held, *noted})
    wrong = wrongly_held(fold.held, payments)
    if wrong:  # a payment that was finished after the account was read is released in its next rows
        reading.go_on()
        wrong = wrongly_held(fold.held, {number: payments[number] for number in wrong})
    for number in wrong:
        held = money(fold.held.get(number, 0), fold.currency)
        payment = payments[number]
        said = f"holds {money(payment.get('held', 0), fold.currency)}" if payment else "is not there"
        raise Broken(fold.owner, f"its rows hold {held} for payment {number}, which {said}")
    return fold


def _account(store: Store, owner: str) -> Item:
    item = store.get(CARDS, {"owner": owner, "part": owner.partition("#")[0]})
    if item is None:
        raise Broken(owner, "it is not there any more")
    return as_moved(item)


def as_moved(account: Item) -> Item:
    """An account's item; one that was made before there was a ledger, and has not been moved since, counts no rows."""
    return {"movements": 0, "last_at": 0} | account


# -- payments


def _held(store: Store) -> dict[str, list[int]]:
    """The payments that hold money, by the owner of the account."""
    found: dict[str, list[int]] = {}
    for item in store.scan(ExternalPayment.table):
        if item["part"] == ExternalPayment.kind and item.get("held"):
            of_holder = item["account_type"] == OF_HOLDER
            key = Account.key(item["account_id"]) if of_holder else _special_key(item)
            found.setdefault(key[1]["owner"], []).append(item["id"])
    return found


def _special_key(payment: Item) -> Key:
    return special_account_key(payment["manager_id"], payment["account_id"])


def _payments(store: Store, numbers: Iterable[int]) -> dict[int, Item | None]:
    found: dict[int, Item | None] = {}
    for piece in pieces(sorted(numbers), _READ_TOGETHER):
        found |= zip(piece, store.batch_get([ExternalPayment.key(number) for number in piece]), strict=True)
    return found


# -- what one account alone does not show


def _find_missing(store: Store, shared: Shared) -> None:
    """Look for the other rows of movements of several accounts, the latest first. Raises: Broken."""
    for owner, halves in shared.missing().items():
        waiting = set(halves)
        for row in latest_first(store, owner):
            if row["movement"] in waiting:
                shared.note(owner, row)
                waiting.remove(row["movement"])
            if not waiting:
                break
        for movement in waiting:
            half = halves[movement]
            raise Broken(half.owner, f"it moves {spoken(owner)}, too, which has no such row", half.row)


def latest_first(store: Store, owner: str) -> Iterator[Item]:
    """The rows of an account, the latest first."""
    after: Item | None = None
    while True:
        page = store.query(
            LEDGER, ("owner", owner), sort_prefix=("part", "movement#"), after=after, limit=PAGE, newest_first=True
        )
        yield from page.items
        after = page.next
        if after is None:
            return


def _find_strays(store: Store) -> None:
    """Look for ids that lead to no transaction, and for rows of accounts that are not there. Raises: Broken."""
    for batch in _batches(_leads(store), _READ_TOGETHER):
        for (owner, problem, _), found in zip(batch, store.batch_get([key for _, _, key in batch]), strict=True):
            if found is None:
                raise Broken(owner, problem)


def _leads(store: Store) -> Iterator[tuple[str, str, Key]]:
    """What the ledger's items say is elsewhere: whose it is, what it means if it is not there, and where."""
    before = ""
    for item in store.scan(LEDGER):
        owner, part = item["owner"], item["part"]
        kind = owner.partition("#")[0]
        if kind == "transaction":
            key = {"owner": item["account"], "part": item["part_of_account"]}
            yield item["account"], f"it has no {spoken(owner)}, to which an id leads", (LEDGER, key)
        elif kind in KINDS and part.startswith(("movement#", "transaction#")) and owner != before:
            before = owner  # an account's items come one after the other
            yield owner, "it has rows, and there is no such account", (CARDS, {"owner": owner, "part": kind})


def _batches(whole: Iterable[T], size: int) -> Iterator[list[T]]:
    """``whole`` in lists of ``size``, the last one perhaps shorter, without having more than that at hand."""
    batch: list[T] = []
    for each in whole:
        batch.append(each)
        if len(batch) == size:
            yield batch
            batch = []
    if batch:
        yield batch
