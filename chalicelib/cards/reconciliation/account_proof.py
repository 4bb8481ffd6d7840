"""The ledger check of one account while the service is running.

The account is read first, then the rows included in its row count. Later rows are ignored. The amounts that payments,
authorizations and disputes hold or reserve are compared with the rows.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import field
from itertools import islice
from typing import Self, TypeVar

from chalicelib.cards.authorization.authorization_record import Authorization, Dispute
from chalicelib.cards.ledger.account_record import Account, SpecialAccount
from chalicelib.cards.ledger.transaction_record import TABLE as LEDGER
from chalicelib.cards.ledger.transaction_record import transaction_key
from chalicelib.cards.payments.payment_record import ExternalPayment
from chalicelib.cards.reconciliation.ledger_proof import (
    AccountProof,
    LedgerMismatch,
    SharedMovements,
    check_copy,
    check_pointer,
    copies_of,
    format_amount,
    number_of,
    pair_rows,
)
from chalicelib.cards.reconciliation.reservations import (
    AUTHORIZATION,
    DISPUTE,
    PAYMENT,
    ReservedAmount,
    find_mismatches,
)
from chalicelib.cards.storage.record import TABLE as CARDS
from chalicelib.cards.storage.record import Record
from chalicelib.foundation.dynamodb.store import Item, Store
from chalicelib.foundation.lazy_dataclasses import dataclass
from chalicelib.foundation.parallel import pieces
from chalicelib.foundation.requests.facts import Key

T = TypeVar("T")

KINDS = (Account.kind, SpecialAccount.kind)
"""The kinds of accounts. The kind is also the ``part`` of an account's item."""
LOOKS = 3
"""The number of attempts before an account is reported as inconsistent, because a page may lag behind the latest
writes.
"""
READ_TOGETHER = 100
PAGE = 500
TRANSACTIONS_TOGETHER = 33
"""The maximum number of transactions looked up in one call. Each transaction has an item and two rows in its card's
lists.
"""
_RECORDS: Mapping[str, type[Record]] = {PAYMENT: ExternalPayment, AUTHORIZATION: Authorization, DISPUTE: Dispute}
"""The classes of records that hold or reserve money. A dispute's key is the id of the disputed transaction."""


def prove_account(
    store: Store, account: Item, noted: Sequence[ReservedAmount], shared: SharedMovements
) -> AccountProof:
    """Check one account. ``noted`` are held and reserved amounts that were found earlier. Raises: LedgerMismatch."""
    for attempt in range(LOOKS):
        try:
            return _prove_once(store, account, noted, shared)
        except LedgerMismatch:
            if attempt + 1 == LOOKS:
                raise
            store.wait(4)
    raise AssertionError("unreachable")


def _prove_once(store: Store, account: Item, noted: Sequence[ReservedAmount], shared: SharedMovements) -> AccountProof:
    fold = AccountProof(account["owner"], account["currency"])
    reading = LedgerReader(store, fold, shared).read()
    if reading.beyond is not None:  # it was written just now, and then the account counts it by now
        was = fold.rows
        beyond = reading.beyond
        reading.read()
        if fold.rows == was:
            raise LedgerMismatch(fold.owner, beyond)
    records = _read_records(store, {*fold.claims, *noted})
    wrong = find_mismatches(fold.claims, records)
    if wrong:  # what was changed after the account was read is in its next rows
        reading.read()
    _compare_reservations(fold, {claim: records[claim] for claim in wrong})
    return fold


def _read_records(store: Store, claims: Iterable[ReservedAmount]) -> dict[ReservedAmount, Item | None]:
    found: dict[ReservedAmount, Item | None] = {}
    for piece in pieces(sorted(claims), READ_TOGETHER):
        keys = [_RECORDS[claim.kind].key(claim.number) for claim in piece]
        found |= zip(piece, store.batch_get(keys), strict=True)
    return found


