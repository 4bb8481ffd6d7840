"""Tests of the cache for the next due time. The cached value expires after one second, or after a write operation that
could change the value.
"""

from collections.abc import Callable
from datetime import UTC, datetime

import pytest

from chalicelib.foundation.dynamodb.conditions import Attr
from chalicelib.foundation.dynamodb.store import Check, ConditionFailed, Delete, Put, Update, absent
from chalicelib.foundation.moved_clock import CACHED_SECONDS
from chalicelib.sandbox_clock.remembered_due import RememberedDue, WriteCounts
from tests.causeway import Causeway
from tests.kit.time import ManualClock

START = datetime(2026, 3, 2, 9, 0, tzinfo=UTC)
HOUR, DAY = 3600, 86_400
ROW = {"bank": "one", "id": "due#000000000001#payment"}
OTHER = {"bank": "one", "id": "told#2026-03-02"}


@pytest.fixture
def counts(causeway: Causeway) -> WriteCounts:
    return WriteCounts(causeway.hub.settings.prefix)


class Question:
    """A fake source of the next due time. ``asked`` lists the time limits of the queries."""

    def __init__(self) -> None:
        self.due: int | None = None
        self.writes = 0
        self.asked: list[int] = []
        self.clock = ManualClock(START)
        self.remembered = RememberedDue(self.ask, lambda: self.writes, self.clock)

    def ask(self, until: int) -> int | None:
        self.asked.append(until)
        return self.due if self.due is not None and self.due <= until else None


def test_a_due_time_is_cached_until_the_next_storage_write() -> None:
    question = Question()
    question.due = 5 * HOUR

    assert question.remembered(0, DAY) == 5 * HOUR
    assert question.remembered(0, HOUR) is None
    assert question.remembered(0, 2 * DAY) == 5 * HOUR
    assert len(question.asked) == 1


def test_the_absence_of_a_due_time_is_cached_up_to_the_end_of_the_queried_period() -> None:
    question = Question()
    assert question.remembered(0, DAY) is None
    (asked_until,) = question.asked

    assert question.remembered(0, asked_until) is None
    assert len(question.asked) == 1
    question.due = asked_until + 1
    assert question.remembered(0, asked_until + 1) == asked_until + 1


def test_a_storage_write_invalidates_the_cached_due_time() -> None:
    question = Question()
    assert question.remembered(0, DAY) is None
    question.due, question.writes = HOUR, 1

    assert question.remembered(0, DAY) == HOUR


def test_a_cached_due_time_expires_after_one_second() -> None:
    """The cache expires so that a process finds due times that other processes have written."""
    question = Question()
    assert question.remembered(0, DAY) is None
    question.due = HOUR
    question.clock.advance(CACHED_SECONDS)

    assert question.remembered(0, DAY) == HOUR


def test_every_write_operation_is_counted_for_its_table_and_record_kind(
    causeway: Causeway, counts: WriteCounts
) -> None:
    store = causeway.hub.store
    writes: list[Callable[[], object]] = [
        lambda: store.put("demo-banks", ROW),
        lambda: store.update("demo-banks", ROW, set={"seen": True}),
        lambda: store.transact([Update("demo-banks", ROW, {"seen": False}), Put("demo-banks", OTHER)]),
        lambda: store.transact([Delete("demo-banks", ROW), Check("demo-banks", OTHER, Attr("bank").exists())]),
        lambda: store.delete("demo-banks", ROW),
    ]
    seen = []
    for write in writes:
        write()
        seen.append(counts.of("demo-banks/due"))

    assert seen == [1, 2, 3, 4, 5]
    assert counts.of("demo-banks/told") == 2
    assert counts.of("demo-banks") == 7
    assert counts.of("ledger", "ledger/proof", "consents") == 0


def test_storage_reads_are_not_counted_as_writes(causeway: Causeway, counts: WriteCounts) -> None:
    causeway.hub.store.get("demo-banks", ROW)
    causeway.hub.store.query("demo-banks", ("bank", "one"))

    assert counts.of("demo-banks") == 0


def test_a_refused_storage_write_is_counted(causeway: Causeway, counts: WriteCounts) -> None:
    """A write may have taken effect although the storage returned an error. One additional query is harmless."""
    causeway.hub.store.put("demo-banks", ROW)
    with pytest.raises(ConditionFailed):
        causeway.hub.store.put("demo-banks", ROW | {"more": 1}, absent("bank"))
    causeway.hub.store.delete("demo-banks", ROW)

    assert counts.of("demo-banks/due") == 3


def test_writes_to_a_table_without_record_kinds_are_counted_for_the_whole_table(
    causeway: Causeway, counts: WriteCounts
) -> None:
    causeway.tpp.tokens(1)

    assert counts.of("consents") > 0
