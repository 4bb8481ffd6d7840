"""Tests of the event log: late writes, the content of a cursor, and concurrent writers and readers."""

import random
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial

import pytest

from chalicelib.delivery import event_log
from chalicelib.delivery.event_log import (
    LATE_SECONDS,
    REMEMBERED,
    RETENTION_SECONDS,
    SHARDS,
    EventLog,
    EventPage,
    Reading,
)
from chalicelib.foundation.clock import Clock, milliseconds
from chalicelib.foundation.crypto.keyring import Unsealable
from chalicelib.foundation.crypto.signed_cursors import InvalidCursor
from chalicelib.openbanking.protocol.tpp_calls import EVENTS_CURSOR
from infra.deploy.functions import FUNCTIONS
from tests.cards.contest import at_once
from tests.causeway import Causeway
from tests.infra.deployment import FOLDER, STAGES, granted_rights
from tests.kit.time import PATIENCE_SECONDS

RECEIVER = "client#one"
PUT, DELIVERIES = "dynamodb:PutItem", "arn:aws:dynamodb:*:*:table/causeway-{stage}-deliveries"
WRITERS, EACH = 6, 25


@dataclass
class Reader:
    """A reader of the log that requests each page with the ``next`` cursor of the previous page.

    ``got`` lists the ids of all received events.
    """

    log: EventLog
    receiver: str = RECEIVER
    limit: int = 100
    after: str | None = None
    got: list[str] = field(default_factory=list)

    def page(self) -> EventPage:
        page = self.log.page(self.receiver, self.after, self.limit)
        self.after = page.next
        self.got += [event.event_id for event in page.events]
        return page

    def read(self) -> list[str]:
        before = len(self.got)
        while self.page().has_more:
            pass
        return self.got[before:]


def write(causeway: Causeway, at: float | None = None, receiver: str = RECEIVER) -> str:
    moment = milliseconds(causeway.clock) if at is None else int(at * 1000)
    event_id, put = causeway.hub.delivery.event_log.put_event(receiver, "test", "{}", moment)
    causeway.hub.store.transact([put])
    return event_id


@pytest.fixture
def reader(causeway: Causeway) -> Reader:
    return Reader(causeway.hub.delivery.event_log)


# -- late writes


@pytest.mark.dynamodb
@pytest.mark.parametrize("late", [0.001, 1, 30, LATE_SECONDS - 1])
@pytest.mark.parametrize("limit", [1, 2, 100])
def test_a_reader_receives_a_late_event_exactly_once(
    causeway: Causeway, reader: Reader, late: float, limit: int
) -> None:
    reader.limit = limit
    early = causeway.clock.now().timestamp()
    causeway.clock.advance(late)
    seen = [write(causeway) for _ in range(3)]
    first = reader.read()

    missed = write(causeway, early)
    then = reader.read()

    assert (sorted(first), then) == (sorted(seen), [missed])
    for _ in range(5):
        causeway.clock.advance(LATE_SECONDS / 3)
        assert reader.read() == []


def test_a_cursor_contains_an_event_until_no_earlier_event_can_be_written(causeway: Causeway, reader: Reader) -> None:
    seen = [write(causeway)]
    for _ in range(LATE_SECONDS):
        reader.read()
        assert cursor_of(reader).got == {seen[0][:16]}
        causeway.clock.advance(1)

    reader.read()

    assert cursor_of(reader).got == frozenset()
    assert reader.got == seen


def cursor_of(reader: Reader) -> Reading:
    assert reader.after is not None
    return Reading.decode(reader.after.partition(".")[0])


def test_the_timeout_of_every_recording_function_is_shorter_than_the_late_window() -> None:
    recording = [
        function
        for stage in STAGES
        for function in FUNCTIONS
        if stage in function.stages
        and (PUT, DELIVERIES.format(stage=stage)) in granted_rights(FOLDER / function.policy(stage), PUT)
    ]
    longest = max(function.timeout for function in recording)

    assert {"", "deliver", "expire"} <= {function.name for function in recording}
    assert longest + 30 <= LATE_SECONDS, "30 seconds are for clocks that differ"


