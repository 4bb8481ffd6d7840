"""Verifies the whole ledger while the service runs: accounts, rows, transactions, and reserved amounts.

Rows are read in pages, and only a few accounts are read in parallel, so that the service has enough read capacity.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from itertools import chain
from math import inf

from chalicelib.cards.authorization.authorization_record import DUE, NOT_DUE, Authorization, Dispute
from chalicelib.cards.issuing.card_record import Card
from chalicelib.cards.ledger.account_record import Account, special_account_key
from chalicelib.cards.ledger.entries import BALANCES
from chalicelib.cards.ledger.transaction_record import TABLE as LEDGER
from chalicelib.cards.payments.payment_record import ExternalPayment
from chalicelib.cards.protocol.states import HELD
from chalicelib.cards.protocol.values import OF_HOLDER
from chalicelib.cards.reconciliation.account_proof import KINDS, account_key, batches, prove_account
from chalicelib.cards.reconciliation.ledger_proof import (
    AccountProof,
    Books,
    LedgerMismatch,
    SharedMovements,
    describe_owner,
)
from chalicelib.cards.reconciliation.reservations import AUTHORIZATION, DISPUTE, PAYMENT, ReservedAmount
from chalicelib.cards.reconciliation.rolling_proof import find_missing
from chalicelib.cards.storage.record import TABLE as CARDS
from chalicelib.foundation.dynamodb.store import Item, Store
from chalicelib.foundation.parallel import pieces, together
from chalicelib.foundation.requests.facts import Key
from infra.progress import SILENT, Progress

SENDINGS = 6
"""Maximum attempts at each read."""
AT_ONCE = 4
"""Number of accounts that are read in parallel."""
READ_TOGETHER = 100
READS_AT_ONCE = 4
"""Number of parallel batch reads that check references to transactions."""


@dataclass
class ProofTotals:
    """Totals of a verification: accounts, rows and transactions, and balances by book and currency.

    Balances of the accounts' own books are totalled by kind of account, for example ``("account:settled", 978)``.
    ``left_out`` counts shared movements that were not compared because too many movements were open at the same time.
    """

    accounts: dict[str, int] = field(default_factory=lambda: dict.fromkeys(KINDS, 0))
    rows: int = 0
    transactions: int = 0
    books: Books = field(default_factory=dict)
    left_out: int = 0

    def add(self, fold: AccountProof) -> None:
        kind = fold.owner.partition("#")[0]
        own = {(f"{kind}:{name}", fold.currency): fold.balances[name] for name in BALANCES}
        for place, amount in (own | fold.books).items():
            self.books[place] = self.books.get(place, 0) + amount
        self.accounts[kind] += 1
        self.rows += fold.rows
        self.transactions += fold.transactions


@contextmanager
def retry_reads(store: Store) -> Iterator[None]:
    """Increase the number of read attempts, so that one failed read does not abort a long verification."""
    before = store.read_sendings, store.patience
    store.read_sendings, store.patience = SENDINGS, inf
    try:
        yield
    finally:
        store.read_sendings, store.patience = before


def prove_ledger(store: Store, progress: Progress = SILENT) -> ProofTotals:
    """Verify the whole ledger. Raises: LedgerMismatch, at the first mismatch."""
    proven, shared = ProofTotals(), SharedMovements()
    noted, wrong = claims_by_account(store, progress)
    _raise_first(wrong)
    accounts = (item for item in store.scan(CARDS) if item["part"] in KINDS)
    for batch in batches(accounts, AT_ONCE):
        folds = together([partial(prove_account, store, item, noted.get(item["owner"], ()), shared) for item in batch])
        for fold in folds:
            proven.add(fold)
            noted.pop(fold.owner, None)
        progress.report(f"accounts {sum(proven.accounts.values()):,}, rows {proven.rows:,}")
    _raise_first(_without_account(noted))
    progress.report("movements shared by several accounts")
    _raise_first(find_missing(store, shared, lambda: True))
    find_dangling_refs(store, progress)
    proven.left_out = shared.left_out
    return proven


def find_all(store: Store, progress: Progress = SILENT) -> Iterator[LedgerMismatch]:
    """Yield the findings in the ledger: the first mismatch in each account's rows, and mismatches across accounts."""
    shared = SharedMovements()
    noted, wrong = claims_by_account(store, progress)
    yield from wrong
    for item in progress.count((item for item in store.scan(CARDS) if item["part"] in KINDS), "accounts"):
        try:
            prove_account(store, item, noted.pop(item["owner"], ()), shared)
        except LedgerMismatch as broken:
            yield broken
    yield from _without_account(noted)
    yield from find_missing(store, shared, lambda: True)
    try:
        find_dangling_refs(store, progress)
    except LedgerMismatch as broken:
        yield broken


def prove_single_account(store: Store, key: Key) -> AccountProof | None:
    """Verify one account and its shared movements. Returns ``None`` if the account does not exist.

    Raises: LedgerMismatch.
    """
    item, shared = store.get(*key), SharedMovements()
    if item is None:
        return None
    fold = prove_account(store, item, (), shared)
    _raise_first(find_missing(store, shared, lambda: True))
    return fold


