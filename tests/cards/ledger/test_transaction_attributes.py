"""Tests that match movements with fee, limit and risk entries: each member has a matching and a non-matching case."""

from dataclasses import replace
from typing import Any

import pytest

from chalicelib.cards.issuing.holder_record import Holder
from chalicelib.cards.ledger.account_record import Account
from chalicelib.cards.ledger.transaction_attributes import (
    TransactionAttributes,
    applying_rules,
    charged_entries,
    counted_entries,
    in_category,
)
from chalicelib.cards.payments.account_ref import AccountRef
from chalicelib.cards.programs.catalogue import Catalogue, FeeEntry, LimitEntry, MccRange, Region, RiskRule
from chalicelib.cards.protocol.values import (
    ANY_TYPE,
    CREDIT_TYPES,
    LIMIT_CLASSES,
    OF_HOLDER,
    REGION_TYPES,
    RETURNS,
    TRANSACTION_TYPES,
)
from chalicelib.cards.storage.record import Record

EUR, USD = 978, 840
DE, FR, PL, CH, US, CA = 276, 250, 616, 756, 840, 124
EUROPE, EURO_AREA, AMERICA = 1, 2, 3
CATALOGUE = Catalogue(
    1,
    "",
    regions={
        EUROPE: Region(EUROPE, "Europe", (DE, FR, PL, CH)),
        EURO_AREA: Region(EURO_AREA, "Euro area", (DE, FR)),
        AMERICA: Region(AMERICA, "America", (US,)),
    },
)
FACTS = TransactionAttributes(0, EUR, entry_mode=7, mcc=5411, country=FR, holder_country=DE)
ANY, DOMESTIC, WITHIN, BETWEEN = REGION_TYPES


def fee(**members: Any) -> FeeEntry:
    return FeeEntry("F", "fee", fixed=1, currency=EUR, **members)


def limit(**members: Any) -> LimitEntry:
    return LimitEntry(1, count=1, amount_currency=EUR, duration=1, **members)


def charged(facts: TransactionAttributes, **members: Any) -> bool:
    return bool(charged_entries(CATALOGUE, [fee(**members)], facts))


def counted(facts: TransactionAttributes, **members: Any) -> bool:
    return bool(counted_entries(CATALOGUE, [("1.1", limit(**members))], facts))


def meant(facts: TransactionAttributes, **members: Any) -> bool:
    rule = RiskRule(1, "rule", actions=("reject_transaction",), **members)
    return bool(applying_rules(CATALOGUE, [("1.1", rule)], facts))


EVERY = pytest.mark.parametrize("matches", [charged, counted, meant])


@EVERY
def test_an_entry_without_criteria_matches_every_debit(matches: Any) -> None:
    assert matches(FACTS)
    assert matches(TransactionAttributes(61, USD))


@EVERY
@pytest.mark.parametrize(
    ("asked", "transaction_type", "falls"),
    [(0, 0, True), (0, 1, False), (61, 61, True), (61, 62, False), (99, 62, True)],
)
def test_an_entry_for_a_transaction_type_matches_only_movements_of_that_type(
    matches: Any, asked: int, transaction_type: int, falls: bool
) -> None:
    assert matches(replace(FACTS, transaction_type=transaction_type), transaction_type=asked) is falls


@EVERY
@pytest.mark.parametrize(
    ("asked", "entry_mode", "falls"), [(7, 7, True), (7, 5, False), (0, 0, True), (0, 1, False), (99, 81, True)]
)
def test_a_rule_entry_for_a_card_entry_mode_matches_only_movements_with_that_mode(
    matches: Any, asked: int, entry_mode: int, falls: bool
) -> None:
    assert matches(replace(FACTS, entry_mode=entry_mode), entry_mode=asked) is falls


@EVERY
@pytest.mark.parametrize(
    ("mcc", "falls"), [(5398, False), (5399, True), (5400, True), (5498, True), (5499, True), (5500, False)]
)
def test_a_range_of_merchant_categories_includes_both_ends(matches: Any, mcc: int, falls: bool) -> None:
    assert matches(replace(FACTS, mcc=mcc), mcc_low=5399, mcc_high=5499) is falls


