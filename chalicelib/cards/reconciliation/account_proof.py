"""The proof of one account, while the service goes on.

The account is read first and then its rows, up to the number that it counted: what is written meanwhile comes after
them. What the records of payments, authorizations and disputes claim is compared with the rows.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from chalicelib.cards.authorization.authorization_record import Authorization
from chalicelib.cards.authorization.dispute_record import Dispute
from chalicelib.cards.issuing.account_record import Account
from chalicelib.cards.payments.payment_record import ExternalPayment
from chalicelib.cards.payments.special_account_record import SpecialAccount
from chalicelib.cards.reconciliation.ledger_proof import AccountProof, LedgerMismatch, SharedMovements, format_amount
from chalicelib.cards.reconciliation.ledger_reader import LedgerReader
from chalicelib.cards.reconciliation.reservations import (
    AUTHORIZATION,
    DISPUTE,
    PAYMENT,
    ReservedAmount,
    find_mismatches,
)
from chalicelib.cards.storage.record import Record
from chalicelib.foundation.dynamodb.store import Item, Store
from chalicelib.foundation.parallel import pieces

KINDS = (Account.kind, SpecialAccount.kind)
"""The kinds of accounts; an account's part is its kind."""
LOOKS = 3
"""So often an account is looked at anew before it is called broken: a page may not show yet what is just written."""
READ_TOGETHER = 100
_RECORDS: Mapping[str, type[Record]] = {PAYMENT: ExternalPayment, AUTHORIZATION: Authorization, DISPUTE: Dispute}
"""What claims money; disputes stand under the numbers of their transactions."""


def prove_account(
    store: Store, account: Item, noted: Sequence[ReservedAmount], shared: SharedMovements
) -> AccountProof:
    """Prove one account; ``noted`` is what claimed money of it before. Raises: Broken."""
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
    reading = LedgerReader(store, fold, shared)
    reading.read()
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
    """The records of claims."""
    found: dict[ReservedAmount, Item | None] = {}
    for piece in pieces(sorted(claims), READ_TOGETHER):
        keys = [_RECORDS[claim.kind].key(claim.number) for claim in piece]
        found |= zip(piece, store.batch_get(keys), strict=True)
    return found


def _compare_reservations(fold: AccountProof, records: Mapping[ReservedAmount, Item | None]) -> None:
    """Hold the records of claims against the rows of their account. Raises: Broken."""
    for claim in find_mismatches(fold.claims, records):
        verb, record = claim.verb, records[claim]
        by_rows = format_amount(fold.claims.get(claim, 0), fold.currency)
        said = f"{verb} {format_amount(claim.amount(record), fold.currency)}" if record else "is not there"
        raise LedgerMismatch(fold.owner, f"its rows {verb.removesuffix('s')} {by_rows} for {claim}, which {said}")
