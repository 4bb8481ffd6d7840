"""The latest rows first: of several partitions as one list, page by page, none twice and none left out."""

from __future__ import annotations

import pytest

from chalicelib.cards.storage.latest import Rows, page
from tests.world import World

LISTS = [Rows("card-activity", f"latest#{shard}", "row") for shard in range(3)]


@pytest.fixture
def world_with_rows(world: World) -> World:
    """20 rows that take turns, beside others whose names begin alike."""
    for number in range(20):
        at = {"owner": f"latest#{number % 3}", "part": f"row#{number:03}", "number": number}
        world.hub.store.put("card-activity", at)
    for part in ("rows#001", "ro#999", "row"):
        world.hub.store.put("card-activity", {"owner": "latest#0", "part": part, "number": -1})
    return world


@pytest.mark.parametrize("count", [1, 7, 10, 19, 20, 30])
def test_pages_go_back_to_the_first_row(world_with_rows: World, count: int) -> None:
    store, numbers = world_with_rows.hub.store, []
    before, more = None, True
    while more:
        rows, more = page(store, LISTS, count, before)
        numbers += [row["number"] for row in rows]
        assert len(rows) == count or not more
        before = rows[-1]["part"]

    assert numbers == list(range(19, -1, -1))


def test_before_the_first_row_there_is_nothing(world_with_rows: World) -> None:
    assert page(world_with_rows.hub.store, LISTS, 5, "row#000") == ([], False)
    assert page(world_with_rows.hub.store, LISTS[1:], 5, "row#001") == ([], False)