def test_a_reader_receives_an_event_with_a_future_time_exactly_once(causeway: Causeway, reader: Reader) -> None:
    ahead = write(causeway, causeway.clock.time() + 20)
    behind = write(causeway)

    assert reader.read() == [behind, ahead]
    for _ in range(5):
        causeway.clock.advance(LATE_SECONDS / 2)
        assert reader.read() == []


def test_a_reader_whose_clock_is_set_back_receives_no_event_twice(causeway: Causeway, reader: Reader) -> None:
    write(causeway)
    causeway.clock.advance(LATE_SECONDS + 5)
    write(causeway)
    reader.read()

    causeway.clock.advance(-5)

    assert reader.read() == []
    event_id = write(causeway)
    assert reader.read() == [event_id]


# -- what a cursor remembers


def test_a_cursor_is_unchanged_after_encoding_and_decoding() -> None:
    reading = Reading((1_772_442_000_123, "0123456789abcdef012345"), frozenset({"0" * 16, "f" * 16, "00" * 7 + "01"}))

    assert Reading.decode(reading.encode()) == reading
    assert Reading.decode(Reading().encode()) == Reading()


@pytest.mark.dynamodb
def test_a_cursor_has_a_maximum_length_and_a_burst_is_read_in_parts(causeway: Causeway, reader: Reader) -> None:
    made = [write(causeway) for _ in range(REMEMBERED + 150)]

    at_once = reader.read()
    assert len(at_once) == REMEMBERED
    assert reader.page().has_more is False
    assert reader.after is not None
    assert len(reader.after) <= EVENTS_CURSOR

    causeway.clock.advance(LATE_SECONDS)
    late = reader.read()

    assert sorted(at_once + late) == sorted(made)


