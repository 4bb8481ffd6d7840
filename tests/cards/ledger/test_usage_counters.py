"""Tests of the usage counters of limits: each card, account and holder has one item, and concurrent writes conflict."""

from dataclasses import replace

import pytest

from chalicelib.cards.ledger.usage_counters import Counters, Window, key
from chalicelib.foundation.dynamodb.items import pack, unpack
from chalicelib.foundation.dynamodb.store import ConditionFailed, Store
from tests.causeway import Causeway

DE, FR = 276, 250
WINDOWS = {"3.1": Window(1_786_492_800, 2, 999_999_999_999_999, {str(DE): 2, str(FR): 1}), "3.2": Window(1_786_320_000)}


@pytest.fixture
def store(causeway: Causeway) -> Store:
    return causeway.hub.store


def test_cards_accounts_and_holders_have_separate_counters() -> None:
    assert key("card", 5) == ("ledger", {"owner": "card#5", "part": "limits"})
    assert key("account", 17) == ("ledger", {"owner": "account#17", "part": "limits"})
    assert key("holder", 9) == ("ledger", {"owner": "holder#9", "part": "limits"})


def test_counters_without_an_item_are_empty() -> None:
    fresh = Counters.from_item("card", 5, None)

    assert (fresh.owner, fresh.version, fresh.windows) == ("card#5", 0, {})


def test_counters_written_to_an_item_are_read_back_unchanged() -> None:
    written = Counters.from_item("card", 5, None).put(Counters("card#5", windows=WINDOWS), "W1")
    again = Counters.from_item("card", 5, unpack(pack(written.item)))

    assert again == Counters("card#5", 1, WINDOWS)
    assert again.put(Counters("card#5"), "W2").item == {
        "owner": "card#5",
        "part": "limits",
        "version": 2,
        "windows": {},
        "written_by": "W2",
    }


def test_only_the_first_of_two_concurrent_writers_stores_counters(store: Store) -> None:
    place = key("card", 900_000_005)
    for version in (0, 1):
        read = Counters.from_item("card", 900_000_005, store.get(*place))
        assert read.version == version
        store.transact([read.put(replace(read, windows=WINDOWS), "W1")])
        with pytest.raises(ConditionFailed):
            store.transact([read.put(replace(read, windows={}), "W2")])

    assert Counters.from_item("card", 900_000_005, store.get(*place)) == Counters("card#900000005", 2, WINDOWS)


def test_deleted_counters_are_not_recreated(store: Store) -> None:
    with pytest.raises(ConditionFailed):
        store.transact([Counters("account#900000017", 1, WINDOWS).put(Counters("account#900000017"), "W1")])