def _without_account(noted: Mapping[str, Sequence[ReservedAmount]]) -> Iterator[LedgerMismatch]:
    for owner, claims in noted.items():
        yield LedgerMismatch(owner, f"there is no such account, but {claims[0]} {claims[0].verb} money on it")


def _raise_first(mismatches: Iterable[LedgerMismatch]) -> None:
    for broken in mismatches:
        raise broken


@dataclass(frozen=True, slots=True)
class _Reference:
    """A reference from a record to ``key``. ``members`` must be in the target. ``problem`` is reported if the target is
    missing.
    """

    owner: str
    problem: str
    key: Key
    members: Item = field(default_factory=dict)

    def is_met_by(self, found: Item | None) -> bool:
        return found is not None and self.members.items() <= found.items()


def find_dangling_refs(store: Store, progress: Progress = SILENT) -> None:
    """Find ids and card list entries that refer to no transaction, and rows that belong to no account.

    Raises: LedgerMismatch, at the first mismatch.
    """
    for batch in batches(_references(store, progress), READ_TOGETHER * READS_AT_ONCE):
        keys = pieces([lead.key for lead in batch], READ_TOGETHER)
        read = together([partial(store.batch_get, piece) for piece in keys])
        for lead, found in zip(batch, chain.from_iterable(read), strict=True):
            if not lead.is_met_by(found):
                raise LedgerMismatch(lead.owner, lead.problem)


def _references(store: Store, progress: Progress) -> Iterator[_Reference]:
    before = ""
    for item in progress.count(store.scan(LEDGER), "transaction ids and card lists: records"):
        owner, part = item["owner"], item["part"]
        kind = owner.partition("#")[0]
        if kind == "transaction":
            key = {"owner": item["account"], "part": item["part_of_account"]}
            yield _Reference(
                item["account"], f"it has no {describe_owner(owner)}, but an id refers to it", (LEDGER, key)
            )
        elif kind == Card.kind and "transaction#" in part:
            yield _reference_of_card_list(item)
        elif kind in KINDS and part.startswith(("movement#", "transaction#")) and owner != before:
            before = owner  # a scan returns an account's items consecutively
            yield _Reference(owner, "it has rows, but there is no such account", account_key(owner))


def _reference_of_card_list(item: Item) -> _Reference:
    owner = item["owner"]
    listed, _, place = item["part"].rpartition("transaction#")
    account = listed.removesuffix("#") or item["account"]
    key = {"owner": account, "part": f"transaction#{place}"}
    problem = f"it has no transaction {item['id']} of {describe_owner(owner)}, although the card lists it"
    return _Reference(account, problem, (LEDGER, key), {"card_id": int(owner.partition("#")[2])})


def claims_by_account(
    store: Store, progress: Progress = SILENT
) -> tuple[dict[str, list[ReservedAmount]], list[LedgerMismatch]]:
    """Return all reserved amounts by account, and the authorizations whose held amount or scheduled expiry contradicts
    their state.
    """
    found, wrong = dict[str, list[ReservedAmount]](), list[LedgerMismatch]()
    for item in progress.count(store.scan(ExternalPayment.table), "records of external payments"):
        if item["part"] == ExternalPayment.kind and item.get("held"):
            claim = ReservedAmount(PAYMENT, item["id"])
            found.setdefault(_owner_of(_key_of_payer(item)), []).append(claim)
    for item in progress.count(store.scan(Authorization.table), "records of card activity"):
        if item["part"] == Authorization.kind and "state" in item:  # items of later messages only refer to it
            wrong += _check_due(item)
            claim, is_claiming = ReservedAmount(AUTHORIZATION, item["id"]), bool(item["held"])
        elif item["part"] == Dispute.kind:
            claim = ReservedAmount(DISPUTE, item["transaction_id"])
            is_claiming = claim.amount(item) > 0
        else:
            continue
        if is_claiming:
            found.setdefault(_owner_of(Account.key(item["account_id"])), []).append(claim)
    return found, wrong


def _check_due(authorization: Item) -> Iterator[LedgerMismatch]:
    number, is_held = authorization["id"], authorization["state"] == HELD
    owner = _owner_of(Account.key(authorization["account_id"]))
    in_index = {name: authorization[name] for name in NOT_DUE if name in authorization}
    if not is_held and (authorization["left"] or authorization["held"]):
        yield LedgerMismatch(owner, f"authorization {number} has ended, but still holds money")
    elif not is_held and in_index:
        yield LedgerMismatch(owner, f"authorization {number} has ended, but is due to expire")
    elif is_held and not (in_index.keys() == NOT_DUE.keys() and DUE.entry(str(number)).items() <= in_index.items()):
        yield LedgerMismatch(owner, f"authorization {number} is held, but will never expire")


def _owner_of(key: Key) -> str:
    return str(key[1]["owner"])


def _key_of_payer(payment: Item) -> Key:
    if payment["account_type"] == OF_HOLDER:
        return Account.key(payment["account_id"])
    return special_account_key(payment["manager_id"], payment["account_id"])
