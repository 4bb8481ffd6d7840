"""The activity of clients: what is kept of a call, when it is written, and what a page reads of all processes."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest

from chalicelib.foundation import jsontext
from chalicelib.foundation.dynamodb.store import Operation, Page, Put, StoreUnavailable
from chalicelib.foundation.metrics import Metrics
from chalicelib.statistics import client_activity, current_call
from chalicelib.statistics.client_activity import (
    CALLS_KEPT,
    ERROR_KINDS,
    HOUR_ROWS_READ,
    HOURS,
    HOURS_KEPT,
    MAX_KEPT,
    PER_MINUTE,
    ROWS_READ,
    Activity,
    ActivityReader,
    ClientCall,
    ErrorKind,
    HourOfCalls,
    MinuteOfCalls,
    calls_of,
)
from chalicelib.statistics.measurements import WRITE_INTERVAL, Measurements
from tests.documents import CAPACITY
from tests.log_lines import Lines
from tests.manual_clock import ManualClock

START = datetime(2026, 3, 2, 9, 0, tzinfo=UTC)
HOUR = int(START.timestamp())
CLIENT = "a-client"


class Table:
    """A store of one table, which may be told to fail; ``transactions`` counts what it was sent."""

    def __init__(self) -> None:
        self.items: dict[tuple[str, str], dict[str, Any]] = {}
        self.transactions = 0
        self.queries: list[str] = []
        self.before: Callable[[], object] = lambda: None

    def transact(self, operations: Sequence[Operation]) -> None:
        self.transactions += 1
        self.before()
        for put in operations:
            assert isinstance(put, Put)
            assert put.condition is None
            self.items[put.item["subject"], put.item["part"]] = put.item

    def query(self, table: str, partition: tuple[str, str], **which: Any) -> Page:
        self.queries.append(partition[1])
        first = which.get("between", ("part", "", "~"))[1]
        rows = [item for (subject, part), item in self.items.items() if subject == partition[1] and part >= first]
        rows.sort(key=lambda item: item["part"], reverse=True)
        limit = which["limit"]
        return Page(rows[:limit], {"part": rows[limit - 1]["part"]} if len(rows) > limit else None)

    def rows(self, table: str, partition: tuple[str, str]) -> list[dict[str, Any]]:
        """No bank is down."""
        return []

    def of(self, kind: str) -> list[dict[str, Any]]:
        """The items whose partition begins so, in the order of their keys."""
        return [item for (subject, _), item in sorted(self.items.items()) if subject.startswith(f"{kind}#")]


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock(START)


@pytest.fixture
def table() -> Table:
    return Table()


@pytest.fixture
def instance(table: Table, clock: ManualClock) -> Measurements:
    return process(table, clock)


def process(table: Table, clock: ManualClock) -> Measurements:
    return Measurements(lambda: table, clock, Metrics("dev"))  # type: ignore[arg-type, return-value]


def read(instance: Measurements, table: Table, clock: ManualClock, client_id: str = CLIENT) -> Activity:
    return ActivityReader(table, clock, instance.activity).of_client(client_id)  # type: ignore[arg-type]


def ask(
    instance: Measurements,
    clock: ManualClock,
    status: int = 200,
    client_id: str | None = CLIENT,
    route: str = "/tpp/accounts",
    bank: current_call.Outcome | None = None,
    fault: Any = None,
    seconds: float = 0.25,
) -> None:
    """A request; of a bank, if it is asked, 0.2 s of it."""
    with instance.measure() as call:
        call.method, call.route, call.request_id = "GET", route, "an-id"
        if client_id:
            current_call.record_client(client_id)
        if bank:
            current_call.record_bank_request("ALPHGB21", "AISP", clock.time(), bank, 0.2)
        if fault:
            current_call.record_failure(fault)
        clock.advance(seconds)
        call.status = status


# -- what is kept of a call


def test_a_call_is_kept_with_its_times_and_without_anything_that_is_secret(
    instance: Measurements, table: Table, clock: ManualClock
) -> None:
    with instance.measure() as call:
        call.method, call.route, call.request_id = "GET", "/tpp/requests/{request_id}", "an-id"
        current_call.record_client(CLIENT)
        current_call.record_concern("ALPHGB21", "AISP")
        current_call.record_code("RESOURCE_UNKNOWN")
        clock.advance(0.03)
        call.status = 404

    (row,) = table.of("recent")
    assert jsontext.loads(row["calls"]) == [
        {
            "at": HOUR,
            "method": "GET",
            "route": "/tpp/requests/{request_id}",
            "status": 404,
            "code": "RESOURCE_UNKNOWN",
            "error": "caller",
            "hub_ms": 30,
            "bank_ms": 0,
            "bic": "ALPHGB21",
            "request_id": "an-id",
        }
    ]
    assert row["subject"] == f"recent#{CLIENT}"
    assert row["part"].startswith("2026-03-02T09:00#")
    assert row["expires_at"] == HOUR + CALLS_KEPT


@pytest.mark.parametrize(
    ("status", "bank", "fault", "kind"),
    [
        (200, "answered", None, None),
        (202, None, None, None),
        (303, None, "caller", "caller"),
        (400, None, None, "caller"),
        (401, "answered", "caller", "caller"),
        (429, None, None, "limit"),
        (429, "answered", "bank", "limit"),
        (502, "answered", "bank", "bank"),
        (502, "unanswered", None, "bank"),
        (502, "not_asked", None, "bank"),
        (500, None, None, "hub"),
        (503, None, "hub", "hub"),
    ],
)
def test_an_error_is_counted_by_whose_fault_it_is(
    instance: Measurements,
    table: Table,
    clock: ManualClock,
    status: int,
    bank: current_call.Outcome | None,
    fault: str | None,
    kind: ErrorKind | None,
) -> None:
    ask(instance, clock, status, bank=bank, fault=fault)
    activity = read(instance, table, clock)

    assert (activity.total, activity.errors) == (1, 1 if kind else 0)
    assert activity.calls[0].error == kind
    assert dict(activity.hours[-1].errors) == ({kind: 1} if kind else {})


def test_the_time_of_the_service_is_what_the_bank_did_not_take(
    instance: Measurements, table: Table, clock: ManualClock
) -> None:
    ask(instance, clock, bank="answered")
    (call,) = read(instance, table, clock).calls

    assert (call.hub_ms, call.bank_ms, call.bic) == (50, 200, "ALPHGB21")


@pytest.mark.parametrize("route", ["/clients/{client_id}", "/authorize/callback", "/bank/consent", "/api"])
def test_what_is_no_call_of_a_client_is_not_kept(
    instance: Measurements, table: Table, clock: ManualClock, route: str
) -> None:
    ask(instance, clock, route=route)
    ask(instance, clock, client_id=None)

    assert read(instance, table, clock).calls == []
    assert table.transactions == 0


# -- when it is written


def test_calls_are_written_with_the_first_and_then_once_a_minute(
    instance: Measurements, table: Table, clock: ManualClock
) -> None:
    written = []
    for _ in range(300):
        ask(instance, clock)
        written.append(table.transactions)
        clock.advance(0.75)

    assert written[0] == 1
    assert written[-1] == 5
    assert sum(jsontext.loads(row["counts"])["calls"] for row in table.of("activity")) == 241


def test_a_process_replaces_its_own_rows_and_keeps_the_latest_calls_of_a_minute(
    instance: Measurements, table: Table, clock: ManualClock
) -> None:
    for number in range(PER_MINUTE + 5):
        ask(instance, clock, 200 + number)
    instance.write()
    instance.write()

    (hour,), (minute,) = table.of("activity"), table.of("recent")
    assert jsontext.loads(hour["counts"]) == {"calls": PER_MINUTE + 5, "errors": {}}
    assert hour["expires_at"] == HOUR + HOURS_KEPT
    assert [call.status for call in calls_of(minute)] == [205 + number for number in range(PER_MINUTE)]


def test_what_cannot_be_written_is_written_later_once(
    instance: Measurements, table: Table, clock: ManualClock, lines: Lines
) -> None:
    def fail() -> None:
        raise StoreUnavailable("DynamoDB cannot be reached")

    table.before = fail
    ask(instance, clock)
    assert table.items == {}
    assert [line["rows"] for line in lines.all() if line["message"] == "activity not written"] == [2]
    table.before = lambda: None
    clock.advance(WRITE_INTERVAL)
    ask(instance, clock, client_id=None)

    (hour,) = table.of("activity")
    assert jsontext.loads(hour["counts"])["calls"] == 1
    transactions = table.transactions
    instance.write()
    assert table.transactions == transactions


def test_rows_of_hours_that_are_over_are_forgotten_when_they_are_written(
    instance: Measurements, table: Table, clock: ManualClock
) -> None:
    ask(instance, clock)
    clock.advance(3600)
    ask(instance, clock, client_id="another")
    instance.write()

    assert instance.activity.rows(CLIENT) == []
    assert read(instance, table, clock).total == 1


def test_memory_is_limited_and_what_was_dropped_and_begins_again_adds_up(
    instance: Measurements, table: Table, clock: ManualClock, lines: Lines
) -> None:
    ask(instance, clock, seconds=0)
    for number in range(MAX_KEPT // 2):
        ask(instance, clock, client_id=f"client-{number}", seconds=0)
    assert instance.activity.rows(CLIENT) == []
    assert lines.all() == []
    ask(instance, clock, seconds=0)
    instance.write()

    assert read(instance, table, clock).total == 2
    assert [(line["message"], line["rows"]) for line in lines.all()] == [("activity dropped", 2)]


# -- what is read


def test_the_rows_of_all_processes_are_added_and_those_not_written_yet_are_included(
    instance: Measurements, table: Table, clock: ManualClock
) -> None:
    other = process(table, clock)
    ask(other, clock, 500)
    ask(other, clock, 400)
    other.write()
    ask(instance, clock, 429)
    instance.write()
    ask(instance, clock, 200)
    activity = read(instance, table, clock)

    assert (activity.total, activity.errors) == (4, 3)
    assert dict(activity.hours[-1].errors) == {"hub": 1, "caller": 1, "limit": 1}
    assert sorted(call.status for call in activity.calls) == [200, 400, 429, 500]


def test_the_latest_hours_are_read_and_no_others(instance: Measurements, table: Table, clock: ManualClock) -> None:
    for _ in range(HOURS + 3):
        ask(instance, clock)
        clock.advance(3600)
    clock.advance(-3600)
    instance.write()
    activity = read(instance, table, clock)

    assert [hour.start for hour in activity.hours] == [HOUR + (number + 3) * 3600 for number in range(HOURS)]
    assert [hour.calls for hour in activity.hours] == [1] * HOURS
    assert all(call.at > clock.time() - CALLS_KEPT for call in activity.calls)


def test_the_newest_call_is_first(instance: Measurements, table: Table, clock: ManualClock) -> None:
    for status in (200, 201, 204):
        ask(instance, clock, status)
        clock.advance(61)
    instance.write()

    assert [call.status for call in read(instance, table, clock).calls] == [204, 201, 200]


def test_several_clients_take_two_queries_each(instance: Measurements, table: Table, clock: ManualClock) -> None:
    ask(instance, clock, client_id="one")
    ask(instance, clock, client_id="two")
    reader = ActivityReader(table, clock, instance.activity)  # type: ignore[arg-type]
    found = reader.of_clients(["one", "two", "three"])

    assert [activity.total for activity in found] == [1, 1, 0]
    kinds, clients = ("activity", "recent"), ("one", "two", "three")
    assert sorted(table.queries) == sorted(f"{kind}#{each}" for kind in kinds for each in clients)
    assert reader.of_clients([]) == []


def test_of_more_processes_than_are_read_the_latest_hours_count_and_the_rest_is_said_to_be_missing(
    instance: Measurements, table: Table, clock: ManualClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(client_activity, "HOUR_ROWS_READ", 4)
    for _ in range(2):
        for _ in range(3):
            other = process(table, clock)
            ask(other, clock)
            other.write()
        clock.advance(3600)
    activity = read(instance, table, clock)

    assert [hour.calls for hour in activity.hours[-3:]] == [1, 3, 0]
    assert not activity.is_whole


def test_the_rows_that_a_page_reads_are_shared_out_among_its_clients(
    instance: Measurements, table: Table, clock: ManualClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(client_activity, "HOUR_ROWS_READ", 4)
    for client_id in ("one", "two"):
        for _ in range(3):
            other = process(table, clock)
            ask(other, clock, client_id=client_id)
            other.write()
    reader = ActivityReader(table, clock, instance.activity)  # type: ignore[arg-type]

    assert [(each.total, each.is_whole) for each in reader.of_clients(["one", "two"])] == [(2, False)] * 2
    assert [(each.total, each.is_whole) for each in reader.of_clients(["one"])] == [(3, True)]


def test_of_more_rows_of_calls_than_are_read_it_is_said_from_when_on_all_are_listed(
    instance: Measurements, table: Table, clock: ManualClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(client_activity, "ROWS_READ", 3)
    ask(instance, clock, seconds=0)
    instance.write()
    assert read(instance, table, clock).listed_from == 0
    for _ in range(2):
        clock.advance(60)
        for _ in range(2):
            other = process(table, clock)
            ask(other, clock, seconds=0)
            other.write()
    activity = read(process(table, clock), table, clock)

    assert [call.at for call in activity.calls] == [HOUR + 120, HOUR + 120, HOUR + 60]
    assert activity.listed_from == HOUR + 120


def test_members_of_later_versions_are_left_out() -> None:
    call = dict.fromkeys(client_activity.ClientCall.__dataclass_fields__) | {"at": 1, "unheard_of": 2}

    assert calls_of({"calls": jsontext.dumps([call])})[0].at == 1


def test_a_row_of_an_hour_is_read_as_it_was_written() -> None:
    row = HourOfCalls(CLIENT, HOUR, "row", 3)
    row.errors["bank"] = 2

    assert HourOfCalls.from_item(row.to_item()) == row


# -- what it costs


def units(item: dict[str, Any]) -> int:
    """The write units of an item in a transaction: two for each KB."""
    return 2 * -(-sum(len(name) + len(str(value)) for name, value in item.items()) // 1024)


def test_the_documented_costs_are_those_of_the_rows() -> None:
    text = " ".join(CAPACITY.split())
    call = ClientCall(HOUR, "GET", "/tpp/accounts", 200, None, None, 3, 120, "ALPHGB21", "x" * 36)
    long = replace(call, route="/tpp/bulk_payment_initiation", code="ASPSP_UNKNOWN_ERROR", error="caller", bank_ms=9999)
    hour = HourOfCalls("x" * 36, HOUR, calls=999_999, errors=Counter(dict.fromkeys(ERROR_KINDS, 99_999))).to_item()
    five, most = (MinuteOfCalls("x" * 36, HOUR, calls=calls).to_item() for calls in ([call] * 5, [long] * PER_MINUTE))
    price = float(re.findall(r"\| DynamoDB \| write units \| \$([0-9.]+) \| million", CAPACITY)[0])
    dollars = (units(hour) + units(most)) * 30 * 24 * 60 * price / 1_000_000

    assert f"{units(hour) + units(five)} write units with five calls in that minute" in text
    assert f"at most {units(hour) + units(most)} with twenty or more" in text
    assert f"at most ${dollars:.2f}, one that 100 processes serve ${100 * dollars:.2f}" in text
    assert f"at most {HOUR_ROWS_READ:,} rows of counts (100 read units)" in text
    assert f"and {ROWS_READ} rows of calls (60 units)" in text
    assert HOUR_ROWS_READ * sum(len(str(value)) for value in hour.values()) / 4096 < 100
    assert ROWS_READ * sum(len(str(value)) for value in most.values()) / 4096 < 60
