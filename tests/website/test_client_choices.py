"""A user's clients in forms: the newest first, no more than a form can offer, and the chosen one among them."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from chalicelib.openbanking.records.client_record import Client
from chalicelib.website import client_choices
from chalicelib.website.client_choices import newest_first, select_choices
from tests.world import World


@pytest.fixture
def own(world: World, email: str, monkeypatch: pytest.MonkeyPatch) -> Sequence[Client]:
    """Four clients, "4" the newest and "1" inactive; a form offers two."""
    monkeypatch.setattr(client_choices, "MAX_CHOICES", 2)
    for number in range(1, 5):
        world.hub.openbanking.clients.create(owner=email, title=str(number), active=number != 1)
        world.clock.advance(1)
    return newest_first(world.hub.openbanking.clients, email)


def titles(clients: Sequence[Client]) -> str:
    return "".join(client.title for client in clients)


def test_the_newest_client_comes_first_and_nobody_elses(world: World, own: Sequence[Client]) -> None:
    world.hub.openbanking.clients.create(owner="other@example.com", title="x")

    assert titles(own) == "4321"


@pytest.mark.parametrize(
    ("chosen", "active", "offered"),
    [
        ("", False, "43"),
        ("4", False, "43"),
        ("2", False, "432"),
        ("1", False, "431"),
        ("2", True, "432"),
        ("1", True, "43"),
    ],
)
def test_the_chosen_client_is_offered_wherever_it_stands(
    own: Sequence[Client], chosen: str, active: bool, offered: str
) -> None:
    client_id = next((client.client_id for client in own if client.title == chosen), "")

    assert titles(select_choices(own, client_id, active=active)) == offered
