"""A page of a report takes the same calls of DynamoDB however long its list is."""

from __future__ import annotations

from tests.bench.reports import Reports, compared
from tests.causeway import Causeway

LOOK, QUERY = "BatchGetItem", "Query"
OF_ONE, OF_ALL = {LOOK: 1, QUERY: 1}, {LOOK: 1, QUERY: 16}


def test_report_pages_take_the_same_calls_for_short_and_long_lists(causeway: Causeway) -> None:
    pages = compared(Reports(causeway.hub, causeway.card_credentials), sizes=(100, 1000), rounds=1)

    assert {name: [page.calls for page in each] for name, each in pages.items()} == {
        "getCardsActivity": [OF_ONE, OF_ONE],
        "getCardsActivity of all cards": [OF_ALL, OF_ALL],
        "getFinancialAuthorizes": [OF_ONE, OF_ONE],
        "getTransactions": [OF_ONE, OF_ONE],
        "getFinancialDetailAddendums": [OF_ALL, OF_ALL],
    }
