"""Proves the ledger: accounts, rows, transactions, and whatever holds money, while the service goes on.

An account is read first and then its rows, up to the number that it counted: what is written meanwhile comes after
them. Rows come page by page, and a few accounts at the same time.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial

from chalicelib.cards.money.claims import Claim, mismatched
from chalicelib.cards.money.ledger import BALANCES
from chalicelib.cards.money.proof import Books, Broken, Fold, Shared
from chalicelib.cards.record import TABLE as CARDS
from chalicelib.cards.record import Key
from chalicelib.foundation.parallel import together
from chalicelib.foundation.store import Item, Store
from infra.admin import claimed
from infra.admin.ledger_reading import Reading, batches
from infra.admin.strays import KINDS, find_missing, find_strays

AT_ONCE = 16
"""So many accounts are read at the same time."""
LOOKS = 3
"""So often an account is looked at anew before it is called broken: a page may not show yet what is just written."""


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
    noted = claimed.claims_by_account(store)
    accounts = (item for item in store.scan(CARDS) if item["part"] in KINDS)
    for batch in batches(accounts, AT_ONCE):
        folds = together([partial(_look, store, item, noted.get(item["owner"], ()), shared) for item in batch])
        for fold in folds:
            proven.add(fold)
            noted.pop(fold.owner, None)
    for owner, claims in noted.items():
        raise Broken(owner, f"there is no such account, and {claims[0]} {claims[0].verb} money of it")
    find_missing(store, shared)
    find_strays(store)
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
    find_missing(store, shared)
    return fold


def _look(store: Store, account: Item, noted: Sequence[Claim], shared: Shared) -> Fold:
    """Prove one account; ``noted`` is what claimed money of it before. Raises: Broken."""
    for attempt in range(LOOKS):
        try:
            return _proven(store, account, noted, shared)
        except Broken:
            if attempt + 1 == LOOKS:
                raise
            store.wait(4)
    raise AssertionError("unreachable")


def _proven(store: Store, account: Item, noted: Sequence[Claim], shared: Shared) -> Fold:
    fold = Fold(account["owner"], account["currency"])
    reading = Reading(store, fold, shared)
    reading.go_on()
    if reading.beyond is not None:  # it was written just now, and then the account counts it by now
        was = fold.rows
        beyond = reading.beyond
        reading.go_on()
        if fold.rows == was:
            raise Broken(fold.owner, beyond)
    records = claimed.records_of(store, {*fold.claims, *noted})
    wrong = mismatched(fold.claims, records)
    if wrong:  # what was changed after the account was read is in its next rows
        reading.go_on()
    claimed.compare(fold, {claim: records[claim] for claim in wrong})
    return fold
