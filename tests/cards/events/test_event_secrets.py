"""Tests of event secrets: the first Events URL creates a secret, and the operator rotates the secret."""

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
from tests.causeway import Causeway
from tests.openbanking.faults import FAULTS, Fault

NEW = 77
DAY = 24 * 3600


@pytest.fixture
def cards(causeway: Causeway) -> Iterator[CardContainer]:
    yield causeway.hub.cards
    causeway.hub.store.transact([Delete(*secrets_key(NEW))])


def in_use(causeway: Causeway, manager_id: int = NEW) -> list[str]:
    return open_secrets(
        manager_id, causeway.hub.store.get(*secrets_key(NEW)), causeway.hub.vault, causeway.clock.time()
    )


def first(cards: CardContainer) -> str:
    plain, made = cards.call(create_events_secret, NEW)
    cards.shared.store.transact([made])
    return plain


def test_the_first_event_secret_is_created_once(causeway: Causeway, cards: CardContainer) -> None:
    assert not cards.call(has_events_secret, NEW)
    made = first(cards)

    with pytest.raises(ConditionFailed):
        first(cards)

    assert made.startswith("whsec_")
    assert (cards.call(has_events_secret, NEW), in_use(causeway)) == (True, [made])


@pytest.mark.parametrize("kind", FAULTS)
def test_a_rotation_returns_the_stored_signing_secret_despite_a_storage_fault(
    causeway: Causeway, cards: CardContainer, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(causeway.hub.store, "pause", lambda seconds: None)
    old = first(cards)

    with Fault(causeway, kind, 1, operation="TransactWriteItems") as fault:
        made = cards.call(rotate_events_secret, NEW, DAY)

    assert fault.hit is not None
    assert in_use(causeway) == [made.secret, old]


def test_only_the_new_and_the_previous_secret_are_valid_during_a_rotation_overlap(
    causeway: Causeway, cards: CardContainer
) -> None:
    oldest = first(cards)
    second, third = (cards.call(rotate_events_secret, NEW, DAY) for _ in range(2))

    assert third.old_until == causeway.clock.time() + DAY
    assert in_use(causeway) == [third.secret, second.secret]
    assert oldest not in in_use(causeway)
    causeway.clock.advance(DAY)
    assert in_use(causeway) == [third.secret]


def test_a_rotation_without_an_overlap_invalidates_the_old_secret_immediately(
    causeway: Causeway, cards: CardContainer
) -> None:
    first(cards)
    made = cards.call(rotate_events_secret, NEW, 0)

    assert (in_use(causeway), made.old_until) == ([made.secret], None)


def test_two_parallel_secret_rotations_store_both_new_secrets(causeway: Causeway, cards: CardContainer) -> None:
    first(cards)
    others = []

    with causeway.meanwhile("transact", lambda: others.append(cards.call(rotate_events_secret, NEW, DAY))):
        mine = cards.call(rotate_events_secret, NEW, DAY)

    assert in_use(causeway) == [mine.secret, others[0].secret]


def test_a_programme_manager_without_an_events_url_has_no_secret_to_rotate(cards: CardContainer) -> None:
    with pytest.raises(NoEventSecret, match=f"programme manager {NEW} has no Events URL"):
        cards.call(rotate_events_secret, NEW, DAY)


def test_a_secret_can_be_decrypted_only_for_its_own_programme_manager(causeway: Causeway, cards: CardContainer) -> None:
    first(cards)

    with pytest.raises(Unsealable):
        in_use(causeway, NEW + 1)
