"""Proves the whole ledger at once: accounts, rows, transactions, and whatever holds money, while the service goes on.

Rows come page by page, and a few accounts at the same time: the service works on the same tables meanwhile.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial

from chalicelib.cards.ledger.entries import BALANCES
from chalicelib.cards.reconciliation.account_proof import KINDS, prove_account
from chalicelib.cards.reconciliation.counterparts import missing
from chalicelib.cards.reconciliation.ledger_proof import Books, Broken, Fold, Shared
from chalicelib.cards.reconciliation.ledger_reader import batches
from chalicelib.cards.storage.record import TABLE as CARDS
from chalicelib.cards.storage.record import Key
from chalicelib.foundation.dynamodb.store import Store
from chalicelib.foundation.parallel import together
from infra.admin import reserved_funds
from infra.admin.dangling_refs import find_strays
from infra.admin.progress import SILENT, Progress

SENDINGS = 6
"""So often a read is sent before its answer counts as lost."""
AT_ONCE = 4
"""So many accounts are read at the same time."""


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


@contextmanager
def patience(store: Store) -> Iterator[None]:
    """Have reads of a store be sent more often than for a request: one slow answer must not end a proof of minutes."""
    before, store.read_sendings = store.read_sendings, SENDINGS
    try:
        yield
    finally:
        store.read_sendings = before


def prove(store: Store, progress: Progress = SILENT) -> Proven:
    """Prove the whole ledger. Raises: Broken, with the first thing that does not fit."""
    proven, shared = Proven(), Shared()
    noted = reserved_funds.claims_by_account(store, progress)
    accounts = (item for item in store.scan(CARDS) if item["part"] in KINDS)
    for batch in batches(accounts, AT_ONCE):
        folds = together([partial(prove_account, store, item, noted.get(item["owner"], ()), shared) for item in batch])
        for fold in folds:
            proven.add(fold)
            noted.pop(fold.owner, None)
        progress.say(f"accounts {sum(proven.accounts.values()):,}, rows {proven.rows:,}")
    for owner, claims in noted.items():
        raise Broken(owner, f"there is no such account, and {claims[0]} {claims[0].verb} money of it")
    progress.say("movements of several accounts")
    _find_missing(store, shared)
    find_strays(store, progress)
    proven.left_out = shared.left_out
    return proven


def prove_one(store: Store, key: Key) -> Fold | None:
    """Prove one account, and that its movements are those of other accounts, too; ``None`` when there is none.

    Raises: Broken.
    """
    item, shared = store.get(*key), Shared()
    if item is None:
        return None
    fold = prove_account(store, item, (), shared)
    _find_missing(store, shared)
    return fold


def _find_missing(store: Store, shared: Shared) -> None:
    """Look for the other rows of movements of several accounts. Raises: Broken."""
    for broken in missing(store, shared, lambda: True):
        raise broken