def test_a_backlog_older_than_the_late_window_is_read_without_a_delay(
    causeway: Causeway, reader: Reader, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(event_log, "REMEMBERED", 5)
    reader.limit = 7
    made = [write(causeway) for _ in range(40)]
    causeway.clock.advance(LATE_SECONDS)
    fresh = [write(causeway) for _ in range(3)]

    assert sorted(reader.read()) == sorted(made + fresh)


def test_a_reader_receives_every_event_of_a_stream_larger_than_its_cursor_once(
    causeway: Causeway, reader: Reader, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(event_log, "REMEMBERED", 6)
    reader.limit = 4
    made, chance = [], random.Random(7)
    for _ in range(60):
        now = causeway.clock.now().timestamp()
        made += [write(causeway, now - chance.uniform(0, LATE_SECONDS - 1)) for _ in range(chance.randrange(3))]
        reader.page()
        assert len(cursor_of(reader).got) <= 6
        causeway.clock.advance(chance.uniform(0, 20))
    causeway.clock.advance(LATE_SECONDS)
    reader.read()

    assert sorted(reader.got) == sorted(made)


# -- shards


def test_the_events_of_a_receiver_are_distributed_over_all_shards(causeway: Causeway) -> None:
    for _ in range(64):
        write(causeway)

    partitions = {item["delivery_id"] for item in causeway.hub.store.scan("deliveries")}

    assert partitions == {f"events#{RECEIVER}#{shard}" for shard in range(SHARDS)}


@pytest.mark.parametrize("old", [True, False])
def test_a_page_ends_before_the_unread_rows_of_a_shard(
    causeway: Causeway, reader: Reader, monkeypatch: pytest.MonkeyPatch, old: bool
) -> None:
    monkeypatch.setattr(event_log, "rows_of_shard", lambda rows, shards: 1)
    made = []
    for _ in range(12):
        made.append(write(causeway))
        causeway.clock.advance(1)
    if old:
        causeway.clock.advance(LATE_SECONDS)

    pages = []
    while True:
        page = reader.page()
        pages.append([event.event_id for event in page.events])
        assert pages[-1], "every page goes on"
        if not page.has_more:
            break

    assert reader.got == made
    assert len(pages) > 12 / SHARDS


def test_a_reader_of_partially_read_shards_receives_every_late_event_once(
    causeway: Causeway, reader: Reader, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(event_log, "rows_of_shard", lambda rows, shards: 1)
    chance, made = random.Random(3), []
    for _ in range(40):
        made += [write(causeway, causeway.clock.now().timestamp() - chance.uniform(0, 80)) for _ in range(2)]
        reader.page()
        causeway.clock.advance(chance.uniform(0, 9))
    causeway.clock.advance(LATE_SECONDS)
    reader.read()

    assert sorted(reader.got) == sorted(made)


# -- whose, and for how long


def test_a_cursor_of_another_receiver_is_rejected(causeway: Causeway, reader: Reader) -> None:
    page = reader.page()

    with pytest.raises(InvalidCursor):
        causeway.hub.delivery.event_log.page("client#other", page.next, 20)


def test_a_body_copied_to_another_receiver_or_event_cannot_be_decrypted(causeway: Causeway, reader: Reader) -> None:
    write(causeway)
    (item,) = causeway.hub.store.scan("deliveries")
    moved = item["delivery_id"].replace(RECEIVER, "client#other")
    causeway.hub.store.put("deliveries", {**item, "delivery_id": moved})

    with pytest.raises(Unsealable):
        Reader(reader.log, "client#other").page()


def test_an_expired_event_that_dynamodb_has_not_yet_removed_is_not_returned(causeway: Causeway, reader: Reader) -> None:
    write(causeway)

    causeway.clock.advance(RETENTION_SECONDS)

    assert reader.read() == []


# -- a race


@pytest.mark.dynamodb
def test_a_reader_receives_every_event_of_concurrent_writers_once(causeway: Causeway) -> None:
    clock, written = Clock(), []
    log = EventLog(causeway.hub.store, causeway.hub.vault, causeway.hub.keyring, clock)
    reader, reads = Reader(log, limit=7), threading.Event()

    def write_some(writer: int) -> None:
        chance = random.Random(writer)
        for number in range(EACH):
            if number == EACH // 2:
                assert reads.wait(PATIENCE_SECONDS)
            event_id, put = log.put_event(RECEIVER, "test", "{}", milliseconds(clock) - chance.randrange(2000))
            causeway.hub.store.transact([put])
            written.append(event_id)

    def read_on() -> None:
        while len(written) < WRITERS * EACH:
            reader.page()
            if reader.got:
                reads.set()

    calls: list[Callable[[], None]] = [partial(write_some, writer) for writer in range(WRITERS)]
    at_once([read_on, *calls])
    reader.read()

    assert sorted(reader.got) == sorted(written)


# -- the latest, for the owner of a client


@pytest.mark.dynamodb
def test_the_latest_events_are_newest_first_and_complete_from_the_returned_position(causeway: Causeway) -> None:
    log, now = causeway.hub.delivery.event_log, milliseconds(causeway.clock)
    made = [(now + number, write(causeway, (now + number) / 1000)) for number in range(40)]
    write(causeway, receiver="client#another")

    whole, reached = log.latest(RECEIVER, (0, ""), (now + 40, ""), 1000)
    assert ([row.position for row in whole], reached) == (made[::-1], None)
    assert {(row.type, row.created_at) for row in whole} == {("test", now // 1000)}

    first, reached = log.latest(RECEIVER, (0, ""), (now + 40, ""), 8)
    assert reached is not None
    complete = [row.position for row in first if row.position >= reached]
    assert complete == made[::-1][: len(complete)]
    assert len(complete) >= 1
    assert log.latest(RECEIVER, made[5], made[7], 8) == (
        [row for row in whole if made[5] <= row.position <= made[7]],
        None,
    )
    assert log.latest(RECEIVER, made[7], made[5], 8) == ([], None)


def test_an_event_is_found_by_its_position(causeway: Causeway) -> None:
    log, at = causeway.hub.delivery.event_log, milliseconds(causeway.clock)
    event_id = write(causeway)

    found = log.find(RECEIVER, (at, event_id))
    assert found is not None
    assert (found.event_id, found.type, found.body) == (event_id, "test", "{}")
    assert log.find(RECEIVER, (at + 1, event_id)) is None
    assert log.find("client#another", (at, event_id)) is None
