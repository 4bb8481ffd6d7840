"""Encrypted ("sealed") attributes: the reencryption job lists all of them, and all values can be decrypted."""

from collections import Counter
from collections.abc import Iterator

import pytest

from chalicelib.foundation.crypto.keyring import data_key_id
from chalicelib.foundation.crypto.sealed_places import sealed_values
from chalicelib.foundation.dynamodb.store import Item
from chalicelib.sealed_places import SEALED_PLACES
from tests.causeway import Causeway
from tests.infra.deployment import for_stage
from tests.openbanking.faults import items
from tests.upgrade.play import reseal_all, seal_something_everywhere

OWN_KEYS = "demo-banks"
"""The table whose values are encrypted with the demonstration banks' own keys instead of the service's data keys."""


def tables() -> list[str]:
    names = [table["TableName"].removeprefix("causeway-local-") for table in for_stage("local").tables()]
    return [name for name in names if name != OWN_KEYS]


def stored(causeway: Causeway) -> Iterator[tuple[str, str, Item]]:
    known = set(causeway.hub.keyring.data_keys())
    for table in tables():
        for item in items(causeway, table):
            for name, value in item.items():
                if any(data_key_id(each) in known for each in sealed_values(value)):
                    yield table, name, item


def keys_of(causeway: Causeway) -> Counter[int | None]:
    found = [(item[name]) for _, name, item in stored(causeway)]
    return Counter(data_key_id(value) for each in found for value in sealed_values(each))


@pytest.fixture
def sealed_causeway(causeway: Causeway) -> Iterator[Causeway]:
    with causeway.manager_wants_events():
        seal_something_everywhere(causeway)
        yield causeway


def test_the_list_of_encrypted_attributes_is_complete(sealed_causeway: Causeway) -> None:
    found = {(table, name) for table, name, _ in stored(sealed_causeway)}

    assert found == {(place.table, place.attribute) for place in SEALED_PLACES}
    for table, name, item in stored(sealed_causeway):
        contexts = [place.context(item) for place in SEALED_PLACES if (place.table, place.attribute) == (table, name)]
        assert len([each for each in contexts if each is not None]) == 1, (table, name, item)


def test_all_values_are_reencrypted_after_a_key_rotation_with_unchanged_plaintext(sealed_causeway: Causeway) -> None:
    texts = opened(sealed_causeway)

    reseal_all(sealed_causeway)

    assert keys_of(sealed_causeway).keys() == {max(sealed_causeway.hub.keyring.data_keys())}
    assert opened(sealed_causeway) == texts


def opened(causeway: Causeway) -> list[str]:
    texts = []
    for table, name, item in stored(causeway):
        places = [place for place in SEALED_PLACES if (place.table, place.attribute) == (table, name)]
        context = next(context for place in places if (context := place.context(item)) is not None)
        texts += [causeway.hub.vault.unseal(value, context) for value in sealed_values(item[name])]
    return texts
