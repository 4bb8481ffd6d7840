"""The proof of one account, while the service goes on.

The account is read first and then its rows, up to the number that it counted: what is written meanwhile comes after
them.
"""

from __future__ import annotations

from collections.abc import Sequence

from chalicelib.cards.issuing.account_record import Account
from chalicelib.cards.payments.special_account_record import SpecialAccount
from chalicelib.cards.reconciliation import reservation_records
from chalicelib.cards.reconciliation.ledger_proof import Broken, Fold, Shared
from chalicelib.cards.reconciliation.ledger_reader import Reading
from chalicelib.cards.reconciliation.reservations import Claim, mismatched
from chalicelib.foundation.dynamodb.store import Item, Store

KINDS = (Account.kind, SpecialAccount.kind)
"""The kinds of accounts; an account's part is its kind."""
LOOKS = 3
"""So often an account is looked at anew before it is called broken: a page may not show yet what is just written."""


def prove_account(store: Store, account: Item, noted: Sequence[Claim], shared: Shared) -> Fold:
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
    records = reservation_records.records_of(store, {*fold.claims, *noted})
    wrong = mismatched(fold.claims, records)
    if wrong:  # what was changed after the account was read is in its next rows
        reading.go_on()
    reservation_records.compare(fold, {claim: records[claim] for claim in wrong})
    return fold
