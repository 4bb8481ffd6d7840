"""Tests of rows ordered by time: their order, date spans, and combined pages of several lists."""

from itertools import pairwise
from typing import Any

import pytest

from chalicelib.cards.storage import time_ordered
from chalicelib.cards.storage.time_ordered import SHARDS, LatestRows, Rows, Search, Span, Timeline, latest_page, page
from chalicelib.foundation.dynamodb.conditions import Attr
from chalicelib.foundation.dynamodb.store import Put, Store
from chalicelib.foundation.identifiers import new_id
from tests.causeway import Causeway
from tests.kit.storage import record_calls

pytestmark = pytest.mark.dynamodb

ALWAYS = Span.of_seconds(None, None)


def timeline(owner: str = "") -> Timeline:
    return Timeline("card-activity", owner or f"test#{new_id()}", "row", 5)


def write(store: Store, to: Timeline, *positions: tuple[int, int], **members: Any) -> None:
    for start in range(0, len(positions), 25):
        rows = [to.key(*position)[1] | {"id": position[1]} | members for position in positions[start : start + 25]]
        store.transact([Put(to.table, row) for row in rows])


def ids(found: tuple[list[dict[str, Any]], bool]) -> list[int]:
    return [row["id"] for row in found[0]]


@pytest.fixture
def store(causeway: Causeway) -> Store:
    return causeway.hub.store


def test_rows_are_ordered_by_millisecond_and_then_by_number(store: Store) -> None:
    rows = timeline()
    write(store, rows, (2000, 1), (1000, 7), (1000, 3), (999, 9))

    assert ids(page(store, [rows], ALWAYS, 10)) == [9, 3, 7, 1]


def test_a_time_span_includes_its_first_and_its_last_second(store: Store) -> None:
    rows = timeline()
    write(store, rows, (999, 1), (1000, 2), (2999, 3), (3000, 4))

    assert ids(page(store, [rows], Span.of_seconds(1, 2), 10)) == [2, 3]
    assert ids(page(store, [rows], Span.of_seconds(2, None), 10)) == [3, 4]
    assert ids(page(store, [rows], Span.of_seconds(None, 0), 10)) == [1]
    assert ids(page(store, [rows], Span.of_seconds(3, 99_999_999_999), 10)) == [4]
    assert ids(page(store, [rows], Span.of_seconds(99_999_999_999, 99_999_999_999), 10)) == []


def test_a_time_span_contains_only_positions_after_the_start_row_and_before_the_end() -> None:
    span = Span.of_seconds(1, 2, (1500, 7))

    assert [span.has(position) for position in ((1500, 7), (1500, 8), (2999, 1), (3000, 1))] == [
        False,
        True,
        True,
        False,
    ]
    assert not Span.of_seconds(2, 3).has((1999, 1))


@pytest.mark.parametrize("after", [(500, 1), (1000, 1), (1000, 3), (1000, 9), (5000, 1)])
def test_a_page_lists_the_rows_of_the_time_span_after_the_last_listed_row(store: Store, after: tuple[int, int]) -> None:
    rows, every = timeline(), [(1000, 1), (1000, 3), (1001, 2), (3000, 4)]
    write(store, rows, *every)

    followed = ids(page(store, [rows], Span.of_seconds(1, 2, after), 10))

    assert followed == [number for at, number in every if (at, number) > after and at < 3000]


