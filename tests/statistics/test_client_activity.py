"""Client activity: each process writes counts and recent calls, and a page reads the rows of all processes."""

import re
from collections import Counter
from dataclasses import replace
from typing import Any

import pytest

from chalicelib.foundation import jsontext
from chalicelib.statistics import client_activity, current_call
from chalicelib.statistics.call_counts import Blamed, Outcome
from chalicelib.statistics.client_activity import (
    CALL_RETENTION,
    ERROR_KINDS,
    HOUR_RETENTION,
    HOUR_ROWS_READ,
    HOURS,
    MAX_ROWS,
    PER_MINUTE,
    ROWS_READ,
    ClientCall,
    ErrorKind,
    HourOfCalls,
    MinuteOfCalls,
    calls_of,
)
from chalicelib.statistics.measurements import WRITE_INTERVAL
from tests.kit.documents import CAPACITY
from tests.kit.logs import Lines
from tests.statistics.client_calls import CLIENT, HOUR, Instance, fail


def test_a_stored_call_has_its_times_and_route_template_and_no_secret(instance: Instance) -> None:
    with instance.measure() as call:
        call.method, call.route, call.request_id = "GET", "/tpp/requests/{request_id}", "an-id"
        current_call.record_client(CLIENT)
        current_call.record_concern("ALPHGB21", "AISP")
        current_call.record_code("RESOURCE_UNKNOWN")
        instance.clock.advance(0.03)
        call.status = 404

    (row,) = instance.table.of("recent")
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
    assert row["expires_at"] == HOUR + CALL_RETENTION


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
def test_an_error_is_counted_for_the_party_at_fault(
    instance: Instance, status: int, bank: Outcome | None, fault: Blamed | None, kind: ErrorKind | None
) -> None:
    instance.call(status, bank=bank, fault=fault)
    activity = instance.read_activity()

    assert (activity.total, activity.errors) == (1, 1 if kind else 0)
    assert activity.calls[0].error == kind
    assert dict(activity.hours[-1].errors) == ({kind: 1} if kind else {})


def test_the_time_of_the_service_excludes_the_time_of_the_bank(instance: Instance) -> None:
    instance.call(bank="answered")
    (call,) = instance.read_activity().calls

    assert (call.hub_ms, call.bank_ms, call.bic) == (50, 200, "ALPHGB21")


@pytest.mark.parametrize("route", ["/clients/{client_id}", "/authorize/callback", "/bank/consent", "/api"])
def test_requests_outside_the_client_api_are_not_stored(instance: Instance, route: str) -> None:
    instance.call(route=route)
    instance.call(client_id=None)

    assert instance.read_activity().calls == []
    assert instance.table.transactions == []


def test_the_first_call_is_written_immediately_and_later_calls_once_a_minute(instance: Instance) -> None:
    written = []
    for _ in range(300):
        instance.call()
        written.append(len(instance.table.transactions))
        instance.clock.advance(0.75)

    assert written[0] == 1
    assert written[-1] == 5
    assert sum(jsontext.loads(row["counts"])["calls"] for row in instance.table.of("activity")) == 241


def test_a_process_replaces_only_its_own_rows_and_stores_the_latest_calls_of_a_minute(instance: Instance) -> None:
    for number in range(PER_MINUTE + 5):
        instance.call(200 + number)
    instance.write()
    instance.write()

    (hour,), (minute,) = instance.table.of("activity"), instance.table.of("recent")
    assert jsontext.loads(hour["counts"]) == {"calls": PER_MINUTE + 5, "errors": {}}
    assert hour["expires_at"] == HOUR + HOUR_RETENTION
    assert [call.status for call in calls_of(minute)] == [205 + number for number in range(PER_MINUTE)]


def test_activity_rows_that_cannot_be_written_are_later_written_exactly_once(instance: Instance, lines: Lines) -> None:
    instance.table.before = fail
    instance.call()
    assert instance.table.items == {}
    assert [line["rows"] for line in lines.all() if line["message"] == "activity not written"] == [2]
    instance.table.before = lambda: None
    instance.clock.advance(WRITE_INTERVAL)
    instance.call(client_id=None)

    (hour,) = instance.table.of("activity")
    assert jsontext.loads(hour["counts"])["calls"] == 1
    transactions = len(instance.table.transactions)
    instance.write()
    assert len(instance.table.transactions) == transactions


def test_written_activity_rows_of_past_hours_are_removed_from_memory(instance: Instance) -> None:
    instance.call()
    instance.clock.advance(3600)
    instance.call(client_id="another")
    instance.write()

    assert instance.activity.items(CLIENT) == []
    assert instance.read_activity().total == 1


