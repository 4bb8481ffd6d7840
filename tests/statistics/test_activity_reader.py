"""The activity of clients: a page reads the rows of all processes."""

from __future__ import annotations

import pytest

from chalicelib.statistics import client_activity
from chalicelib.statistics.client_activity import CALL_RETENTION, HOURS
from tests.statistics.client_calls import HOUR, Instance


def test_activity_adds_the_rows_of_all_processes_and_the_unwritten_counts_of_its_own(instance: Instance) -> None:
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


def test_activity_of_several_clients_takes_two_queries_each(instance: Instance) -> None:
    instance.call(client_id="one")
    instance.call(client_id="two")
    reader = instance.reader
    found = reader.of_clients(["one", "two", "three"])

    assert [activity.total for activity in found] == [1, 1, 0]
    kinds, clients = ("activity", "recent"), ("one", "two", "three")
    assert sorted(instance.table.queries) == sorted(f"{kind}#{each}" for kind in kinds for each in clients)
    assert reader.of_clients([]) == []


def test_activity_over_the_row_limit_counts_the_latest_hours_and_is_marked_incomplete(
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


def test_activity_over_the_call_row_limit_gives_the_time_from_which_calls_are_complete(
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
