"""Tests of risk rules: values at every boundary, windows with an accuracy of one second, and combined actions."""

from dataclasses import replace
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import pytest

from chalicelib.cards.authorization.group_rules import FiredRules, evaluate_rules
from chalicelib.cards.ledger.transaction_attributes import TransactionAttributes
from chalicelib.cards.ledger.usage_counters import Window, Windows, count_movement, list_left, release_counts
from chalicelib.cards.programs.catalogue import Catalogue, LimitEntry, LimitGroup, Rate, Region, RiskGroup, RiskRule
from chalicelib.cards.protocol.values import RISK_ACTIONS

EUR, USD, GBP = 978, 840, 826
DE, FR, US = 276, 250, 840
DAY, WEEK, MONTH, YEAR = 1, 7, 30, 365
MARK, NOTIFY, CARD_TO_RISK, SUSPEND, REJECT = RISK_ACTIONS
PURCHASE = TransactionAttributes(0, EUR, entry_mode=5, mcc=5411, country=FR, holder_country=DE)


def at(text: str) -> int:
    """Return the Unix seconds of a UTC time such as ``2026-12-31 23:59:59``."""
    return int(datetime.fromisoformat(text).replace(tzinfo=UTC).timestamp())


NOON = at("2026-08-12 12:00:00")
TODAY = at("2026-08-12 00:00:00")


def rule(id: int = 1, **members: Any) -> RiskRule:
    return RiskRule(id, "Rule", **{"actions": (MARK,), **members})


class Card:
    """A card with a risk group. The time is noon on a Wednesday."""

    def __init__(self, *rules: RiskRule) -> None:
        self.group = RiskGroup(7, "Risks", rules)
        self.windows: Windows = {}
        self.now = NOON
        limits = LimitGroup(3, "Limits", 1, (LimitEntry(1, count=2, amount_currency=EUR, duration=DAY),))
        self.catalogue = Catalogue(
            1,
            "",
            rates={(USD, EUR): Rate(Decimal("0.9"), Decimal(10))},
            regions={1: Region(1, "Europe", (DE, FR))},
            limit_groups={3: limits},
            risk_groups={7: self.group},
        )

    def tries(self, amount: int = 1000, currency: int = EUR, facts: TransactionAttributes = PURCHASE) -> FiredRules:
        groups = [self.group]
        self.windows, found = evaluate_rules(self.catalogue, groups, self.windows, facts, amount, currency, self.now)
        return found


def test_a_rule_without_criteria_always_fires_and_reports_the_ids_of_its_group_and_rule() -> None:
    card = Card(rule(12))

    assert card.tries() == FiredRules(("7.12",), (MARK,))
    assert card.tries(0, GBP, TransactionAttributes(30, GBP)) == FiredRules(("7.12",), (MARK,))
    assert card.windows == {}


@pytest.mark.parametrize(
    ("asked", "fires"),
    [
        ({"transaction_type": 0}, True),
        ({"transaction_type": 1}, False),
        ({"entry_mode": 5}, True),
        ({"entry_mode": 7}, False),
        ({"mcc_low": 5411, "mcc_high": 5411}, True),
        ({"mcc_low": 5412}, False),
        ({"mcc_high": 5410}, False),
        ({"country": FR}, True),
        ({"country": DE}, False),
        ({"region": 1}, True),
        ({"region": 2}, False),
        ({"region_type": 1}, False),
        ({"region_type": 2}, True),
        ({"region_type": 3}, False),
        ({"transaction_type": 0, "country": DE}, False),
    ],
)
def test_a_rule_fires_only_if_all_its_criteria_match(asked: dict[str, int], fires: bool) -> None:
    assert Card(rule(**asked)).tries().rules == (("7.1",) if fires else ())


@pytest.mark.parametrize(("amount", "fires"), [(99_99, False), (100_00, True), (100_01, True)])
def test_a_rule_with_an_amount_fires_at_or_above_that_amount(amount: int, fires: bool) -> None:
    assert bool(Card(rule(amount=100_00, amount_currency=EUR)).tries(amount).rules) is fires


@pytest.mark.parametrize(("amount", "fires"), [(111_10, False), (111_11, True), (111_12, True)])
def test_an_amount_in_another_currency_is_converted_at_the_base_rate(amount: int, fires: bool) -> None:
    assert bool(Card(rule(amount=100_00, amount_currency=EUR)).tries(amount, USD).rules) is fires


def test_amount_rules_ignore_amounts_without_an_exchange_rate() -> None:
    card = Card(rule(1, amount=0, amount_currency=EUR, count=1, duration=DAY), rule(2))

    assert card.tries(10**12, GBP) == FiredRules(("7.2",), (MARK,))
    assert card.windows == {}


@pytest.mark.parametrize("count", [1, 3])
def test_a_rule_with_a_count_fires_when_the_attempts_exceed_the_count(count: int) -> None:
    card = Card(rule(count=count, duration=DAY))

    found = [bool(card.tries().rules) for _ in range(count + 2)]

    assert found == [False] * count + [True, True]
    assert card.windows == {"risk.7.1": Window(TODAY, count + 2)}