def _compare_reservations(fold: AccountProof, records: Mapping[ReservedAmount, Item | None]) -> None:
    for claim in find_mismatches(fold.claims, records):
        verb, record = claim.verb, records[claim]
        by_rows = format_amount(fold.claims.get(claim, 0), fold.currency)
        said = f"{verb} {format_amount(claim.amount(record), fold.currency)}" if record else "is missing"
        raise LedgerMismatch(
            fold.owner, f"its rows {verb.removesuffix('s')} {by_rows} for {claim}, whose record {said}"
        )


@dataclass
class LedgerReader:
    """A reader of an account's rows and transactions, which tracks the position up to which they were read.

    ``beyond`` contains later rows and transactions.
    """

    store: Store
    fold: AccountProof
    shared: SharedMovements
    after: dict[str, Item | None] = field(default_factory=lambda: {"movement#": None, "transaction#": None})
    beyond: str | None = None

    def read(self) -> Self:
        """Read the account and the rows included in its row count, and return ``self``. Raises: LedgerMismatch."""
        item = self.store.get(*account_key(self.fold.owner))
        if item is None:
            raise LedgerMismatch(self.fold.owner, "the account no longer exists")
        account = with_row_count(item)
        self.beyond = None
        for row, shown in pair_rows(self.fold.owner, self._read_rows(account), self._read_transactions(account)):
            self.fold.add_row(row, shown)
            self.shared.note(self.fold.owner, row)
        self.fold.compare(account)
        return self

    def _read_rows(self, account: Item) -> Iterator[Item]:
        for row in self._query_all("movement#"):
            if number_of(row) > account["movements"]:
                self.beyond = f"its row {number_of(row)} is not included in its row count"
                return
            self._mark_read("movement#", row)
            yield row

    def _read_transactions(self, account: Item) -> Iterator[Item]:
        for rows in batches(self._query_all("transaction#"), TRANSACTIONS_TOGETHER):
            known = [row for row in rows if row["at"] <= account["last_at"]]
            self._look_up(known)
            for row in known:
                self._mark_read("transaction#", row)
                yield row
            if len(known) < len(rows):
                self.beyond = f"its transaction {rows[len(known)]['id']} belongs to no row"
                return

    def _look_up(self, transactions: list[Item]) -> None:
        """Compare transactions with their stored copies. Raises: LedgerMismatch."""
        copies = [(row, key) for row in transactions for key in copies_of(row)]
        keys = [*(transaction_key(row["id"]) for row in transactions), *(key for _, key in copies)]
        found = iter(self.store.batch_get(keys) if keys else [])
        for row in transactions:
            check_pointer(row, next(found))
        for row, _ in copies:
            check_copy(row, next(found))

    def _query_all(self, prefix: str) -> Iterator[Item]:
        partition, rows = ("owner", self.fold.owner), ("part", prefix)
        yield from self.store.each(LEDGER, partition, sort_prefix=rows, after=self.after[prefix], limit=PAGE)

    def _mark_read(self, prefix: str, row: Item) -> None:
        self.after[prefix] = {"owner": row["owner"], "part": row["part"]}


def latest_first(store: Store, owner: str) -> Iterator[Item]:
    rows = ("part", "movement#")
    yield from store.each(LEDGER, ("owner", owner), sort_prefix=rows, limit=PAGE, newest_first=True)


def account_key(owner: str) -> Key:
    """Return the key of the account to which an owner's rows belong. The key's ``part`` is the account's kind."""
    return CARDS, {"owner": owner, "part": owner.partition("#")[0]}


def with_row_count(account: Item) -> Item:
    """Return an account's item with a row count.

    The row count is 0 for accounts that have not changed since the ledger was introduced.
    """
    return {"movements": 0, "last_at": 0} | account


def batches(whole: Iterable[T], size: int) -> Iterator[list[T]]:
    """Split ``whole`` lazily into lists of ``size``. The last list may be shorter."""
    left = iter(whole)
    return iter(lambda: list(islice(left, size)), [])
