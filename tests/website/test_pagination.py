"""Lists: every row stands on one page, and every page that is asked for is one that exists; clients of forms."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from chalicelib.openbanking.records.client_record import Client
from chalicelib.website import pagination
from chalicelib.website.pagination import PAGE, all_newest_first, newest_first, paginate, select_choices
from tests.world import World


@pytest.mark.parametrize("count", [0, 1, PAGE, PAGE + 1, 45])
def test_every_row_stands_on_one_page(count: int) -> None:
    rows = list(range(count))
    pages = paginate(rows, "1").pages

    assert [row for number in range(1, pages + 1) for row in paginate(rows, str(number)).rows] == rows
    assert paginate(rows, "").total == count


@pytest.mark.parametrize(
    ("asked", "number"),
    [("", 1), ("0", 1), ("-1", 1), ("x", 1), ("3", 3), ("4", 3), ("٣", 1), ("9" * 400, 3), ("0002", 2), ("000", 1)],
)
def test_the_nearest_page_is_shown(asked: str, number: int) -> None:
    assert paginate(range(45), asked).number == number


@pytest.fixture
def own(world: World, email: str, monkeypatch: pytest.MonkeyPatch) -> Sequence[Client]:
    """Four clients, "4" the newest and "1" inactive; a form offers two."""
    monkeypatch.setattr(pagination, "MAX_CHOICES", 2)
    for number in range(1, 5):
        world.hub.openbanking.clients.create(owner=email, title=str(number), active=number != 1)
        world.clock.advance(1)
    return newest_first(world.hub.openbanking.clients, email)


def titles(clients: Sequence[Client]) -> str:
    return "".join(client.title for client in clients)


def test_the_newest_client_comes_first_and_nobody_elses(world: World, own: Sequence[Client]) -> None:
    world.hub.openbanking.clients.create(owner="other@example.com", title="x")

    assert titles(own) == "4321"


def test_an_archived_client_is_left_out_unless_it_is_chosen(world: World, own: Sequence[Client], email: str) -> None:
    clients = world.hub.openbanking.clients
    clients.archive(own[1].client_id)

    assert titles(newest_first(clients, email)) == "421"
    assert titles(newest_first(clients, email, own[1].client_id)) == "4321"
    assert titles(all_newest_first(clients, email)) == "4321"


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
