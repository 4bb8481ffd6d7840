"""No figure of the code's shape gets worse: each has a ceiling, which may only fall."""

from __future__ import annotations

import pytest

from tests.shape.figures import Figure, of_card_authorization, of_relayed_read, read_static
from tests.shape.traced import card_authorization, relayed_read
from tests.world import World

CEILINGS = {
    "store writes in flows": 0,
    "handlers of store errors": 30,
    "idempotency modules": 0,
    "modules that spell the idempotency table": 1,
    "ambient contexts": 6,
    "dataclasses of collaborators only": 44,
    "other classes of collaborators only": 29,
    "factories of collaborators only": 0,
    "lines of openbanking/container.py": 179,
    "statements of chalicelib": 32_306,
    "statements of infra": 15_328,
    "modules over 400 lines": 0,
    "functions over 40 statements": 0,
}
"""The highest value of each figure of the source. Who lowers a figure lowers its ceiling, too."""
CEILINGS_OF_REQUESTS = {
    "relayed read: files": 57,
    "relayed read: switches of file": 132,
    "relayed read: functions": 193,
    "card authorization: files": 69,
    "card authorization: switches of file": 380,
    "card authorization: functions": 325,
}
"""The highest value of each figure of a traced request."""


def test_every_figure_of_the_source_stays_below_its_ceiling(subtests: pytest.Subtests) -> None:
    check(read_static(), CEILINGS, subtests)


def test_every_figure_of_a_request_stays_below_its_ceiling(world: World, subtests: pytest.Subtests) -> None:
    traced = [*of_relayed_read(relayed_read(world)), *of_card_authorization(card_authorization(world))]

    check(traced, CEILINGS_OF_REQUESTS, subtests)


def check(found: list[Figure], ceilings: dict[str, int], subtests: pytest.Subtests) -> None:
    assert [each.title for each in found] == list(ceilings)
    for each in found:
        with subtests.test(each.title):
            assert each.value <= ceilings[each.title], "\n".join(each.names)


def test_a_row_has_the_title_the_value_and_the_goal() -> None:
    code, infra = Figure("statements of chalicelib", 32_049, 30_500), Figure("statements of infra", 15_327, None)

    assert code.row.split("  ")[0] == "statements of chalicelib"
    assert code.row.endswith(" 32,049   ≤ 30,500")
    assert infra.row.endswith(" 15,327   not more")
