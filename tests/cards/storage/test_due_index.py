"""Tests of due items: each run processes all due items concurrently, and no item delays other items."""

import itertools
from collections.abc import Callable, Iterator

import pytest

from chalicelib.cards.authorization.authorization_record import DUE
from chalicelib.cards.storage import due_index
from chalicelib.cards.storage.due_index import DueItems
from chalicelib.foundation import parallel
from chalicelib.foundation.dynamodb.store import Item, StoreUnavailable
from tests.cards.issuer import Issuer
from tests.kit.logs import Lines, metric_values

pytestmark = pytest.mark.faults

_numbers = itertools.count(1)


class Things:
    def __init__(self, issuer: Issuer) -> None:
        self.clock, self.store = issuer.clock, issuer.hub.store
        self.items = DueItems(self.store, self.clock, issuer.hub.metrics, DUE, "thing")
        self.seen: list[int] = []

    def waits(self, seconds: int) -> int:
        number = next(_numbers)
        members = {"id": number, "due_at": self.clock.time() + seconds, **DUE.entry(str(number))}
        self.store.put(DUE.table, _key(number) | members)
        return number

    def due_at(self, number: int) -> int | None:
        item = self.store.get(DUE.table, _key(number))
        assert item is not None
        return item["due_at"] - self.clock.time() if "due_at" in item else None

    def look_after(self, item: Item) -> bool:
        self.seen.append(item["id"])
        self.store.update(DUE.table, _key(item["id"]), remove=["due_at", "due_shard"])
        return True

    def run(self, look_after: Callable[[Item], bool] | None = None) -> int:
        return self.items.run(look_after or self.look_after)


def _key(number: int) -> Item:
    return {"owner": f"thing#{number}", "part": "thing"}


@pytest.fixture
def things(issuer: Issuer) -> Iterator[Things]:
    made = Things(issuer)
    yield made
    made.clock.advance(3600)
    made.run()


def test_a_due_item_is_processed_at_or_after_the_due_time_and_not_before(things: Things) -> None:
    numbers = [things.waits(seconds) for seconds in (-1, 0, 1)]

    assert (things.run(), sorted(things.seen)) == (2, numbers[:2])
    things.clock.advance(1)
    assert (things.run(), sorted(things.seen)) == (1, numbers)
    assert things.run() == 0


def test_a_stuck_item_is_processed_in_the_next_run(things: Things) -> None:
    number = things.waits(0)

    assert things.run(lambda item: False) == 0
    assert (things.due_at(number), things.run()) == (0, 1)


def test_a_failed_item_is_postponed_by_a_minute_and_logged_with_kind_and_id(things: Things, lines: Lines) -> None:
    bad, good = things.waits(0), things.waits(0)

    def fails(item: Item) -> bool:
        if item["id"] == bad:
            raise ZeroDivisionError
        return things.look_after(item)

    assert things.run(fails) == 1
    assert things.seen == [good]
    assert things.due_at(bad) == 60
    [line] = [line for line in lines.all() if line["message"] == "thing not finished"]
    assert line["kind"] == "thing"
    assert line["id"] == bad
    assert line["exception_name"] == "ZeroDivisionError"
    things.clock.advance(59)
    assert things.run() == 0
    things.clock.advance(1)
    assert (things.run(), things.seen) == (1, [good, bad])


def test_an_item_whose_due_time_changed_is_not_postponed(things: Things, lines: Lines) -> None:
    number = things.waits(0)

    def postponed(item: Item) -> bool:
        things.store.update(DUE.table, _key(number), set={"due_at": things.clock.time() + 500})
        raise StoreUnavailable("the connection broke")

    assert (things.run(postponed), things.due_at(number)) == (0, 500)
    assert "thing not postponed" in lines.text


def test_a_finished_item_is_skipped_despite_a_stale_index(things: Things, monkeypatch: pytest.MonkeyPatch) -> None:
    done, gone, later, now = (things.waits(0) for _ in range(4))
    rows = DUE.rows(things.store, until=things.clock.time())
    things.store.update(DUE.table, _key(done), remove=["due_at", "due_shard"])
    things.store.delete(DUE.table, _key(gone))
    things.store.update(DUE.table, _key(later), set={"due_at": things.clock.time() + 1})

    monkeypatch.setattr(type(DUE), "rows", lambda *arguments, **members: rows)

    assert len(rows) == 4
    assert (things.run(), things.seen) == (1, [now])


def test_stuck_items_and_items_without_a_handler_are_counted_as_stuck(
    things: Things, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(due_index, "AT_ONCE", 2)
    numbers = [things.waits(seconds) for seconds in (-5, -4, -3, -2, -1)]

    def slow(item: Item) -> bool:
        things.clock.advance(10)
        return item["id"] != numbers[0] and things.look_after(item)

    things.items.run(slow, things.clock.monotonic() + 15)
    things.run()
    things.run()

    assert metric_values(capsys.readouterr().out, "StuckClaims", Stage="local", Kind="thing") == [4, 0, 0]


def test_a_run_processes_a_maximum_number_of_the_oldest_items_and_the_next_run_continues(
    things: Things, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(due_index, "MOST", 2)
    numbers = [things.waits(seconds) for seconds in (0, -1, -2)]

    assert [things.run() for _ in range(3)] == [2, 1, 0]
    assert (sorted(things.seen[:2]), things.seen[2]) == (sorted(numbers[1:]), numbers[0])


def test_a_run_that_exceeds_its_time_limit_starts_no_further_item(
    things: Things, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(due_index, "AT_ONCE", 2)
    for _ in range(5):
        things.waits(0)

    def slow(item: Item) -> bool:
        things.clock.advance(10)
        return things.look_after(item)

    assert things.items.run(slow, things.clock.monotonic() + 15) == 2
    assert things.items.run(slow, things.clock.monotonic() + 25) == 3
    assert things.items.run(slow, things.clock.monotonic() - 1) == 0


def test_a_run_limits_the_number_of_concurrently_handled_items(things: Things, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(due_index, "AT_ONCE", 3)
    for _ in range(7):
        things.waits(0)
    pieces: list[int] = []
    real = parallel.together

    def together(calls: list[Callable[[], bool]]) -> list[bool]:
        pieces.append(len(calls))
        return real(calls)

    monkeypatch.setattr(due_index, "together", together)

    assert (things.run(), pieces) == (7, [3, 3, 1])
