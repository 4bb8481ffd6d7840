"""Bulk orders and card actions execute a limited number of statements."""

import pytest

from tests.bench.json_overhead import PAYMENTS, bulk_order, card_action
from tests.cards.issuer import Issuer
from tests.causeway import Causeway
from tests.kit.time import count_statements

STATEMENTS_PER_PAYMENT = 200
MOST_STATEMENTS = {"getAccounts": 700, "createCard": 1800}


@pytest.mark.parametrize("version", [1, 2])
def test_validating_a_bulk_order_executes_a_limited_number_of_statements_per_payment(version: int) -> None:
    _, read = bulk_order(version)
    read()

    few, many = (count_statements(bulk_order(version, count)[1]) / count for count in (10, PAYMENTS))

    assert many <= few
    assert many <= STATEMENTS_PER_PAYMENT


@pytest.mark.parametrize(("action", "most"), MOST_STATEMENTS.items())
def test_validating_and_serialising_a_card_action_executes_a_limited_number_of_statements(
    causeway: Causeway, action: str, most: int
) -> None:
    with card_action(Issuer(causeway), action) as (_, answer):
        answer()
        assert count_statements(answer) <= most
