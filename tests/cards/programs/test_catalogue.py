"""Tests of set-ups as data: an entry is unchanged after storing and reading."""

from decimal import Decimal

import pytest

from chalicelib.cards.programs.catalogue import (
    KINDS,
    Catalogue,
    FeeEntry,
    FeeGroup,
    LimitEntry,
    LimitGroup,
    Rate,
    Region,
    entry,
    members,
)
from infra.programme import file

MANAGERS = file.read_programmes(file.DEMO.read_text(encoding="utf-8"), "local")


@pytest.mark.parametrize("kind", KINDS)
def test_a_catalogue_entry_is_unchanged_after_storing_and_reading(kind: str) -> None:
    found = [each for one in MANAGERS for each in one.catalogue.of(kind).values()]

    assert found
    assert [entry(kind, {**members(each), "owner": "somebody", "used": True}) for each in found] == found


def test_a_stored_catalogue_entry_omits_absent_members() -> None:
    plain = members(MANAGERS[0].catalogue.account_programmes[502])

    assert "holder_limit_group_id" not in plain
    assert plain["limit_group_ids"] == []


def test_entries_are_ordered_before_the_entries_that_refer_to_them() -> None:
    kinds = list(dict.fromkeys(kind for kind, _ in MANAGERS[0].catalogue.entries()))

    assert kinds == list(KINDS)
    assert kinds[-2:] == ["account_programme", "card_programme"]


def test_group_entries_are_stored_as_plain_data_without_absent_members() -> None:
    fees = FeeGroup(1, "Fees", (FeeEntry("ATM", "Cash", percent=Decimal("0.50"), currency=978, updated_at=7),))
    limits = LimitGroup(1, "Limits", 2, (LimitEntry(3, amount=0, amount_currency=978, duration=30),))

    assert members(fees)["entries"] == [
        {
            "code": "ATM",
            "title": "Cash",
            "transaction_type": 99,
            "entry_mode": 99,
            "mcc_low": 0,
            "mcc_high": 9999,
            "percent": "0.50",
            "currency": 978,
            "blended": False,
            "updated_at": 7,
        }
    ]
    assert members(limits)["entries"] == [
        {
            "id": 3,
            "amount": 0,
            "amount_currency": 978,
            "duration": 30,
            "transaction_type": 99,
            "entry_mode": 99,
            "transaction_class": 0,
            "holder_country": 0,
            "holder_region": 0,
            "transaction_region": 0,
            "region_type": 0,
            "currency": 0,
            "mcc_low": 0,
            "mcc_high": 9999,
            "updated_at": 0,
        }
    ]
    assert entry("fee_group", members(fees)) == fees
    assert entry("limit_group", members(limits)) == limits


def test_entries_stored_before_fees_and_limits_existed_can_still_be_read() -> None:
    kept = members(MANAGERS[0].catalogue.account_programmes[501])
    del kept["conversion_fee_blended"]

    assert entry("fee_group", {"id": 1, "name": "Fees"}) == FeeGroup(1, "Fees")
    assert entry("limit_group", {"id": 1, "name": "Cards", "limit_type": 1}) == LimitGroup(1, "Cards", 1)
    assert entry("account_programme", kept) == MANAGERS[0].catalogue.account_programmes[501]


def test_an_exchange_rate_applies_in_one_direction_and_is_1_for_the_same_currency() -> None:
    rate = Rate(Decimal("0.86"), Decimal("1.5"))
    catalogue = Catalogue(1, "Small", rates={(978, 826): rate})

    assert catalogue.rate(978, 826) == rate
    assert catalogue.rate(826, 978) is None
    assert catalogue.rate(826, 826) == Rate(Decimal(1), Decimal(0))


def test_a_country_belongs_to_every_region_that_lists_the_country() -> None:
    catalogue = Catalogue(1, "Small", regions={2: Region(2, "A", (276, 826)), 5: Region(5, "B", (826,))})

    assert [catalogue.regions_by_country.get(country, set()) for country in (276, 826, 840)] == [{2}, {2, 5}, set()]