def test_rows_above_the_memory_limit_are_dropped_without_losing_written_calls(instance: Instance, lines: Lines) -> None:
    instance.call(seconds=0)
    for number in range(MAX_ROWS // 2):
        instance.call(client_id=f"client-{number}", seconds=0)
    assert instance.activity.items(CLIENT) == []
    assert lines.all() == []
    instance.call(seconds=0)
    instance.write()

    assert instance.read_activity().total == 2
    assert [(line["message"], line["rows"]) for line in lines.all()] == [("activity dropped", 2)]


def test_activity_members_written_by_later_versions_are_ignored() -> None:
    call = dict.fromkeys(client_activity.ClientCall.__dataclass_fields__) | {"at": 1, "unheard_of": 2}

    assert calls_of({"calls": jsontext.dumps([call])})[0].at == 1


def test_new_counts_are_added_to_the_counts_of_a_stored_hour() -> None:
    whole, row = HourOfCalls(CLIENT, HOUR, "whole", 3), HourOfCalls(CLIENT, HOUR, "row", 4)
    whole.errors["bank"], row.errors["bank"], row.errors["hub"] = 2, 1, 1
    whole.include(row.to_item())

    assert (whole.calls, whole.errors) == (7, {"bank": 3, "hub": 1})


def units(item: dict[str, Any]) -> int:
    """Return the write units of an item in a transaction, which are two per KB."""
    return 2 * -(-sum(len(name) + len(str(value)) for name, value in item.items()) // 1024)


def test_the_documented_storage_costs_match_the_sizes_of_the_activity_rows() -> None:
    text = " ".join(CAPACITY.split())
    call = ClientCall(HOUR, "GET", "/tpp/accounts", 200, None, None, 3, 120, "ALPHGB21", "x" * 36)
    long = replace(call, route="/tpp/bulk_payment_initiation", code="ASPSP_UNKNOWN_ERROR", error="caller", bank_ms=9999)
    hour = HourOfCalls("x" * 36, HOUR, calls=999_999, errors=Counter(dict.fromkeys(ERROR_KINDS, 99_999))).to_item()
    five, most = (MinuteOfCalls("x" * 36, HOUR, calls=calls).to_item() for calls in ([call] * 5, [long] * PER_MINUTE))
    price = float(re.findall(r"\| DynamoDB \| write units \| \$([0-9.]+) \| million", CAPACITY)[0])
    dollars = (units(hour) + units(most)) * 30 * 24 * 60 * price / 1_000_000

    assert f"{units(hour) + units(five)} write units with five calls in that minute" in text
    assert f"at most {units(hour) + units(most)} with twenty or more" in text
    assert f"at most ${dollars:.2f}; a client that calls 100 processes, ${100 * dollars:.2f}" in text
    assert f"at most {HOUR_ROWS_READ:,} rows of counts (100 read units)" in text
    assert f"and {ROWS_READ} rows of calls (60 units)" in text
    assert HOUR_ROWS_READ * sum(len(str(value)) for value in hour.values()) / 4096 < 100
    assert ROWS_READ * sum(len(str(value)) for value in most.values()) / 4096 < 60


def test_activity_adds_the_stored_rows_of_all_processes_and_the_unwritten_counts_of_this_one(
    instance: Instance,
) -> None:
    other = instance.another()
    other.call(500)
    other.call(400)
    other.write()
    instance.call(429)
    instance.write()
    instance.call(200)
    activity = instance.read_activity()

    assert (activity.total, activity.errors) == (4, 3)
    assert dict(activity.hours[-1].errors) == {"hub": 1, "caller": 1, "limit": 1}
    assert sorted(call.status for call in activity.calls) == [200, 400, 429, 500]


def test_activity_contains_only_the_latest_hours_and_recent_calls(instance: Instance) -> None:
    for _ in range(HOURS + 3):
        instance.call()
        instance.clock.advance(3600)
    instance.clock.advance(-3600)
    instance.write()
    activity = instance.read_activity()

    assert [hour.start for hour in activity.hours] == [HOUR + (number + 3) * 3600 for number in range(HOURS)]
    assert [hour.calls for hour in activity.hours] == [1] * HOURS
    assert activity.calls
    assert all(call.at > instance.clock.time() - CALL_RETENTION for call in activity.calls)


def test_activity_lists_the_newest_call_first(instance: Instance) -> None:
    for status in (200, 201, 204):
        instance.call(status)
        instance.clock.advance(61)
    instance.write()

    assert [call.status for call in instance.read_activity().calls] == [204, 201, 200]


def test_activity_of_several_clients_makes_two_queries_per_client(instance: Instance) -> None:
    instance.call(client_id="one")
    instance.call(client_id="two")
    reader = instance.reader
    found = reader.of_clients(["one", "two", "three"])

    assert [activity.total for activity in found] == [1, 1, 0]
    kinds, clients = ("activity", "recent"), ("one", "two", "three")
    assert sorted(instance.table.queries) == sorted(f"{kind}#{each}" for kind in kinds for each in clients)
    assert reader.of_clients([]) == []


def test_activity_above_the_row_limit_counts_the_latest_hours_and_is_marked_as_incomplete(
    instance: Instance, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(client_activity, "HOUR_ROWS_READ", 4)
    for _ in range(2):
        for _ in range(3):
            other = instance.another()
            other.call()
            other.write()
        instance.clock.advance(3600)
    activity = instance.read_activity()

    assert [hour.calls for hour in activity.hours[-3:]] == [1, 3, 0]
    assert not activity.is_whole


def test_the_row_limit_of_a_page_is_divided_among_its_clients(
    instance: Instance, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(client_activity, "HOUR_ROWS_READ", 4)
    for client_id in ("one", "two"):
        for _ in range(3):
            other = instance.another()
            other.call(client_id=client_id)
            other.write()
    reader = instance.reader

    assert [(each.total, each.is_whole) for each in reader.of_clients(["one", "two"])] == [(2, False)] * 2
    assert [(each.total, each.is_whole) for each in reader.of_clients(["one"])] == [(3, True)]


def test_activity_above_the_call_row_limit_states_from_which_time_the_calls_are_complete(
    instance: Instance, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(client_activity, "ROWS_READ", 3)
    instance.call(seconds=0)
    instance.write()
    assert instance.read_activity().listed_from == 0
    for _ in range(2):
        instance.clock.advance(60)
        for _ in range(2):
            other = instance.another()
            other.call(seconds=0)
            other.write()
    activity = instance.another().read_activity()

    assert [call.at for call in activity.calls] == [HOUR + 120, HOUR + 120, HOUR + 60]
    assert activity.listed_from == HOUR + 120
