"""The secrets of card events: one is made with the first Events URL, others when the operator says so."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from chalicelib.cards.events.event_secrets import EventSecrets, NoEventSecret, secrets_key
from chalicelib.foundation.crypto.vault import Unsealable
from chalicelib.foundation.dynamodb.store import ConditionFailed, Delete
from tests.openbanking.faults import FAULTS, Fault
from tests.world import World

NEW = 77
"""A programme manager that nobody else has."""
DAY = 24 * 3600


@pytest.fixture
def secrets(world: World) -> Iterator[EventSecrets]:
    yield world.hub.cards.event_secrets
    world.hub.store.transact([Delete(*secrets_key(NEW))])


def in_use(world: World, manager_id: int = NEW) -> list[str]:
    """What events are signed with now."""
    return world.hub.cards.event_secrets.open_secrets(manager_id, world.hub.store.get(*secrets_key(NEW)))


def first(secrets: EventSecrets) -> str:
    """The first secret, made."""
    plain, made = secrets.create_first(NEW)
    secrets.store.transact([made])
    return plain


def test_the_first_secret_is_made_once(world: World, secrets: EventSecrets) -> None:
    assert not secrets.has_any(NEW)
    made = first(secrets)

    with pytest.raises(ConditionFailed):
        first(secrets)

    assert made.startswith("whsec_")
    assert (secrets.has_any(NEW), in_use(world)) == (True, [made])


@pytest.mark.parametrize("kind", FAULTS)
def test_the_secret_that_is_shown_is_the_one_that_signs_whatever_storage_does(
    world: World, secrets: EventSecrets, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(world.hub.store, "_pause", lambda seconds: None)
    old = first(secrets)

    with Fault(world, kind, 1, operation="TransactWriteItems") as fault:
        made = secrets.rotate(NEW, DAY)

    assert fault.hit is not None
    assert in_use(world) == [made.secret, old]


def test_a_rotation_keeps_the_one_before_it_for_the_overlap_and_none_before_that(
    world: World, secrets: EventSecrets
) -> None:
    oldest = first(secrets)
    second, third = (secrets.rotate(NEW, DAY) for _ in range(2))

    assert third.old_until == world.clock.time() + DAY
    assert in_use(world) == [third.secret, second.secret]
    assert oldest not in in_use(world)
    world.clock.advance(DAY)
    assert in_use(world) == [third.secret]


def test_without_an_overlap_the_old_one_ends_at_once(world: World, secrets: EventSecrets) -> None:
    first(secrets)
    made = secrets.rotate(NEW, 0)

    assert (in_use(world), made.old_until) == ([made.secret], None)


def test_of_two_rotations_at_a_time_none_is_lost(world: World, secrets: EventSecrets) -> None:
    first(secrets)
    others = []

    with world.meanwhile("transact", lambda: others.append(secrets.rotate(NEW, DAY))):
        mine = secrets.rotate(NEW, DAY)

    assert in_use(world) == [mine.secret, others[0].secret]


def test_a_programme_manager_without_an_events_url_has_no_secret_to_rotate(secrets: EventSecrets) -> None:
    with pytest.raises(NoEventSecret, match=f"programme manager {NEW} has no Events URL"):
        secrets.rotate(NEW, DAY)


def test_a_secret_opens_for_its_own_programme_manager_only(world: World, secrets: EventSecrets) -> None:
    first(secrets)

    with pytest.raises(Unsealable):
        in_use(world, NEW + 1)
