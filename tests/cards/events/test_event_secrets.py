"""The secrets of card events: one is made with the first Events URL, others when the operator says so."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from chalicelib.cards.container import CardContainer
from chalicelib.cards.events.event_secrets import (
    NoEventSecret,
    create_events_secret,
    has_events_secret,
    open_secrets,
    rotate_events_secret,
    secrets_key,
)
from chalicelib.foundation.crypto.keyring import Unsealable
from chalicelib.foundation.dynamodb.store import ConditionFailed, Delete
from tests.openbanking.faults import FAULTS, Fault
from tests.world import World

NEW = 77
"""A programme manager that nobody else has."""
DAY = 24 * 3600


@pytest.fixture
def cards(world: World) -> Iterator[CardContainer]:
    yield world.hub.cards
    world.hub.store.transact([Delete(*secrets_key(NEW))])


def in_use(world: World, manager_id: int = NEW) -> list[str]:
    """What events are signed with now."""
    return open_secrets(manager_id, world.hub.store.get(*secrets_key(NEW)), world.hub.vault, world.clock.time())


def first(cards: CardContainer) -> str:
    """The first secret, made."""
    plain, made = cards.call(create_events_secret, NEW)
    cards.shared.store.transact([made])
    return plain


def test_the_first_event_secret_is_created_once(world: World, cards: CardContainer) -> None:
    assert not cards.call(has_events_secret, NEW)
    made = first(cards)

    with pytest.raises(ConditionFailed):
        first(cards)

    assert made.startswith("whsec_")
    assert (cards.call(has_events_secret, NEW), in_use(world)) == (True, [made])


@pytest.mark.parametrize("kind", FAULTS)
def test_a_rotation_returns_the_stored_signing_secret_despite_a_storage_fault(
    world: World, cards: CardContainer, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(world.hub.store, "_pause", lambda seconds: None)
    old = first(cards)

    with Fault(world, kind, 1, operation="TransactWriteItems") as fault:
        made = cards.call(rotate_events_secret, NEW, DAY)

    assert fault.hit is not None
    assert in_use(world) == [made.secret, old]


def test_a_rotation_keeps_only_the_previous_secret_during_the_overlap(world: World, cards: CardContainer) -> None:
    oldest = first(cards)
    second, third = (cards.call(rotate_events_secret, NEW, DAY) for _ in range(2))

    assert third.old_until == world.clock.time() + DAY
    assert in_use(world) == [third.secret, second.secret]
    assert oldest not in in_use(world)
    world.clock.advance(DAY)
    assert in_use(world) == [third.secret]


def test_a_rotation_without_overlap_ends_the_old_secret_at_once(world: World, cards: CardContainer) -> None:
    first(cards)
    made = cards.call(rotate_events_secret, NEW, 0)

    assert (in_use(world), made.old_until) == ([made.secret], None)


def test_two_parallel_rotations_keep_both_new_secrets(world: World, cards: CardContainer) -> None:
    first(cards)
    others = []

    with world.meanwhile("transact", lambda: others.append(cards.call(rotate_events_secret, NEW, DAY))):
        mine = cards.call(rotate_events_secret, NEW, DAY)

    assert in_use(world) == [mine.secret, others[0].secret]


def test_a_programme_manager_without_an_events_url_has_no_secret_to_rotate(cards: CardContainer) -> None:
    with pytest.raises(NoEventSecret, match=f"programme manager {NEW} has no Events URL"):
        cards.call(rotate_events_secret, NEW, DAY)


def test_a_secret_opens_for_its_own_programme_manager_only(world: World, cards: CardContainer) -> None:
    first(cards)

    with pytest.raises(Unsealable):
        in_use(world, NEW + 1)