def test_a_rule_counts_only_matching_attempts() -> None:
    card = Card(rule(count=1, duration=DAY, country=FR, amount=100_00, amount_currency=EUR))

    card.tries(100_00, facts=replace(PURCHASE, country=US))
    card.tries(99_99)
    assert card.windows == {}
    assert card.tries(100_00).rules == ()
    card.tries(99_99)
    assert card.windows["risk.7.1"].count == 1
    assert card.tries(100_00).rules == ("7.1",)


@pytest.mark.parametrize(
    ("duration", "last"),
    [
        (DAY, "2026-08-12 23:59:59"),
        (WEEK, "2026-08-16 23:59:59"),
        (MONTH, "2026-08-31 23:59:59"),
        (YEAR, "2026-12-31 23:59:59"),
    ],
)
def test_attempts_are_counted_until_the_last_second_of_their_time_window(duration: int, last: str) -> None:
    card = Card(rule(count=1, duration=duration))
    card.tries()

    card.now = at(last)
    assert card.tries().rules == ("7.1",)
    card.now += 1
    assert card.tries().rules == ()
    assert card.windows == {"risk.7.1": Window(card.now, 1)}
    assert card.tries().rules == ("7.1",)


def test_a_time_window_that_a_process_with_a_faster_clock_started_is_continued() -> None:
    card = Card(rule(count=1, duration=DAY))
    tomorrow = TODAY + 24 * 3600
    card.windows = {"risk.7.1": Window(tomorrow, 1)}

    assert card.tries().rules == ("7.1",)
    assert card.windows == {"risk.7.1": Window(tomorrow, 2)}


def test_each_rule_has_its_own_counter() -> None:
    card = Card(rule(1, count=1, duration=DAY), rule(2, count=2, duration=WEEK, actions=(REJECT,)))

    assert [card.tries().rules for _ in range(3)] == [(), ("7.1",), ("7.1", "7.2")]


def test_fired_actions_are_listed_once_in_a_fixed_order() -> None:
    card = Card(rule(1, actions=(REJECT, NOTIFY)), rule(2, actions=(SUSPEND, CARD_TO_RISK)), rule(3, actions=(REJECT,)))

    assert card.tries() == FiredRules(("7.1", "7.2", "7.3"), (NOTIFY, CARD_TO_RISK, SUSPEND, REJECT))


def test_all_risk_groups_are_evaluated_and_a_duplicate_group_only_once() -> None:
    card = Card(rule(count=1, duration=DAY))
    other = RiskGroup(8, "Others", (rule(actions=(SUSPEND,)),))

    windows, first = evaluate_rules(card.catalogue, [card.group, None, other, card.group], {}, PURCHASE, 1, EUR, NOON)
    _, second = evaluate_rules(card.catalogue, [card.group, other], windows, PURCHASE, 1, EUR, NOON)

    assert first == FiredRules(("8.1",), (SUSPEND,))
    assert second == FiredRules(("7.1", "8.1"), (MARK, SUSPEND))
    assert windows["risk.7.1"].count == 1


def test_no_rule_fires_without_a_risk_group() -> None:
    assert evaluate_rules(Card().catalogue, [None], {}, PURCHASE, 1, EUR, NOON) == ({}, FiredRules((), ()))


# -- beside limits


def test_evaluating_risk_rules_preserves_limit_windows_and_restarts_ended_rule_windows() -> None:
    card = Card(rule(1, count=1, duration=DAY), rule(2, count=1, duration=WEEK, country=US))
    yesterday, monday = TODAY - 24 * 3600, at("2026-08-10 00:00:00")
    counted = Window(TODAY, 2, 5, {str(FR): 2})
    card.windows = {
        "3.1": counted,
        "3.9": Window(yesterday, 1),
        "risk.7.1": Window(yesterday, 9),
        "risk.7.2": Window(monday, 4),
    }

    assert card.tries().rules == ()
    assert card.windows == {
        "3.1": counted,
        "3.9": Window(yesterday, 1),
        "risk.7.1": Window(TODAY, 1),
        "risk.7.2": Window(monday, 4),
    }


def test_counting_a_limit_preserves_unended_risk_rule_windows() -> None:
    card = Card(rule(1, count=1, duration=DAY), rule(2))
    card.tries()
    year = at("2026-01-01 00:00:00")
    unknown = {"risk.9.1": Window(year, 1), "risk.7.2": Window(TODAY, 1)}
    over = {"risk.8.1": Window(year - 1, 1)}
    group = card.catalogue.limit_groups[3]

    windows, counted = count_movement(
        card.catalogue, group, {**card.windows, **unknown, **over}, PURCHASE, 1000, NOON, forced=False
    )

    assert windows == {**card.windows, **unknown, "3.1": Window(TODAY, 1)}
    assert release_counts(windows, counted)["risk.7.1"] == Window(TODAY, 1)
    assert list_left(group, windows, NOON)[0].count == 1
    tomorrow, _ = count_movement(card.catalogue, group, windows, PURCHASE, 1000, NOON + 24 * 3600, forced=False)
    assert "risk.7.1" not in tomorrow


def test_a_rule_with_a_changed_duration_restarts_its_window() -> None:
    before, card = Card(rule(count=1, duration=DAY)), Card(rule(count=1, duration=MONTH))
    before.tries()
    card.windows = before.windows

    assert card.tries().rules == ()
    assert card.windows["risk.7.1"] == Window(at("2026-08-01 00:00:00"), 1)
