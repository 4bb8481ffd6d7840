"""The commands for clients that poll events."""

import pytest

from infra.admin import connection
from tests.causeway import Causeway
from tests.infra.admin.command_line import done, refused, run
from tests.openbanking.kit import event_ids

EVENTS_URL = "http://127.0.0.1:9/events"


@pytest.fixture(autouse=True)
def connected(causeway: Causeway, monkeypatch: pytest.MonkeyPatch) -> Causeway:
    monkeypatch.setattr(connection, "connect", lambda: causeway.hub)
    return causeway


def test_clients_update_changes_whether_a_client_polls_events_has_an_events_url_or_no_events(
    causeway: Causeway,
) -> None:
    update = ("clients", "update", causeway.tpp.client_id)

    modes = [
        done(*update, *options)["client"]["events"]
        for options in (("--events", "poll"), ("--events-url", EVENTS_URL), ("--events", "poll"), ("--events", "none"))
    ]

    assert modes == ["poll", "url", "poll", "none"]
    assert done("clients", "show", causeway.tpp.client_id)["client"]["events_url"] is None


def test_clients_show_prints_the_change_to_polling(causeway: Causeway) -> None:
    text = run("clients", "update", causeway.tpp.client_id, "--events", "poll").stdout

    assert "poll" in text
    assert "events: poll" in run("clients", "show", causeway.tpp.client_id).stdout


def test_clients_add_registers_a_client_that_polls_events(causeway: Causeway) -> None:
    owner = ("--owner", "tpp@example.com")
    done("users", "add", "tpp@example.com")

    made = done("clients", "add", *owner, "--title", "Polls", "--events", "poll", "--secret")

    assert (made["client"]["events"], made["events_secret"]) == ("poll", None)


@pytest.mark.parametrize("events", ["poll", "none"])
def test_an_events_url_together_with_the_events_mode_poll_or_none_is_refused(causeway: Causeway, events: str) -> None:
    update = ("clients", "update", causeway.tpp.client_id, "--title", "Renamed")

    assert "exclude each other" in refused(*update, "--events", events, "--events-url", EVENTS_URL)
    assert causeway.hub.openbanking.clients.get(causeway.tpp.client_id) == causeway.tpp.client


def test_a_command_with_an_unknown_events_mode_exits_with_code_2(causeway: Causeway) -> None:
    result = run("clients", "update", causeway.tpp.client_id, "--events", "push")

    assert result.exit_code == 2
    assert "poll" in result.stderr


def test_a_test_event_of_a_polling_client_is_recorded_for_polling(causeway: Causeway) -> None:
    poller = causeway.tpp.poll_events()
    command = ("clients", "test-event", causeway.tpp.client_id)

    event_id = done(*command)["event_id"]
    text = run(*command).stdout

    assert text.startswith("A test event is recorded for GET /tpp/events: ")
    assert sorted(event_ids(poller.fetch())) == sorted([event_id, text.split()[-1]])


def test_a_test_event_of_a_client_without_events_is_refused_with_both_remedies(causeway: Causeway) -> None:
    said = refused("clients", "test-event", causeway.tpp.client_id)

    assert "`clients events-url`" in said
    assert "`clients update --events poll`" in said