@EVERY
def test_a_range_of_one_merchant_category_matches_only_that_category(matches: Any) -> None:
    found = [matches(replace(FACTS, mcc=mcc), mcc_low=6011, mcc_high=6011) for mcc in (6010, 6011, 6012)]

    assert found == [False, True, False]


@EVERY
@pytest.mark.parametrize(("low", "high", "falls"), [(0, 9999, True), (1, 9999, False), (0, 9998, False)])
def test_a_movement_without_a_merchant_category_matches_only_the_whole_range(
    matches: Any, low: int, high: int, falls: bool
) -> None:
    assert matches(replace(FACTS, mcc=None), mcc_low=low, mcc_high=high) is falls
    assert matches(replace(FACTS, mcc=0), mcc_low=low, mcc_high=high) is (low == 0)
    assert matches(replace(FACTS, mcc=9999), mcc_low=low, mcc_high=high) is (high == 9999)


@pytest.mark.parametrize(("low", "high", "falls"), [(0, 9999, True), (0, 9998, False), (5411, 5411, False)])
def test_the_function_in_category_accepts_a_missing_category_only_for_the_whole_range(
    low: int, high: int, falls: bool
) -> None:
    assert in_category(MccRange(low, high), None) is falls
    assert in_category(MccRange(low, high), 5411)


@pytest.mark.parametrize("matches", [charged, meant])
@pytest.mark.parametrize(("country", "falls"), [(FR, True), (DE, False), (None, False)])
def test_a_fee_or_risk_rule_for_a_country_matches_only_that_country(
    matches: Any, country: int | None, falls: bool
) -> None:
    facts = replace(FACTS, country=country)

    assert matches(facts, country=FR) is falls
    assert matches(facts)
    assert matches(facts, country=0)


@pytest.mark.parametrize("matches", [charged, meant])
@pytest.mark.parametrize(
    ("country", "europe", "euro_area"),
    [(FR, True, True), (PL, True, False), (US, False, False), (CA, False, False), (None, False, False)],
)
def test_a_fee_or_risk_rule_for_a_region_matches_only_that_region(
    matches: Any, country: int | None, europe: bool, euro_area: bool
) -> None:
    facts = replace(FACTS, country=country)

    assert matches(facts, region=EUROPE) is europe
    assert matches(facts, region=EURO_AREA) is euro_area
    assert matches(facts)
    assert not matches(facts, region=4)


@pytest.mark.parametrize("matches", [charged, meant])
@pytest.mark.parametrize(("country", "falls"), [(FR, True), (DE, False)])
def test_country_and_region_of_a_fee_or_risk_rule_must_both_match(matches: Any, country: int, falls: bool) -> None:
    facts = replace(FACTS, country=country)

    assert matches(facts, country=FR, region=EURO_AREA) is falls
    assert not matches(facts, country=FR, region=AMERICA)


@pytest.mark.parametrize(("asked", "falls"), [(0, True), (EUR, True), (USD, False)])
def test_a_limit_for_a_transaction_currency_matches_only_that_currency(asked: int, falls: bool) -> None:
    assert counted(FACTS, currency=asked) is falls


@pytest.mark.parametrize(("holder_country", "falls"), [(DE, True), (FR, False), (None, False)])
def test_a_limit_for_a_holder_country_matches_only_that_country(holder_country: int | None, falls: bool) -> None:
    facts = replace(FACTS, holder_country=holder_country)

    assert counted(facts, holder_country=DE) is falls
    assert counted(facts)


@pytest.mark.parametrize(
    ("country", "falls"), [(DE, True), (FR, True), (PL, False), (US, False), (CA, False), (None, False)]
)
def test_a_limit_matches_the_countries_of_its_holder_or_transaction_region(country: int | None, falls: bool) -> None:
    of_holder = replace(FACTS, country=US, holder_country=country)
    of_transaction = replace(FACTS, country=country, holder_country=US)

    assert counted(of_holder, holder_region=EURO_AREA) is falls
    assert counted(of_transaction, transaction_region=EURO_AREA) is falls
    assert not counted(of_holder, transaction_region=EURO_AREA)
    assert not counted(of_transaction, holder_region=EURO_AREA)


