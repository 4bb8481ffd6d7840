"""Tests of limits: start and end of windows, exact amounts, and releases of counted usage."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from chalicelib.cards.ledger.conversion import NoRate
from chalicelib.cards.ledger.transaction_attributes import TransactionAttributes
from chalicelib.cards.ledger.usage_counters import (
    LimitExceeded,
    LimitLeft,
    Window,
    Windows,
    WindowUsage,
    count_movement,
    list_left,
    release_counts,
    window_bounds,
)
from chalicelib.cards.programs.catalogue import Catalogue, LimitEntry, LimitGroup, Rate

EUR, USD, GBP, JPY = 978, 840, 826, 392
DE, FR, IT = 276, 250, 380
ONCE, DAY, WEEK, MONTH, YEAR = 0, 1, 7, 30, 365
PURCHASE = TransactionAttributes(0, EUR, entry_mode=7, mcc=5411, country=FR, holder_country=DE)
LARGE = 10**15


def at(text: str) -> int:
    """Return the Unix seconds of a UTC time such as ``2026-12-31 23:59:59``."""
    return int(datetime.fromisoformat(text).replace(tzinfo=UTC).timestamp())


NOON = at("2026-08-12 12:00:00")
TODAY = at("2026-08-12 00:00:00")


def entry(id: int = 1, **members: Any) -> LimitEntry:
    return LimitEntry(id, **{"amount_currency": EUR, "duration": DAY, **members})


class Owner:
    """An owner of a limit group. The time is noon on a Wednesday."""

    def __init__(self, *entries: LimitEntry) -> None:
        self.group = LimitGroup(3, "Limits", 1, entries)
        self.windows: Windows = {}
        self.now = NOON
        rates = {(USD, EUR): Rate(Decimal("0.925"), Decimal(10)), (JPY, EUR): Rate(Decimal("0.0062"), Decimal(10))}
        self.catalogue = Catalogue(1, "", rates=rates, limit_groups={3: self.group})

    def moves(self, amount: int, currency: int = EUR, *, forced: bool = False, **facts: Any) -> list[WindowUsage]:
        moved = replace(PURCHASE, currency=currency, **facts)
        self.windows, counted = count_movement(
            self.catalogue, self.group, self.windows, moved, amount, self.now, forced=forced
        )
        return counted

    def refused(self, amount: int, currency: int = EUR, **facts: Any) -> LimitExceeded:
        before = dict(self.windows)
        with pytest.raises(LimitExceeded) as refusal:
            self.moves(amount, currency, **facts)
        assert self.windows == before
        return refusal.value

    def releases(self, counted: list[WindowUsage]) -> None:
        self.windows = release_counts(self.windows, counted)

    def left(self, position: int = 0) -> LimitLeft:
        return list_left(self.group, self.windows, self.now)[position]


# -- windows


@pytest.mark.parametrize(
    ("duration", "first", "last"),
    [
        (DAY, "2026-08-12 00:00:00", "2026-08-12 23:59:59"),
        (DAY, "2026-12-31 00:00:00", "2026-12-31 23:59:59"),
        (DAY, "2028-02-29 00:00:00", "2028-02-29 23:59:59"),
        (WEEK, "2026-08-10 00:00:00", "2026-08-16 23:59:59"),
        (WEEK, "2026-12-28 00:00:00", "2027-01-03 23:59:59"),
        (WEEK, "2027-01-04 00:00:00", "2027-01-10 23:59:59"),
        (WEEK, "2024-12-30 00:00:00", "2025-01-05 23:59:59"),
        (MONTH, "2026-08-01 00:00:00", "2026-08-31 23:59:59"),
        (MONTH, "2026-09-01 00:00:00", "2026-09-30 23:59:59"),
        (MONTH, "2026-02-01 00:00:00", "2026-02-28 23:59:59"),
        (MONTH, "2028-02-01 00:00:00", "2028-02-29 23:59:59"),
        (MONTH, "2026-12-01 00:00:00", "2026-12-31 23:59:59"),
        (MONTH, "2027-01-01 00:00:00", "2027-01-31 23:59:59"),
        (YEAR, "2026-01-01 00:00:00", "2026-12-31 23:59:59"),
        (YEAR, "2028-01-01 00:00:00", "2028-12-31 23:59:59"),
    ],
)
def test_a_window_includes_its_first_and_last_second(duration: int, first: str, last: str) -> None:
    start, end = at(first), at(last) + 1

    assert window_bounds(duration, start) == (start, end)
    assert window_bounds(duration, (start + end) // 2) == (start, end)
    assert window_bounds(duration, end - 1) == (start, end)
    assert window_bounds(duration, end)[0] == end
    assert window_bounds(duration, start - 1)[1] == start


def test_a_single_transaction_window_has_no_duration() -> None:
    assert window_bounds(ONCE, NOON) == (NOON, NOON)


@settings(max_examples=200)
@given(st.integers(0, at("2100-01-01 00:00:00")), st.sampled_from([DAY, WEEK, MONTH, YEAR]))
def test_windows_follow_the_utc_calendar(now: int, duration: int) -> None:
    start, end = (datetime.fromtimestamp(second, UTC) for second in window_bounds(duration, now))
    time = datetime.fromtimestamp(now, UTC)

    assert start <= time < end
    assert start.time() == end.time() == datetime.min.time()
    name = {DAY: "%Y-%m-%d", WEEK: "%G-%V", MONTH: "%Y-%m", YEAR: "%Y"}[duration]
    assert start.strftime(name) == (end - timedelta(seconds=1)).strftime(name) == time.strftime(name)
    assert (start - timedelta(seconds=1)).strftime(name) != start.strftime(name) != end.strftime(name)


@pytest.mark.parametrize(
    ("duration", "last"),
    [
        (DAY, "2026-08-12 23:59:59"),
        (WEEK, "2027-01-03 23:59:59"),
        (MONTH, "2028-02-29 23:59:59"),
        (MONTH, "2027-02-28 23:59:59"),
        (YEAR, "2026-12-31 23:59:59"),
    ],
)
def test_a_used_limit_resets_in_the_first_second_of_the_next_window(duration: int, last: str) -> None:
    owner = Owner(entry(count=1, amount=100, country_count=1, duration=duration))
    owner.now = at(last)
    owner.moves(100)

    assert owner.left() == LimitLeft(owner.group.entries[0], 0, 0, 0, at(last) + 1)
    owner.refused(1)
    owner.now += 1
    assert owner.left().count == 1
    assert owner.left().amount == 100
    assert owner.left().country_count == 1
    assert owner.left().date_valid == window_bounds(duration, at(last) + 1)[1]
    owner.moves(100)
    owner.refused(1)


def test_a_time_window_that_a_process_with_a_faster_clock_started_is_continued() -> None:
    owner = Owner(entry(count=1))
    owner.now = TODAY
    counted = owner.moves(1)
    owner.now = TODAY - 1

    assert owner.refused(1).bound == "count"
    assert owner.left() == LimitLeft(owner.group.entries[0], 0, None, None, TODAY + 24 * 3600)
    owner.releases(counted)
    assert [share.start for share in owner.moves(1)] == [TODAY]


# -- bounds


@pytest.mark.parametrize("duration", [ONCE, DAY, WEEK, MONTH, YEAR])
def test_an_amount_equal_to_the_limit_is_accepted_and_a_higher_amount_is_rejected(duration: int) -> None:
    owner = Owner(entry(amount=100_00, duration=duration))

    refusal = owner.refused(100_01)
    assert refusal.entry == owner.group.entries[0]
    assert refusal.bound == "amount"
    assert refusal.asked == 100_01
    assert refusal.left == 100_00
    owner.moves(100_00)


def test_amounts_add_up_to_the_limit_and_a_higher_sum_is_rejected() -> None:
    owner = Owner(entry(amount=100_00))
    owner.moves(60_00)

    assert owner.refused(40_01).left == 40_00
    owner.moves(39_99)
    owner.moves(1)
    owner.refused(1)
    owner.moves(0)


def test_a_movement_that_exceeds_the_number_of_movements_in_a_limit_is_rejected() -> None:
    owner = Owner(entry(count=3))
    for _ in range(3):
        owner.moves(LARGE)

    refusal = owner.refused(0)
    assert refusal.bound == "count"
    assert refusal.asked == 1
    assert refusal.left == 0


def test_a_movement_to_one_more_country_than_a_limit_allows_is_rejected() -> None:
    owner = Owner(entry(country_count=2))
    owner.moves(1, country=DE)
    owner.moves(1, country=FR)

    refusal = owner.refused(1, country=IT)
    assert refusal.bound == "country_count"
    assert refusal.asked == 1
    assert refusal.left == 0
    owner.moves(1, country=FR)
    owner.moves(1, country=DE)


def test_a_movement_without_a_country_counts_no_country() -> None:
    owner = Owner(entry(count=9, country_count=1))
    owner.moves(1, country=None)

    assert (owner.left().country_count, owner.left().count) == (1, 8)
    owner.moves(1, country=DE)
    owner.moves(1, country=None)
    owner.refused(1, country=FR)


@pytest.mark.parametrize("bounds", [{"count": 0}, {"country_count": 0}, {"amount": 0}])
@pytest.mark.parametrize("duration", [ONCE, DAY])
def test_a_limit_of_zero_rejects_every_movement(duration: int, bounds: dict[str, int]) -> None:
    Owner(entry(duration=duration, **bounds)).refused(1)


def test_an_entry_without_maximum_values_only_counts_movements() -> None:
    owner = Owner(entry())
    owner.moves(LARGE)

    assert owner.left() == LimitLeft(owner.group.entries[0], None, None, None, TODAY + 24 * 3600)
    assert owner.windows["3.1"].count == 1


def test_a_limit_on_single_transactions_does_not_count_movements() -> None:
    owner = Owner(entry(amount=100_00, count=1, country_count=1, duration=ONCE))

    assert owner.moves(100_00, country=DE) == []
    assert owner.moves(100_00, country=FR) == []
    assert owner.windows == {}
    assert owner.left() == LimitLeft(owner.group.entries[0], 1, 100_00, 1, NOON)


def test_a_limit_that_is_changed_to_apply_to_single_transactions_ignores_earlier_counts() -> None:
    owner = Owner(entry(amount=100_00, duration=ONCE))
    owner.windows = {"3.1": Window(TODAY, 1, 100_00)}
    owner.now = TODAY

    assert owner.left().amount == 100_00
    owner.moves(100_00)


def test_every_matching_entry_counts_and_can_reject() -> None:
    owner = Owner(
        entry(1, amount=50_00, duration=ONCE),
        entry(2, amount=100_00),
        entry(3, amount=150_00, duration=MONTH),
        entry(4, count=1, transaction_class=2),
    )
    owner.moves(50_00)

    assert owner.refused(50_01).entry.id == 1
    owner.moves(50_00)
    assert owner.refused(1).entry.id == 2
    owner.now += 24 * 3600
    owner.moves(50_00)
    assert owner.refused(1).entry.id == 3
    assert [owner.left(position).amount for position in range(4)] == [50_00, 50_00, 0, None]
    assert owner.left(3).count == 1


def test_a_rejected_movement_is_not_counted() -> None:
    owner = Owner(entry(1, amount=100_00), entry(2, amount=50_00))
    owner.refused(60_00)

    assert owner.left(0).amount == 100_00


@pytest.mark.parametrize(
    ("asked", "falls"),
    [
        ({"transaction_type": 0}, True),
        ({"transaction_type": 1}, False),
        ({"entry_mode": 7}, True),
        ({"entry_mode": 5}, False),
        ({"transaction_class": 1}, True),
        ({"transaction_class": 2}, False),
        ({"transaction_class": 4}, False),
        ({"currency": EUR}, True),
        ({"currency": USD}, False),
        ({"mcc_low": 5411, "mcc_high": 5411}, True),
        ({"mcc_low": 5412}, False),
        ({"mcc_high": 5410}, False),
        ({"holder_country": DE}, True),
        ({"holder_country": FR}, False),
        ({"region_type": 1}, False),
        ({"region_type": 3}, True),
        ({"holder_region": 1}, False),
        ({"transaction_region": 1}, False),
    ],
)
def test_an_entry_counts_only_matching_movements(asked: dict[str, int], falls: bool) -> None:
    owner = Owner(entry(count=1, **asked))
    counted = owner.moves(1)

    assert len(counted) == len(owner.windows) == int(falls)
    assert owner.left().count == 1 - falls


def test_money_in_and_money_out_are_counted_separately() -> None:
    owner = Owner(entry(1, amount=100), entry(2, amount=100, transaction_class=4))
    owner.moves(100)
    owner.moves(100, transaction_type=60)

    assert owner.refused(1).entry.id == 1
    assert owner.refused(1, transaction_type=60).entry.id == 2
    owner.moves(LARGE, transaction_type=63)


def test_no_limit_applies_without_a_limit_group() -> None:
    owner = Owner()

    assert count_movement(owner.catalogue, None, {}, PURCHASE, LARGE, NOON, forced=False) == ({}, [])
    assert list_left(None, {}, NOON) == []


# -- currencies


def test_an_amount_is_counted_in_the_entrys_currency_at_the_base_rate() -> None:
    """100.00 dollars equal 92.50 euros."""
    owner = Owner(entry(amount=92_50))

    assert owner.refused(100_01, USD).asked == 92_51
    assert [share.amount for share in owner.moves(100_00, USD)] == [92_50]


def test_an_amount_counted_against_a_limit_is_rounded_half_up() -> None:
    """Ten yen are 6.2 cents. 25 yen are 15.5 cents, rounded to 16."""
    owner = Owner(entry(amount=16))

    assert [share.amount for share in owner.moves(10, JPY)] == [6]
    assert owner.refused(25, JPY).asked == 16


def test_an_unforced_amount_without_an_exchange_rate_raises_the_no_rate_error() -> None:
    owner = Owner(entry(amount=100_00, count=5))
    with pytest.raises(NoRate):
        owner.moves(1, GBP)
    owner.moves(1, GBP, forced=True)

    assert (owner.left().amount, owner.left().count) == (100_00, 4)


def test_an_entry_without_an_amount_needs_no_rate() -> None:
    owner = Owner(entry(count=5))

    assert [share.amount for share in owner.moves(1, GBP)] == [0]


# -- forced movements and releases


def test_a_forced_movement_is_counted_and_not_rejected() -> None:
    owner = Owner(entry(1, amount=100, count=1, country_count=1), entry(2, amount=100, duration=ONCE))
    owner.moves(100, country=DE)
    owner.moves(101, country=FR, forced=True)

    assert owner.windows["3.1"] == Window(TODAY, 2, 201, {str(DE): 1, str(FR): 1})
    assert owner.left().amount == 0
    assert owner.left().count == 0
    assert owner.left().country_count == 0
    assert owner.refused(1, country=DE).left == 0


def test_a_release_restores_the_counts_of_its_movement() -> None:
    owner = Owner(entry(1, amount=100, count=2, country_count=1), entry(2, amount=150, duration=WEEK))
    owner.moves(40)
    before = owner.windows
    counted = owner.moves(60)
    owner.releases(counted)

    assert owner.windows == before
    owner.moves(60)
    owner.refused(1)


def test_a_country_is_released_when_its_last_movement_is_released() -> None:
    owner = Owner(entry(country_count=1))
    first = owner.moves(1, country=DE)
    second = owner.moves(1, country=DE)
    owner.releases(first)

    owner.refused(1, country=FR)
    owner.releases(second)
    owner.moves(1, country=FR)


def test_a_release_applies_only_to_the_window_of_the_released_movement() -> None:
    owner = Owner(entry(1, amount=100), entry(2, amount=200, duration=WEEK))
    counted = owner.moves(100)
    owner.now += 24 * 3600
    owner.moves(70)
    owner.releases(counted)

    assert [owner.left(position).amount for position in (0, 1)] == [30, 130]


def test_a_release_into_an_ended_window_changes_nothing() -> None:
    owner = Owner(entry(amount=100))
    counted = owner.moves(100)
    owner.now += 24 * 3600
    owner.releases(counted)

    assert owner.left().amount == 100
    owner.moves(100)
    owner.refused(1)


def test_a_release_never_reduces_a_counter_below_zero() -> None:
    owner = Owner(entry(amount=100, count=2, country_count=1))
    counted = owner.moves(60, country=DE)
    owner.releases(counted)
    owner.releases(counted)

    assert owner.windows["3.1"] == Window(TODAY)
    assert owner.left().amount == 100
    assert owner.left().count == 2
    assert owner.left().country_count == 1


def test_a_release_of_an_unknown_window_changes_nothing() -> None:
    owner = Owner(entry(amount=100))
    owner.moves(60)

    assert release_counts(owner.windows, [WindowUsage("3.2", TODAY, 60, 1)]) == owner.windows
    assert release_counts({}, [WindowUsage("3.1", TODAY, 60, 1)]) == {}


def test_a_counted_usage_can_be_stored_and_released_later() -> None:
    owner = Owner(entry(1, amount=100, country_count=1), entry(2, count=1, duration=WEEK))
    kept = [share.as_dict for share in owner.moves(60, country=DE)]

    assert kept == [
        {"key": "3.1", "start": TODAY, "amount": 60, "count": 1, "country": DE},
        {"key": "3.2", "start": at("2026-08-10 00:00:00"), "amount": 0, "count": 1},
    ]
    owner.releases([WindowUsage(**plain) for plain in kept])
    assert (owner.left(0).amount, owner.left(1).count) == (100, 1)


# -- what is kept


def test_ended_windows_are_removed() -> None:
    owner = Owner(entry(1, amount=100), entry(2, amount=100, duration=WEEK), entry(3, count=9, duration=MONTH))
    owner.moves(10)
    assert list(owner.windows) == ["3.1", "3.2", "3.3"]
    owner.now = at("2026-08-17 00:00:00")
    owner.moves(10, transaction_type=63)

    assert list(owner.windows) == ["3.3"]


def test_windows_of_unknown_limit_entries_are_retained_until_the_year_ends() -> None:
    """While a process uses a cached set-up, an operator may have added limit entries that the process does not have."""
    owner = Owner(entry(1, amount=100))
    year = int(datetime(2026, 1, 1, tzinfo=UTC).timestamp())
    owner.windows = {"3.2": Window(TODAY, 1), "4.1": Window(year, 1), "33.1": Window(year - 1, 1)}
    owner.moves(10)

    assert list(owner.windows) == ["3.2", "4.1", "3.1"]


def test_windows_of_another_existing_group_are_retained() -> None:
    owner = Owner(entry(1, amount=100))
    other = LimitGroup(4, "Others", 1, (entry(1, amount=500),))
    owner.catalogue = replace(owner.catalogue, limit_groups={3: owner.group, 4: other})
    owner.windows = {"4.1": Window(TODAY, 1, 30)}
    owner.moves(10)

    assert owner.windows == {"4.1": Window(TODAY, 1, 30), "3.1": Window(TODAY, 1, 10)}
    assert [left.amount for left in list_left(other, owner.windows, NOON)] == [470]


def test_counting_and_releasing_do_not_change_the_input_objects() -> None:
    owner = Owner(entry(amount=100, country_count=2))
    owner.moves(10)
    before = owner.windows
    copy = {key: replace(found, countries=dict(found.countries)) for key, found in before.items()}
    release_counts(before, owner.moves(10, country=DE))

    assert before == copy


# -- whatever happens

MOVEMENTS = st.lists(
    st.tuples(st.integers(0, 120), st.sampled_from([DE, FR, IT, None]), st.booleans(), st.integers(0, 36 * 3600)),
    max_size=12,
)


@settings(max_examples=60)
@given(MOVEMENTS, st.sampled_from([DAY, WEEK, MONTH, YEAR]))
def test_used_and_remaining_values_add_up_to_the_limit(movements: list[Any], duration: int) -> None:
    """The test compares the counters with a list of movements, while movements are released and new windows begin."""
    owner = Owner(entry(amount=300, count=6, country_count=2, duration=duration))
    passed: list[tuple[list[WindowUsage], int, int | None]] = []
    for amount, country, release, pause in movements:
        owner.now += pause
        start = window_bounds(duration, owner.now)[0]
        inside = [(used, where) for counted, used, where in passed if counted[0].start == start]
        countries = {where for _, where in [*inside, (amount, country)] if where is not None}
        if len(inside) < 6 and sum(used for used, _ in inside) + amount <= 300 and len(countries) <= 2:
            passed.append((owner.moves(amount, country=country), amount, country))
        else:
            owner.refused(amount, country=country)
        if release and passed:
            owner.releases(passed.pop(0)[0])
        inside = [(used, where) for counted, used, where in passed if counted[0].start == start]
        left = owner.left()
        assert left.amount == 300 - sum(used for used, _ in inside)
        assert left.count == 6 - len(inside)
        assert left.country_count == 2 - len({where for _, where in inside if where is not None})
        assert left.date_valid == window_bounds(duration, owner.now)[1]


@settings(max_examples=60)
@given(MOVEMENTS)
def test_releasing_every_movement_resets_every_counter(movements: list[Any]) -> None:
    owner = Owner(entry(1, amount=200, count=4, country_count=2, duration=YEAR), entry(2, amount=150, duration=ONCE))
    counted = [owner.moves(amount, country=country, forced=True) for amount, country, *_ in movements]
    for shares in counted:
        owner.releases(shares)

    assert all(found == Window(found.start) for found in owner.windows.values())
    assert owner.left().amount == 200
    assert owner.left().count == 4
    assert owner.left().country_count == 2
