"""Tests of payment statuses: final statuses, and statuses of executed payments."""

import pytest

from causeway._final_statuses import FINAL_V1, FINAL_V2
from causeway.tpp._statuses import PAID_V1, PAID_V2
from chalicelib.openbanking.protocol.payment_statuses import CODES, NUMBERS, Status, Statuses


@pytest.mark.parametrize(
    ("statuses", "final", "paid"),
    [(NUMBERS, FINAL_V1, PAID_V1), (CODES, FINAL_V2, PAID_V2)],
    ids=["version 1", "version 2"],
)
def test_the_hub_and_sdk_agree_on_final_and_executed_statuses(
    statuses: Statuses, final: frozenset[Status], paid: set[Status]
) -> None:
    assert {status for status in statuses.meanings if statuses.is_final(status)} == final
    assert {status for status in statuses.meanings if statuses.is_executed(status)} == paid


@pytest.mark.parametrize("status", [None, True, "", "NONE", 9, "<b>"])
def test_an_unknown_status_is_not_final(status: object) -> None:
    assert not NUMBERS.is_final(status)
    assert not CODES.is_final(status)
