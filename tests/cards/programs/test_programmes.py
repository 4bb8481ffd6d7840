"""Tests of the set-ups that requests use: set-ups are cached for a minute, and used entries are protected."""

from decimal import Decimal
from typing import Any

import pytest

from chalicelib.cards.programs.catalogue import FeeEntry, LimitEntry, Rate, Region, SpecialAccountEntry
from chalicelib.cards.programs.programmes import EntryGone, UnknownManager, head_key
from chalicelib.foundation.dynamodb.store import StoreUnavailable
from tests.cards.programmes import fee, limit, loaded, manager, planned, region, special_account
from tests.causeway import Causeway
from tests.kit.logs import Lines


@pytest.fixture
def small(causeway: Causeway) -> dict[str, Any]:
    made = manager()
    loaded(causeway.hub, made)
    return made


def renamed(content: dict[str, Any]) -> dict[str, Any]:
    return content | {"name": "Another Name"}


def test_the_catalogue_of_a_programme_manager_returns_the_loaded_programme(
    causeway: Causeway, small: dict[str, Any]
) -> None:
    found = causeway.hub.cards.programmes.catalogue(small["id"])

    assert found.manager_id == small["id"]
    assert found.name == "Small Programme"
    assert found.currencies == (978, 826)
    assert found.rates == {(978, 826): Rate(Decimal("0.86"), Decimal(0))}
    programme = found.card_programmes[1]
    assert programme.bin == "222300"
    assert programme.pan_length == 16
    assert programme.currencies == (978,)
    assert (programme.account_limit_group_ids, programme.countries) == ((2,), ())
    assert found.account_programmes[1].holder_limit_group_id is None
    assert found.limit_groups[3].limit_type == 3
    assert list(found.designs) == [1, 2]


def test_a_catalogue_returns_the_loaded_fees_limits_regions_and_special_accounts(causeway: Causeway) -> None:
    made = manager(
        exchange_rates=[{"of": 978, "to": 826, "rate": "0.860", "markup_percent": "1.50"}],
        regions=[region(4, 276, 40)],
        special_accounts=[special_account(5, access_level=7)],
        fee_groups=[{"id": 1, "name": "Fees", "entries": [fee(percent="0.50", minimum=5, region=4, blended=True)]}],
    )
    limits = limit(2, **{"class": 2, "transaction_currency": 826}, holder_country=276)
    made["limit_groups"][0]["entries"] = [limits]
    loaded(causeway.hub, made)
    found, now = causeway.hub.cards.programmes.catalogue(made["id"]), causeway.clock.time()

    assert str(found.rates[978, 826]) == "Rate(base=Decimal('0.860'), markup_percent=Decimal('1.50'))"
    assert found.regions == {4: Region(4, "Region 4", (276, 40))}
    assert found.special_accounts == {5: SpecialAccountEntry(5, "Settlement", 978, 276, 7)}
    assert found.fee_groups[1].entries == (
        FeeEntry(
            "ATM", "Cash", percent=Decimal("0.5"), currency=978, region=4, minimum=5, blended=True, updated_at=now
        ),
    )
    assert found.limit_groups[1].entries == (
        LimitEntry(
            2,
            amount=1000,
            amount_currency=978,
            duration=1,
            transaction_class=2,
            holder_country=276,
            currency=826,
            updated_at=now,
        ),
    )
    assert found.account_programmes[1].conversion_fee_blended is True


def test_rates_stored_before_markups_existed_can_still_be_read(causeway: Causeway, small: dict[str, Any]) -> None:
    table, key = head_key(small["id"])
    causeway.hub.store.update(table, key, set={"rates": {"978/826": "0.86"}})

    assert causeway.another_process().cards.programmes.catalogue(small["id"]).rate(978, 826) == Rate(
        Decimal("0.86"), Decimal(0)
    )
    assert planned(causeway.hub, small)[0].changes == []