@pytest.mark.parametrize("count", [1, 2, 3, 7, 100])
def test_pages_of_several_partitions_form_one_ordered_list(store: Store, count: int) -> None:
    owner, every = new_id(), [(1000 + number // 2, number) for number in range(24)]
    shards = [timeline(f"test#{owner}#{shard}") for shard in range(4)]
    for shard, rows in enumerate(shards):
        write(store, rows, *[each for each in every if each[1] % 5 % 4 == shard])

    seen: list[int] = []
    more, after = True, None
    while more:
        found, more = page(store, shards, Span.of_seconds(None, None, after), count)
        assert len(found) == count or not more
        seen += [row["id"] for row in found]
        after = every[seen[-1]]

    assert seen == [number for _, number in every]


def test_a_page_with_the_last_row_has_no_more_rows(store: Store) -> None:
    rows = timeline()
    write(store, rows, (1, 1), (2, 2))

    assert [page(store, [rows], ALWAYS, count)[1] for count in (1, 2, 3)] == [True, False, False]
    assert page(store, [timeline()], ALWAYS, 1) == ([], False)


def test_pages_are_full_despite_hidden_rows(causeway: Causeway) -> None:
    store, owner = causeway.hub.store, new_id()
    shards = [timeline(f"test#{owner}#{shard}") for shard in range(2)]
    write(store, shards[0], *[(number, number) for number in range(1, 31)], hidden=1)
    write(store, shards[0], (31, 31), (33, 33), hidden=0)
    write(store, shards[1], (20, 20), (32, 32), hidden=0)

    with record_calls(causeway) as calls:
        found = page(store, shards, ALWAYS, 3, lambda row: not row["hidden"])

    assert (ids(found), found[1]) == ([20, 31, 32], True)
    assert len(calls) == 3, "only what has more is asked again"


def test_a_page_requires_one_call_for_each_partition(causeway: Causeway) -> None:
    shards = [timeline() for _ in range(3)]
    for number, rows in enumerate(shards):
        write(causeway.hub.store, rows, *[(10 * each, number) for each in range(5)])

    with record_calls(causeway) as calls:
        page(causeway.hub.store, shards, ALWAYS, 2)

    assert calls == ["Query"] * 3


def test_sort_keys_follow_the_order_of_positions() -> None:
    positions = [(0, 0), (9, 99), (10, 1), (10, 99_999), (10**13 - 1, 7)]

    parts = [timeline().part(*position) for position in positions]

    assert all(first < second for first, second in pairwise(parts))


def test_a_page_queries_a_second_time_only_the_shard_that_returned_too_few_rows(causeway: Causeway) -> None:
    store, owner = causeway.hub.store, new_id()
    shards = [timeline(f"test#{owner}#{shard}") for shard in range(16)]
    write(store, shards[0], *[(number, number) for number in range(60)])
    for shard, rows in enumerate(shards[1:]):
        write(store, rows, (100 + shard, 100 + shard))

    with record_calls(causeway) as calls:
        found = page(store, shards, ALWAYS, 50)

    assert ids(found) == list(range(50))
    assert calls == ["Query"] * 17


LISTS = [Rows("card-activity", f"latest#{shard}", "row") for shard in range(3)]


@pytest.fixture
def causeway_with_rows(causeway: Causeway) -> Causeway:
    for number in range(20):
        at = {"owner": f"latest#{number % 3}", "part": f"row#{number:03}", "number": number}
        causeway.hub.store.put("card-activity", at)
    for part in ("rows#001", "ro#999", "row"):
        causeway.hub.store.put("card-activity", {"owner": "latest#0", "part": part, "number": -1})
    return causeway


@pytest.mark.parametrize("count", [1, 7, 10, 19, 20, 30])
def test_pages_of_the_latest_rows_continue_back_to_the_first_row(causeway_with_rows: Causeway, count: int) -> None:
    store, numbers = causeway_with_rows.hub.store, []
    before, more = None, True
    while more:
        found = latest_page(store, LISTS, count, before)
        numbers += [row["number"] for row in found.rows]
        before, more = found.before, found.before is not None
        assert len(found.rows) == count or not more

    assert numbers == list(range(19, -1, -1))


def test_a_page_of_rows_before_the_first_row_is_empty(causeway_with_rows: Causeway) -> None:
    assert latest_page(causeway_with_rows.hub.store, LISTS, 5, "row#000") == LatestRows([], None)
    assert latest_page(causeway_with_rows.hub.store, LISTS[1:], 5, "row#001") == LatestRows([], None)


@pytest.mark.parametrize("count", [1, 2, 3, 30])
def test_a_search_returns_only_matching_rows_and_the_latest_row_first(causeway_with_rows: Causeway, count: int) -> None:
    store, numbers = causeway_with_rows.hub.store, []
    wanted = Search(Attr("number").is_in([2, 5, 6, 11, 19]), "row#003", "row#018")
    before, more = None, True
    while more:
        found = latest_page(store, LISTS, count, before, wanted)
        numbers += [row["number"] for row in found.rows]
        before, more = found.before, found.before is not None

    assert numbers == [11, 6, 5]


def test_a_search_reads_each_list_at_most_three_times_and_can_be_continued(
    causeway_with_rows: Causeway, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(time_ordered, "REPEATED_DEPTHS", (1, 1))
    store, wanted = causeway_with_rows.hub.store, Search(Attr("number").eq(0))
    with record_calls(causeway_with_rows) as calls:
        first = latest_page(store, LISTS, 1, None, wanted)
    then = latest_page(store, LISTS, 1, first.before, wanted)

    assert first.rows == []
    assert first.before is not None
    assert [row["number"] for row in then.rows] == [0]
    assert calls == ["Query"] * 9


def test_a_search_reads_at_most_1600_rows_of_one_list_and_26000_rows_of_all_lists() -> None:
    of_one = sum(time_ordered.REPEATED_DEPTHS)

    assert (of_one // 100 * 100, SHARDS * of_one // 1000 * 1000) == (1_600, 26_000)