@pytest.mark.parametrize("matches", [counted, meant])
@pytest.mark.parametrize(
    ("country", "holder_country", "region_type"),
    [
        (DE, DE, DOMESTIC),
        (CA, CA, DOMESTIC),
        (FR, DE, WITHIN),
        (PL, DE, WITHIN),
        (US, DE, BETWEEN),
        (CA, DE, BETWEEN),
        (CA, US, BETWEEN),
        (None, DE, None),
        (FR, None, None),
        (None, None, None),
    ],
)
def test_two_countries_have_at_most_one_region_type(
    matches: Any, country: int | None, holder_country: int | None, region_type: int | None
) -> None:
    facts = replace(FACTS, country=country, holder_country=holder_country)

    assert matches(facts, region_type=ANY)
    assert [each for each in REGION_TYPES if each != ANY and matches(facts, region_type=each)] == (
        [] if region_type is None else [region_type]
    )


OF_CLASS = {
    0: {0, 1, 9, 10, 11, 12, 19, 23, 28, 61, 62, 70},
    1: {0, 9, 10, 28},
    2: {1, 11, 12},
    3: {61, 62},
    4: {2, 20, 21, 22, 26, 60},
}


@pytest.mark.parametrize("transaction_class", LIMIT_CLASSES)
@pytest.mark.parametrize("transaction_type", TRANSACTION_TYPES)
def test_a_limit_class_matches_only_the_transaction_types_of_the_class(
    transaction_class: int, transaction_type: int
) -> None:
    facts = replace(FACTS, transaction_type=transaction_type)

    assert counted(facts, transaction_class=transaction_class) is (transaction_type in OF_CLASS[transaction_class])


@pytest.mark.parametrize("transaction_type", TRANSACTION_TYPES)
def test_a_limit_for_one_transaction_type_counts_that_type_unless_the_type_is_a_return(transaction_type: int) -> None:
    facts = replace(FACTS, transaction_type=transaction_type)

    assert counted(facts, transaction_type=transaction_type) is (transaction_type not in RETURNS)


@pytest.mark.parametrize("transaction_class", [each for each in LIMIT_CLASSES if each])
@pytest.mark.parametrize("transaction_type", TRANSACTION_TYPES)
def test_a_limit_matches_only_if_both_its_class_and_its_transaction_type_match(
    transaction_class: int, transaction_type: int
) -> None:
    facts = replace(FACTS, transaction_type=transaction_type)
    found = counted(facts, transaction_class=transaction_class, transaction_type=transaction_type)

    assert found is (transaction_type in OF_CLASS[transaction_class])


@pytest.mark.parametrize("transaction_type", sorted(CREDIT_TYPES - RETURNS))
def test_credits_match_only_limit_class_4(transaction_type: int) -> None:
    facts = replace(FACTS, transaction_type=transaction_type)

    assert [each for each in LIMIT_CLASSES if counted(facts, transaction_class=each)] == [4]


@pytest.mark.parametrize("matches", [charged, meant])
@pytest.mark.parametrize("transaction_type", TRANSACTION_TYPES)
def test_a_fee_or_risk_rule_for_any_type_matches_debits_and_credits(matches: Any, transaction_type: int) -> None:
    assert matches(replace(FACTS, transaction_type=transaction_type), transaction_type=ANY_TYPE)


@pytest.mark.parametrize("country", [FR, None])
def test_the_attributes_of_an_external_payment_contain_the_country_of_the_holder(country: int | None) -> None:
    common: dict[str, Any] = {"id": 7, "manager_id": 3, "access_level": 500}
    details = {} if country is None else {"country_ison": country}
    groups: dict[str, Any] = {"program_id": 501, "fee_group_id": 301, "risk_group_id": 401}
    account = Account(updated_at=1, holder_id=7, status="A", currency=EUR, **groups, **common)
    holder = Holder(holder_type=1, details=details, **common)
    counters = [None, None]

    def facts(account_ref: AccountRef, *items: Record) -> TransactionAttributes:
        stored = [{**vars(each), "owner": "", "part": ""} for each in items]
        context = account_ref.posting_context(CATALOGUE, [*stored, *counters[: len(items)]])
        return context.attributes(70, EUR, DE)

    found = facts(AccountRef(3, OF_HOLDER, 7, holder_id=7), account, holder)
    assert (found.country, found.holder_country) == (DE, country)
    assert facts(AccountRef(3, OF_HOLDER, 7), account).holder_country is None
