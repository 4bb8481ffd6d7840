"""A page of a report takes the same calls of DynamoDB however long its list is."""

from __future__ import annotations

from tests.bench.reports import Reports, compared
from tests.world import World

LOOK, QUERY = "BatchGetItem", "Query"
OF_ONE, OF_ALL = {LOOK: 1, QUERY: 1}, {LOOK: 1, QUERY: 16}


def test_a_page_takes_the_same_calls_from_a_short_list_and_from_a_long_one(world: World) -> None:
    pages = compared(Reports(world.hub, world.card_credentials), sizes=(100, 1000), rounds=1)

    assert {name: [page.calls for page in each] for name, each in pages.items()} == {
        "getCardsActivity": [OF_ONE, OF_ONE],
        "getCardsActivity of all cards": [OF_ALL, OF_ALL],
        "getFinancialAuthorizes": [OF_ONE, OF_ONE],
        "getTransactions": [OF_ONE, OF_ONE],
        "getFinancialDetailAddendums": [OF_ALL, OF_ALL],
    }
