"""The clients' table: the secrets that events are signed with, which nobody overlooks and nothing loses."""

from __future__ import annotations

import base64
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from botocore.exceptions import ReadTimeoutError
from standardwebhooks import Webhook

from chalicelib.foundation import event_signing
from chalicelib.foundation.store import ConditionFailed, Conflict
from chalicelib.foundation.vault import Unsealable
from chalicelib.openbanking.clients import Clients, InvalidClient, Registered, UnknownClient
from tests import host_spellings
from tests.openbanking.faults import FAULTS, Fault
from tests.world import World

URL = "https://tpp.example.com/events"
DAY = 24 * 3600


@pytest.fixture
def clients(world: World) -> Clients:
    return world.hub.clients


@pytest.fixture
def other(world: World) -> Clients:
    """The clients as another operator's process has them."""
    return world.another_process().clients


@pytest.fixture
def made(clients: Clients) -> Registered:
    """A client that is told of events."""
    return clients.create(owner="a@example.com", title="Told", events_url=URL)


@pytest.fixture
def client_id(made: Registered) -> str:
    return made.client.client_id


def signing(clients: Clients, client_id: str) -> list[str | None]:
    """What the client's events are signed with now, newest first."""
    return [*clients.events_secrets(clients.get(client_id))]


# -- what a client gets


def test_a_client_with_an_events_url_gets_a_secret_that_verifies_its_events(clients: Clients, made: Registered) -> None:
    client = clients.get(made.client.client_id)
    signed = event_signing.headers(clients.events_secrets(client), "an-event", int(time.time()), b"{}")

    assert client == made.client
    assert made.events_secret is not None
    assert len(base64.b64decode(made.events_secret.removeprefix("whsec_"), validate=True)) == 32
    Webhook(made.events_secret).verify(b"{}", signed)


def test_a_client_without_an_events_url_gets_none(world: World, clients: Clients) -> None:
    made = clients.create(owner="a@example.com", title="Untold")

    assert (made.events_secret, made.client.event_secrets, clients.events_secrets(made.client)) == (None, (), [])
    assert clients.get(made.client.client_id) == made.client


def test_two_clients_never_share_a_secret(clients: Clients, made: Registered) -> None:
    assert clients.create(owner="a@example.com", title="Told", events_url=URL).events_secret != made.events_secret


def test_neither_the_table_nor_a_log_of_the_objects_has_a_secret_in_clear(
    world: World, clients: Clients, made: Registered
) -> None:
    both = clients.create(owner="a@example.com", title="Told", events_url=URL, secret=True)
    for registered in (made, both):
        item = world.hub.store.get("clients", {"client_id": registered.client.client_id})
        texts = [repr(item), repr(registered), repr(registered.client)]
        secrets = [secret for secret in (registered.secret, registered.events_secret) if secret]
        assert not [secret for secret in secrets for text in texts if secret.removeprefix("whsec_") in text]
        assert base64.b64decode(secrets[-1].removeprefix("whsec_")) not in item["event_secrets"][0]["sealed"]


def test_a_secret_that_is_moved_to_another_client_does_not_open(clients: Clients, made: Registered) -> None:
    with pytest.raises(Unsealable):
        clients.events_secrets(replace(made.client, client_id="another"))


# -- where events go


def test_with_its_first_events_url_a_client_gets_its_secret(world: World, clients: Clients) -> None:
    assert clients.set_events_url(world.client.client_id, None) == Registered(world.client)

    told = clients.set_events_url(world.client.client_id, URL)

    assert told.client == clients.get(world.client.client_id)
    assert told.client.events_url == URL
    assert signing(clients, world.client.client_id) == [told.events_secret]


def test_the_secret_stays_when_the_address_moves_goes_and_comes_back(
    clients: Clients, made: Registered, client_id: str
) -> None:
    for url in (f"{URL}/moved", None, URL):
        changed = clients.set_events_url(client_id, url)

        assert changed.events_secret is None
        assert changed.client == clients.get(client_id)
        assert changed.client.events_url == url
        assert signing(clients, client_id) == [made.events_secret]


@pytest.mark.parametrize("url", ["", "tpp.example.com", "ftp://tpp.example.com", f"{URL}#there"])
def test_an_address_that_cannot_be_changes_nothing(clients: Clients, made: Registered, url: str) -> None:
    with pytest.raises(InvalidClient, match="events_url must"):
        clients.set_events_url(made.client.client_id, url)

    assert clients.get(made.client.client_id) == made.client


@pytest.mark.parametrize("host", host_spellings.REFUSED)
def test_no_address_of_a_client_is_private_in_any_spelling_outside_the_local_stage(world: World, host: str) -> None:
    clients = world.another_process(replace(world.hub.settings, stage="dev")).clients
    url = f"https://{host}/"

    with pytest.raises(InvalidClient, match=r"callback_url (must|is not an address)"):
        clients.create(owner="a@example.com", title="Lured", callback_url=url)
    with pytest.raises(InvalidClient, match=r"events_url (must|is not an address)"):
        clients.create(owner="a@example.com", title="Lured", callback_url=URL, events_url=url)
    with pytest.raises(InvalidClient, match=r"events_url (must|is not an address)"):
        clients.set_events_url(world.client.client_id, url)


# -- rotation


