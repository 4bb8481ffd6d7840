"""What the records of payments, authorizations and disputes claim, held against the rows of an account."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from chalicelib.cards.authorization.authorization_record import Authorization
from chalicelib.cards.authorization.dispute_record import Dispute
from chalicelib.cards.payments.payment_record import ExternalPayment
from chalicelib.cards.reconciliation.ledger_proof import Broken, Fold, money
from chalicelib.cards.reconciliation.reservations import AUTHORIZATION, DISPUTE, PAYMENT, Claim, mismatched
from chalicelib.cards.storage.record import Record
from chalicelib.foundation.dynamodb.store import Item, Store
from chalicelib.foundation.parallel import pieces

READ_TOGETHER = 100
_RECORDS: Mapping[str, type[Record]] = {PAYMENT: ExternalPayment, AUTHORIZATION: Authorization, DISPUTE: Dispute}
"""What claims money; disputes stand under the numbers of their transactions."""


def records_of(store: Store, claims: Iterable[Claim]) -> dict[Claim, Item | None]:
    """The records of claims."""
    found: dict[Claim, Item | None] = {}
    for piece in pieces(sorted(claims), READ_TOGETHER):
        keys = [_RECORDS[claim.kind].key(claim.number) for claim in piece]
        found |= zip(piece, store.batch_get(keys), strict=True)
    return found


def compare(fold: Fold, records: Mapping[Claim, Item | None]) -> None:
    """Hold the records of claims against the rows of their account. Raises: Broken."""
    for claim in mismatched(fold.claims, records):
        verb, record = claim.verb, records[claim]
        by_rows = money(fold.claims.get(claim, 0), fold.currency)
        said = f"{verb} {money(claim.amount(record), fold.currency)}" if record else "is not there"
        raise Broken(fold.owner, f"its rows {verb.removesuffix('s')} {by_rows} for {claim}, which {said}")
