"""Tests of held and reserved amounts: the records of payments and disputes agree with the ledger rows."""

import pytest

from chalicelib.cards.reconciliation.reservations import (
    AUTHORIZATION,
    DISPUTE,
    PAYMENT,
    ReservedAmount,
    describe_row,
    find_mismatches,
)
from chalicelib.foundation.dynamodb.store import Item


@pytest.mark.parametrize(
    ("kind", "record", "is_wrong"),
    [
        (PAYMENT, {"held": 2_500}, False),
        (PAYMENT, {"held": 2_499}, True),
        (PAYMENT, {}, True),
        (PAYMENT, None, True),
        (AUTHORIZATION, {"held": 2_500}, False),
        (AUTHORIZATION, {"held": 0}, True),
        (AUTHORIZATION, None, True),
        (DISPUTE, {"step": "opened", "amount": 2_500}, False),
        (DISPUTE, {"step": "opened", "amount": 2_501}, True),
        (DISPUTE, {"step": "won", "amount": 2_500}, True),
        (DISPUTE, {"step": "lost", "amount": 2_500}, True),
        (DISPUTE, None, True),
    ],
)
def test_a_held_or_reserved_amount_that_differs_from_the_ledger_rows_is_a_mismatch(
    kind: str, record: Item | None, is_wrong: bool
) -> None:
    claim = ReservedAmount(kind, 5)

    assert find_mismatches({claim: 2_500}, {claim: record}) == ([claim] if is_wrong else [])


@pytest.mark.parametrize(
    ("kind", "record", "is_wrong"),
    [
        (PAYMENT, {"held": 1}, True),
        (PAYMENT, {"held": 0}, False),
        (PAYMENT, {}, False),
        (AUTHORIZATION, {"held": 1}, True),
        (AUTHORIZATION, {"held": 0}, False),
        (DISPUTE, {"step": "opened", "amount": 1}, True),
        (DISPUTE, {"step": "won", "amount": 1}, False),
    ],
)
def test_a_record_with_a_held_or_reserved_amount_but_no_ledger_rows_is_a_mismatch(
    kind: str, record: Item, is_wrong: bool
) -> None:
    claim = ReservedAmount(kind, 5)

    assert find_mismatches({}, {claim: record}) == ([claim] if is_wrong else [])


@pytest.mark.parametrize(
    ("row", "said"),
    [
        ({"epm_transaction_id": 5}, "payment 5"),
        ({"authorization_id": 8}, "authorization 8"),
        ({"authorization_id": 8, "transaction_id": 102}, "authorization 8, dispute of transaction 102"),
        ({"epm_transaction_id": None}, ""),
        ({}, ""),
    ],
)
def test_describe_row_names_the_payment_the_authorization_or_the_dispute_of_a_row(row: Item, said: str) -> None:
    assert describe_row(row) == said
