"""Tests of the events modes of a client: ``url``, ``poll`` and ``none``."""

import pytest

from chalicelib.openbanking.records.client_validation import InvalidClient
from chalicelib.openbanking.records.clients import Clients
from tests.causeway import Causeway

URL = "https://tpp.example.com/events"


@pytest.fixture
def clients(causeway: Causeway) -> Clients:
    return causeway.hub.openbanking.clients


@pytest.fixture
def client_id(causeway: Causeway) -> str:
    return causeway.tpp.client_id


def test_a_client_has_one_events_mode(clients: Clients, client_id: str) -> None:
    ways = []
    for change in ({"events": "poll"}, {"events_url": URL}, {"events": "poll"}, {"events": "none"}):
        client = clients.update(client_id, **change).client  # type: ignore[arg-type]
        assert clients.get(client_id) == client
        ways.append((client.events_mode, client.events_url))

    assert ways == [("poll", None), ("url", URL), ("poll", None), ("none", None)]


def test_the_events_mode_none_removes_the_events_url(clients: Clients, client_id: str) -> None:
    clients.update(client_id, events_url=URL)

    client = clients.update(client_id, events="none").client

    assert (client.events_mode, client.events_url) == ("none", None)


def test_removing_the_events_url_does_not_change_the_events_mode_poll(clients: Clients, client_id: str) -> None:
    clients.update(client_id, events="poll")

    assert clients.update(client_id, events_url=None, title="Renamed").client.events_mode == "poll"


def test_a_client_can_be_created_with_the_events_mode_poll_or_none(clients: Clients) -> None:
    made = clients.create(owner="a@example.com", title="Polls", events="poll")

    assert clients.get(made.client.client_id).events_mode == "poll"
    assert made.events_secret is None
    assert clients.create(owner="a@example.com", title="Quiet", events="none").client.events_mode == "none"


@pytest.mark.parametrize("events", ["poll", "none"])
def test_an_events_url_with_another_mode_is_refused(causeway: Causeway, clients: Clients, events: str) -> None:
    before = [*causeway.hub.store.scan("clients")]

    with pytest.raises(InvalidClient, match="exclude each other") as found:
        clients.update(causeway.tpp.client_id, events_url=URL, events=events, title="Renamed")
    assert found.value.member == "events"
    with pytest.raises(InvalidClient, match="exclude each other"):
        clients.create(owner="a@example.com", title="Both", events_url=URL, events=events)

    assert [*causeway.hub.store.scan("clients")] == before


@pytest.mark.parametrize("events", ["", "url", "Poll"])
def test_an_unknown_events_mode_is_refused(clients: Clients, client_id: str, events: str) -> None:
    with pytest.raises(InvalidClient, match="events must be poll or none"):
        clients.update(client_id, events=events)


def test_a_change_of_the_events_mode_is_in_the_history(clients: Clients, client_id: str) -> None:
    clients.update(client_id, events_url=URL)
    clients.update(client_id, events="poll")
    clients.update(client_id, events="none")

    history = clients.history(clients.get(client_id))

    assert [(each.before, each.after) for each in history] == [
        ({"events": "poll"}, {"events": None}),
        ({"events_url": URL, "events": None}, {"events_url": None, "events": "poll"}),
        ({"events_url": None}, {"events_url": URL}),
    ]


def test_clients_stored_without_an_events_mode_have_the_mode_url_or_none(causeway: Causeway, clients: Clients) -> None:
    with_url = clients.create(owner="a@example.com", title="Told", events_url=URL).client
    without = clients.create(owner="a@example.com", title="Quiet").client
    for client in (with_url, without):
        assert "events" not in (causeway.hub.store.get("clients", {"client_id": client.client_id}) or {})

    assert clients.get(with_url.client_id).events_mode == "url"
    assert clients.get(without.client_id).events_mode == "none"


def test_rotating_the_events_secret_of_a_polling_client_is_refused(clients: Clients, client_id: str) -> None:
    clients.update(client_id, events="poll")

    with pytest.raises(InvalidClient, match="no Events URL"):
        clients.rotate_events_secret(client_id, 0)
