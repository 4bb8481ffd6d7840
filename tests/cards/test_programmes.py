"""Set-ups as requests see them: cached for a minute, and what is used cannot go."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest

from chalicelib.cards.programmes import EntryGone, UnknownManager
from chalicelib.foundation.store import StoreUnavailable
from tests.cards.setups import loaded, manager
from tests.conftest import Lines
from tests.world import World


@pytest.fixture
def small(world: World) -> dict[str, Any]:
    """A programme manager that is loaded."""
    made = manager()
    loaded(world.hub, made)
    return made


def renamed(content: dict[str, Any]) -> dict[str, Any]:
    return content | {"name": "Another Name"}


def test_a_set_up_is_what_was_loaded(world: World, small: dict[str, Any]) -> None:
    found = world.hub.programmes.catalogue(small["id"])

    assert (found.manager_id, found.name, found.currencies) == (small["id"], "Small Programme", (978, 826))
    assert found.rates == {(978, 826): Decimal("0.86")}
    programme = found.card_programmes[1]
    assert (programme.bin, programme.pan_length, programme.currencies) == ("222300", 16, (978,))
    assert (programme.account_limit_group_ids, programme.countries) == ((2,), ())
    assert found.account_programmes[1].holder_limit_group_id is None
    assert found.limit_groups[3].limit_type == 3
    assert list(found.designs) == [1, 2]


def test_an_unknown_programme_manager_is_refused(world: World) -> None:
    with pytest.raises(UnknownManager):
        world.hub.programmes.catalogue(8999)


def test_a_change_holds_after_a_minute_and_costs_one_round_trip(
    world: World, small: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    queries: list[Any] = []
    real = world.hub.store.query
    monkeypatch.setattr(world.hub.store, "query", lambda *given, **more: queries.append(given) or real(*given, **more))
    programmes = world.another_process().programmes
    programmes.catalogue(small["id"])
    loaded(world.hub, renamed(small))
    del queries[:]
    world.clock.advance(59)
    assert programmes.catalogue(small["id"]).name == "Small Programme"
    assert queries == []

    world.clock.advance(1)

    assert programmes.catalogue(small["id"]).name == "Another Name"
    assert len(queries) == 1


def test_what_was_read_before_goes_on_while_storage_is_gone(world: World, small: dict[str, Any], lines: Lines) -> None:
    programmes = world.another_process().programmes
    before = programmes.catalogue(small["id"])
    loaded(world.hub, renamed(small))
    world.clock.advance(60)
    with world.storage_gone("query"):
        assert programmes.catalogue(small["id"]) is before
    assert [line["message"] for line in lines.all()] == ["programme not read again"]
    world.clock.advance(59)
    assert programmes.catalogue(small["id"]) is before, "it goes on for as long again"
    world.clock.advance(1)

    assert programmes.catalogue(small["id"]).name == "Another Name"


def test_what_was_never_read_is_not_made_up(world: World, small: dict[str, Any]) -> None:
    with world.storage_gone("query"), pytest.raises(StoreUnavailable):
        world.another_process().programmes.catalogue(small["id"])


def test_a_first_use_is_noted_once_by_each_process_that_does_not_know_of_it(
    world: World, small: dict[str, Any]
) -> None:
    hub, other = world.another_process(), world.another_process()
    hub.programmes.mark_used(hub.programmes.catalogue(small["id"]), [("design", 1), ("fee_group", 1), ("design", 1)])
    assert hub.programmes.set_up(small["id"]).used == {("design", 1), ("fee_group", 1)}

    with world.storage_gone("update"):
        hub.programmes.mark_used(hub.programmes.catalogue(small["id"]), [("fee_group", 1), ("design", 1)])
        other.programmes.mark_used(other.programmes.catalogue(small["id"]), [("design", 1)])
        with pytest.raises(StoreUnavailable):
            hub.programmes.mark_used(hub.programmes.catalogue(small["id"]), [("design", 2)])


def test_what_was_removed_before_its_first_use_is_gone_and_the_set_up_read_afresh(
    world: World, small: dict[str, Any]
) -> None:
    programmes = world.another_process().programmes
    catalogue = programmes.catalogue(small["id"])
    loaded(world.hub, small | {"designs": small["designs"][:1]})

    with pytest.raises(EntryGone) as caught:
        programmes.mark_used(catalogue, [("design", 1), ("design", 2)])

    assert caught.value.references == (("design", 2),)
    assert str(caught.value) == "design 2"
    assert list(programmes.catalogue(small["id"]).designs) == [1]
    assert ("design", 2) not in programmes.set_up(small["id"]).used, "a first use does not bring it back"
