"""Where values are sealed: every place is known to the job that seals them anew, and what it sealed can be opened."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

import pytest

from chalicelib.foundation.crypto.keyring import data_key_id
from chalicelib.foundation.crypto.sealed_places import sealed_values
from chalicelib.foundation.dynamodb.store import Item
from chalicelib.sealed_places import SEALED_PLACES
from tests.openbanking.faults import items
from tests.resources import for_stage
from tests.sealing import reseal_all, seal_something_everywhere
from tests.world import World

OWN_KEYS = "demo-banks"
"""The table that is sealed with keys of the demonstration banks."""


def tables() -> list[str]:
    names = [table["TableName"].removeprefix("causeway-local-") for table in for_stage("local").tables()]
    return [name for name in names if name != OWN_KEYS]


def stored(world: World) -> Iterator[tuple[str, str, Item]]:
    """Table, attribute and item of everything that may be a sealed value."""
    known = set(world.hub.keyring.data_keys())
    for table in tables():
        for item in items(world, table):
            for name, value in item.items():
                if any(data_key_id(each) in known for each in sealed_values(value)):
                    yield table, name, item


def keys_of(world: World) -> Counter[int | None]:
    found = [(item[name]) for _, name, item in stored(world)]
    return Counter(data_key_id(value) for each in found for value in sealed_values(each))


@pytest.fixture
def sealed_world(world: World) -> Iterator[World]:
    """A world with a value at every place."""
    with world.manager_wants_events():
        seal_something_everywhere(world)
        yield world


def test_sealed_places_list_every_sealed_attribute(sealed_world: World) -> None:
    found = {(table, name) for table, name, _ in stored(sealed_world)}

    assert found == {(place.table, place.attribute) for place in SEALED_PLACES}
    for table, name, item in stored(sealed_world):
        contexts = [place.context(item) for place in SEALED_PLACES if (place.table, place.attribute) == (table, name)]
        assert len([each for each in contexts if each is not None]) == 1, (table, name, item)


def test_all_values_are_resealed_after_a_rotation_and_keep_their_text(sealed_world: World) -> None:
    texts = opened(sealed_world)

    reseal_all(sealed_world)

    assert keys_of(sealed_world).keys() == {max(sealed_world.hub.keyring.data_keys())}
    assert opened(sealed_world) == texts


def opened(world: World) -> list[str]:
    """All sealed values in plaintext, in the order of the tables and keys."""
    texts = []
    for table, name, item in stored(world):
        places = [place for place in SEALED_PLACES if (place.table, place.attribute) == (table, name)]
        context = next(context for place in places if (context := place.context(item)) is not None)
        texts += [world.hub.vault.unseal(value, context) for value in sealed_values(item[name])]
    return texts