def test_a_programme_manager_stored_before_event_keys_existed_can_still_be_read(causeway: Causeway) -> None:
    made = manager(events_url="http://127.0.0.1:9700/events")
    loaded(causeway.hub, made)
    table, key = head_key(made["id"])
    kept = causeway.hub.store.get(table, key) or {}
    old = {*key, "name", "currencies", "test_bins", "rates", "events_url", "revision"}
    assert set(kept) == old, "a programme manager that delivers no values has nothing more"

    found = causeway.another_process().cards.programmes.catalogue(made["id"])

    assert (found.events_encryption_key, found.delivers_validation_values) == (None, False)
    assert planned(causeway.hub, made)[0].changes == []


def test_an_unknown_programme_manager_raises_unknown_manager(causeway: Causeway) -> None:
    with pytest.raises(UnknownManager):
        causeway.hub.cards.programmes.catalogue(8999)


def test_a_change_of_the_catalogue_is_read_after_a_minute_by_one_query(
    causeway: Causeway, small: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    queries: list[Any] = []
    real = causeway.hub.store.query

    def query(*given: Any, **more: Any) -> Any:
        queries.append(given)
        return real(*given, **more)

    monkeypatch.setattr(causeway.hub.store, "query", query)
    programmes = causeway.another_process().cards.programmes
    programmes.catalogue(small["id"])
    loaded(causeway.hub, renamed(small))
    del queries[:]
    causeway.clock.advance(59)
    assert programmes.catalogue(small["id"]).name == "Small Programme"
    assert queries == []

    causeway.clock.advance(1)

    assert programmes.catalogue(small["id"]).name == "Another Name"
    assert len(queries) == 1


def test_a_cached_catalogue_is_used_for_a_minute_while_storage_is_unavailable(
    causeway: Causeway, small: dict[str, Any], lines: Lines
) -> None:
    programmes = causeway.another_process().cards.programmes
    before = programmes.catalogue(small["id"])
    loaded(causeway.hub, renamed(small))
    causeway.clock.advance(60)
    with causeway.storage_gone("query"):
        assert programmes.catalogue(small["id"]) is before
    assert [line["message"] for line in lines.all()] == ["programme not reloaded"]
    causeway.clock.advance(59)
    assert programmes.catalogue(small["id"]) is before, "it goes on for as long again"
    causeway.clock.advance(1)

    assert programmes.catalogue(small["id"]).name == "Another Name"


def test_reading_an_uncached_catalogue_without_storage_raises_store_unavailable(
    causeway: Causeway, small: dict[str, Any]
) -> None:
    with causeway.storage_gone("query"), pytest.raises(StoreUnavailable):
        causeway.another_process().cards.programmes.catalogue(small["id"])


def test_a_process_records_the_first_use_of_an_entry_once(causeway: Causeway, small: dict[str, Any]) -> None:
    hub, other = causeway.another_process(), causeway.another_process()
    hub.cards.programmes.mark_used(
        hub.cards.programmes.catalogue(small["id"]), [("design", 1), ("fee_group", 1), ("design", 1)]
    )
    assert hub.cards.programmes.set_up(small["id"]).used == {("design", 1), ("fee_group", 1)}

    with causeway.storage_gone("update"):
        hub.cards.programmes.mark_used(hub.cards.programmes.catalogue(small["id"]), [("fee_group", 1), ("design", 1)])
        other.cards.programmes.mark_used(other.cards.programmes.catalogue(small["id"]), [("design", 1)])
        with pytest.raises(StoreUnavailable):
            hub.cards.programmes.mark_used(hub.cards.programmes.catalogue(small["id"]), [("design", 2)])


def test_using_a_removed_entry_raises_entry_gone_and_reloads_the_catalogue(
    causeway: Causeway, small: dict[str, Any]
) -> None:
    programmes = causeway.another_process().cards.programmes
    catalogue = programmes.catalogue(small["id"])
    loaded(causeway.hub, small | {"designs": small["designs"][:1]})

    with pytest.raises(EntryGone) as caught:
        programmes.mark_used(catalogue, [("design", 1), ("design", 2)])

    assert caught.value.references == (("design", 2),)
    assert str(caught.value) == "design 2"
    assert list(programmes.catalogue(small["id"]).designs) == [1]
    assert ("design", 2) not in programmes.set_up(small["id"]).used, "a first use does not bring it back"
