"""Checking a bulk order costs the same for each of its payments, however many there are."""

from __future__ import annotations

import pytest

from tests.bench.bulk import ITEMS, reading
from tests.kit.time import count_statements

STATEMENTS_PER_PAYMENT = 200


@pytest.mark.parametrize("version", [1, 2])
def test_checking_a_bulk_order_takes_a_bounded_number_of_statements_per_payment(version: int) -> None:
    few, many = (count_statements(reading(version, count)) / count for count in (10, ITEMS))

    assert many <= few
    assert many <= STATEMENTS_PER_PAYMENT