def test_during_an_overlap_both_secrets_sign_and_then_the_new_one_alone(
    world: World, clients: Clients, made: Registered, client_id: str
) -> None:
    rotated = clients.rotate_events_secret(client_id, DAY)

    assert rotated.client == clients.get(client_id)
    world.clock.advance(DAY - 1)
    assert signing(clients, client_id) == [rotated.events_secret, made.events_secret]
    world.clock.advance(1)
    assert signing(clients, client_id) == [rotated.events_secret]


def test_without_an_overlap_the_old_secret_ends_at_once(clients: Clients, client_id: str) -> None:
    clients.rotate_events_secret(client_id, DAY)
    rotated = clients.rotate_events_secret(client_id, 0)

    assert signing(clients, client_id) == [rotated.events_secret]
    assert len(clients.get(client_id).event_secrets) == 1


def test_another_rotation_within_an_overlap_ends_the_oldest(clients: Clients, client_id: str) -> None:
    second, third = (clients.rotate_events_secret(client_id, DAY).events_secret for _ in range(2))

    assert signing(clients, client_id) == [third, second]


def test_a_client_without_an_events_url_has_no_secret_to_rotate(world: World, clients: Clients, client_id: str) -> None:
    clients.set_events_url(client_id, None)

    for untold in (client_id, world.client.client_id):
        with pytest.raises(InvalidClient, match="has no Events URL"):
            clients.rotate_events_secret(untold, DAY)


def test_nobody_has_no_events(clients: Clients) -> None:
    for change in (lambda: clients.set_events_url("nobody", URL), lambda: clients.rotate_events_secret("nobody", 0)):
        with pytest.raises(UnknownClient):
            change()
    with pytest.raises(UnknownClient):
        clients.get("nobody")


# -- two operators


def test_of_two_rotations_at_once_neither_secret_is_lost(
    world: World, clients: Clients, other: Clients, client_id: str
) -> None:
    theirs: list[Registered] = []

    with world.meanwhile("transact", lambda: theirs.append(other.rotate_events_secret(client_id, DAY))):
        ours = clients.rotate_events_secret(client_id, DAY)

    assert signing(clients, client_id) == [ours.events_secret, theirs[0].events_secret]
    assert ours.client == clients.get(client_id)


def test_of_two_first_addresses_at_once_one_makes_the_secret(world: World, clients: Clients, other: Clients) -> None:
    client_id, theirs = world.client.client_id, list[Registered]()

    with world.meanwhile("transact", lambda: theirs.append(other.set_events_url(client_id, f"{URL}/theirs"))):
        ours = clients.set_events_url(client_id, URL)

    assert ours.events_secret is None
    assert signing(clients, client_id) == [theirs[0].events_secret]
    assert clients.get(client_id) == ours.client


CHANGES: dict[str, tuple[Callable[[Clients, str], object], dict[str, Any]]] = {
    "another address": (
        lambda clients, client_id: clients.set_events_url(client_id, f"{URL}/2"),
        {"events_url": f"{URL}/2"},
    ),
    "switched off": (lambda clients, client_id: clients.deactivate(client_id), {"active": False}),
}


@pytest.mark.parametrize(("change", "expected"), CHANGES.values(), ids=CHANGES)
def test_a_rotation_undoes_nothing_that_changed_meanwhile(
    world: World,
    clients: Clients,
    other: Clients,
    client_id: str,
    change: Callable[[Clients, str], object],
    expected: dict[str, Any],
) -> None:
    with world.meanwhile("transact", lambda: change(other, client_id)):
        rotated = clients.rotate_events_secret(client_id, 0)

    client = clients.get(client_id)
    assert {name: getattr(client, name) for name in expected} == expected
    assert signing(clients, client_id) == [rotated.events_secret]


def test_a_change_that_others_overtake_again_and_again_is_given_up(
    world: World, clients: Clients, made: Registered, monkeypatch: pytest.MonkeyPatch
) -> None:
    def overtaken(operations: object) -> None:
        raise ConditionFailed([None], [0])

    monkeypatch.setattr(world.hub.store, "_pause", lambda seconds: None)
    monkeypatch.setattr(world.hub.store, "transact", overtaken)

    with pytest.raises(Conflict):
        clients.rotate_events_secret(made.client.client_id, DAY)


# -- storage that loses answers


@pytest.mark.parametrize("kind", FAULTS)
def test_the_secret_that_is_shown_is_the_one_that_signs_whatever_storage_does(
    world: World, clients: Clients, made: Registered, client_id: str, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(world.hub.store, "_pause", lambda seconds: None)

    with Fault(world, kind, 1, operation="TransactWriteItems") as fault:
        rotated = clients.rotate_events_secret(client_id, DAY)

    assert fault.hit is not None
    assert signing(clients, client_id) == [rotated.events_secret, made.events_secret]


def test_a_repeat_that_storage_does_not_recognise_is_recognised_here(
    world: World, clients: Clients, made: Registered, client_id: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    client = world.hub.store._client
    send, answers = client.transact_write_items, iter([ReadTimeoutError(endpoint_url="http://127.0.0.1:1")])

    def losing(**request: Any) -> Any:
        answer = send(**request)
        for lost in answers:
            raise lost
        return answer

    monkeypatch.setattr(client, "transact_write_items", losing)
    rotated = clients.rotate_events_secret(client_id, DAY)

    assert signing(clients, client_id) == [rotated.events_secret, made.events_secret]
