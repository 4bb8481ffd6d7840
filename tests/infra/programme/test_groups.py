"""Fees, limits, regions and special accounts in a programme file: valid values and references."""

import re

import pytest

from chalicelib.cards.programs.catalogue import AccountProgramme, CardProgramme, LimitEntry
from chalicelib.cards.protocol import values
from infra.programme import models
from tests.cards.programmes import Content, fee, limit, manager, region, special_account
from tests.infra.operator_files import DEMO, catalogue_of, faults
from tests.kit.documents import PROGRAMME_FILE


def with_fees(*entries: Content) -> Content:
    return {"regions": [region(4)], "fee_groups": [{"id": 1, "name": "Fees", "entries": [*entries]}]}


def with_limits(*entries: Content) -> Content:
    first, *others = manager()["limit_groups"]
    return {"regions": [region(4)], "limit_groups": [{**first, "entries": [*entries]}, *others]}


# -- the demonstration's file


def entries_of(group_ids: tuple[int, ...]) -> list[LimitEntry]:
    return [entry for number in group_ids for entry in DEMO.limit_groups[number].entries]


@pytest.mark.parametrize("programme", [DEMO.account_programmes[501], DEMO.card_programmes[101]])
def test_the_default_fee_groups_of_the_demo_programme_make_external_payments_free(
    programme: AccountProgramme | CardProgramme,
) -> None:
    default = DEMO.fee_groups[programme.fee_group_ids[0]]
    priced = {entry.transaction_type for entry in default.entries}

    assert priced
    assert not priced & {values.EXTERNAL_IN, values.EXTERNAL_OUT, values.DIRECT_DEBIT, values.ANY_TYPE}
    business = {entry.transaction_type for entry in DEMO.fee_groups[304].entries}
    assert {values.EXTERNAL_IN, values.EXTERNAL_OUT, values.DIRECT_DEBIT} <= business
    assert 304 in programme.fee_group_ids
    assert DEMO.fee_groups[302].entries == ()


def test_the_default_limits_of_the_demo_programme_allow_simple_tests() -> None:
    """The limits are 10,000.00 outgoing and 1,000,000.00 incoming, including in the currency with the highest value."""
    factor = DEMO.rates[826, 978].base
    for entry in entries_of((201, 211, 221)):
        if entry.amount is not None and entry.transaction_class in (values.ANY_DEBIT, values.EXTERNAL_DEBITS):
            assert entry.mcc_low or entry.amount >= 1_000_000 * factor
        if entry.amount is not None and entry.transaction_class == values.MONEY_IN:
            assert entry.amount >= 100_000_000 * factor
        assert entry.count is None or entry.transaction_class == values.CASH or entry.mcc_low


def test_the_demo_programme_has_fees_of_every_kind() -> None:
    entries = [entry for group in DEMO.fee_groups.values() for entry in group.entries]

    assert {entry.blended for entry in entries} == {True, False}
    assert [entry for entry in entries if entry.region]
    assert [entry for entry in entries if entry.country]
    assert [entry for entry in entries if entry.fixed and entry.percent and entry.minimum and entry.maximum]
    custom = [entry for entry in entries if entry.transaction_type == values.FEE]
    assert {entry.code for entry in custom} == {"CARDREPL", "STATEMNT"}
    assert all(entry.fixed and not entry.percent for entry in custom)


def test_the_demo_programme_has_limits_of_every_kind() -> None:
    entries = entries_of(tuple(DEMO.limit_groups))

    assert {entry.duration for entry in entries} == {*values.DURATIONS}
    assert {entry.transaction_class for entry in entries} == {*values.LIMIT_CLASSES}
    assert {group.limit_type for group in DEMO.limit_groups.values()} == {*values.LIMIT_TYPES}
    for member in ("count", "amount", "country_count", "holder_region", "transaction_region", "region_type"):
        assert [entry for entry in entries if getattr(entry, member)], member
    assert (7995, 7995) in {(entry.mcc_low, entry.mcc_high) for entry in entries}


# -- the documents


@pytest.mark.parametrize(
    "part",
    [
        models.FeeEntryPart,
        models.LimitEntryPart,
        models.UsageGroupPart,
        models.MccRangePart,
        models.RiskRulePart,
        models.ExchangeRatePart,
        models.RegionPart,
    ],
)
def test_docs_name_every_member_of_groups_and_rates(part: type[models.Part]) -> None:
    names = {member.alias or name for name, member in part.model_fields.items()}
    text = PROGRAMME_FILE

    assert {name for name in names if f"`{name}`" not in text} <= {"id", "name"}


def test_docs_list_the_numeric_codes_of_durations_classes_and_region_types() -> None:
    text = PROGRAMME_FILE

    assert f"at most {models.ENTRIES} a group" in text
    (durations,) = re.findall(r"^\| `duration` \| (.+) \|$", text, re.MULTILINE)
    (classes,) = re.findall(r"^\| `class` \| The transactions counted: (.+) \|$", text, re.MULTILINE)
    (regions,) = re.findall(r"^\| `region_type` \| (.+) \|$", text, re.MULTILINE)
    assert durations == ", ".join(f"{number} {said.replace(',', '')}" for number, said in values.DURATIONS.items())
    assert classes.replace(" (the default)", "") == ", ".join(
        f"{number} {said}" for number, said in values.LIMIT_CLASSES.items()
    )
    assert regions == ", ".join(f"{number} {said}" for number, said in values.REGION_TYPES.items() if number)


# -- fees


def test_a_fee_entry_has_defaults_that_match_every_transaction() -> None:
    (entry,) = catalogue_of(**with_fees(fee())).fee_groups[1].entries

    assert entry.transaction_type == 99
    assert entry.entry_mode == 99
    assert entry.mcc_low == 0
    assert entry.mcc_high == 9999
    assert entry.country is None
    assert entry.region is None
    assert entry.minimum is None
    assert entry.maximum is None
    assert entry.percent is None
    assert entry.fixed == 100
    assert entry.blended is False
    assert entry.updated_at == 0


@pytest.mark.parametrize(
    "members",
    [
        {"percent": "0"},
        {"percent": "100"},
        {"percent": "100.000000"},
        {"percent": "0.000001", "fixed": 0},
        {"fixed": 999_999_999_999_999},
        {"minimum": 7, "maximum": 7},
        {"minimum": 7},
        {"mcc_low": 7995, "mcc_high": 7995},
        {"region": 4, "country": 276},
        {"code": "A"},
        {"code": "Abcdefg8"},
        {"transaction_type": 70, "entry_mode": 91},
    ],
)
def test_a_valid_fee_entry_is_accepted(members: Content) -> None:
    assert catalogue_of(**with_fees(fee() | members))


@pytest.mark.parametrize(
    ("members", "said"),
    [
        ({"code": ""}, "code must match pattern '^[A-Za-z0-9]{1,8}$'"),
        ({"code": "ABCDEFGH9"}, "code must match pattern '^[A-Za-z0-9]{1,8}$'"),
        ({"code": "A-B"}, "code must match pattern '^[A-Za-z0-9]{1,8}$'"),
        ({"code": 12}, "code must be text: put it in quotes"),
        ({"percent": "100.000001"}, "percent must not be more than 100"),
        ({"percent": "0.0000001"}, "percent must match pattern '^[0-9]{1,3}(\\.[0-9]{1,6})?$'"),
        ({"percent": "-1"}, "percent must match pattern '^[0-9]{1,3}(\\.[0-9]{1,6})?$'"),
        ({"percent": 1}, "percent must be text: put it in quotes"),
        ({"fixed": 1_000_000_000_000_000}, "fixed must be less than or equal to 999999999999999"),
        ({"fixed": -1}, "fixed must be a whole number"),
        ({"fixed": "1.50"}, "fixed must be a whole number"),
        ({"fixed": None}, "fixed is required if percent is absent"),
        ({"minimum": 8, "maximum": 7}, "minimum must not be more than maximum"),
        ({"mcc_low": 8, "mcc_high": 7}, "mcc_low must not be more than mcc_high"),
        ({"mcc_high": 10000}, "mcc_high must be less than or equal to 9999"),
        ({"currency": 840}, "currency contains 840, which is not a currency of the programme manager"),
        ({"currency": 1}, "currency must be the numeric ISO 4217 code of a currency with minor units"),
        ({"country": 999}, "country must be a numeric ISO 3166-1 code"),
        ({"region": 5}, "region refers to the region 5, which is not in the file"),
        (
            {"transaction_type": 3},
            f"transaction_type must be one of {', '.join(map(str, values.TRANSACTION_TYPES))} and 99",
        ),
        ({"entry_mode": 3}, "entry_mode must be one of 0, 1, 2, 5, 7, 10, 80, 81, 90, 91 and 99"),
        ({"updated_at": 1}, "updated_at is unknown"),
    ],
)
def test_an_invalid_fee_entry_is_refused(members: Content, said: str) -> None:
    assert faults(**with_fees(fee("FIRST"), fee() | members)) == (f"fee_groups.0.entries.1.{said}",)


def test_a_fee_group_has_at_most_8_codes_for_one_transaction_type() -> None:
    most = [fee(f"CODE{number}") for number in range(7)] + [fee("CODE7", transaction_type=1)]

    assert catalogue_of(**with_fees(*most, fee("CODE0", percent="1"), fee("CODE8", transaction_type=0)))
    assert faults(**with_fees(*most, fee("CODE8", transaction_type=1))) == (
        "fee_groups.0.entries must not have more than 8 different codes for one transaction type",
    )


def test_fees_with_the_same_code_are_stored_in_the_order_of_the_file() -> None:
    entries = catalogue_of(**with_fees(fee("B"), fee("A"), fee("B", percent="1"))).fee_groups[1].entries

    assert [(entry.code, entry.fixed) for entry in entries] == [("B", 100), ("A", 100), ("B", None)]


# -- limits


def test_a_limit_entry_has_defaults_that_match_every_debit() -> None:
    (entry,) = catalogue_of(**with_limits(limit())).limit_groups[1].entries

    assert entry.transaction_type == 99
    assert entry.entry_mode == 99
    assert entry.mcc_low == 0
    assert entry.mcc_high == 9999
    assert entry.transaction_class == 0
    assert entry.holder_country == 0
    assert entry.holder_region == 0
    assert entry.transaction_region == 0
    assert entry.region_type == 0
    assert entry.currency == 0
    assert entry.name is None
    assert entry.count is None
    assert entry.country_count is None
    assert entry.amount_currency == 978


@pytest.mark.parametrize(
    "members",
    [
        {"amount": 0},
        {"amount": 999_999_999_999_999},
        {"amount": None, "count": 0},
        {"amount": None, "country_count": 1},
        {"transaction_currency": 826},
        {"transaction_currency": 0, "holder_country": 0, "holder_region": 0},
        {"holder_country": 276, "holder_region": 4, "transaction_region": 4, "region_type": 3},
        *({"duration": duration} for duration in (0, 1, 7, 30, 365)),
        *({"class": 1, "transaction_type": each} for each in (0, 9, 10, 28, 99)),
        *({"class": 2, "transaction_type": each} for each in (1, 11, 12, 99)),
        *({"class": 3, "transaction_type": each} for each in (61, 62, 99)),
        *({"class": 4, "transaction_type": each} for each in (2, 20, 21, 22, 26, 60, 99)),
        {"class": 0, "transaction_type": 60},
    ],
)
def test_a_valid_limit_entry_is_accepted(members: Content) -> None:
    assert catalogue_of(**with_limits(limit() | members))


@pytest.mark.parametrize(
    ("members", "said"),
    [
        ({"amount": None}, "amount is required if count and country_count are absent"),
        ({"amount": 1_000_000_000_000_000}, "amount must be less than or equal to 999999999999999"),
        ({"count": -1}, "count must be a whole number"),
        ({"id": 7}, "id occurs twice"),
        ({"id": 0}, "id must be greater than or equal to 1"),
        ({"duration": 2}, "duration must be one of 0, 1, 7, 30 and 365"),
        ({"class": 5}, "class must be one of 0, 1, 2, 3 and 4"),
        ({"region_type": 4}, "region_type must be one of 0, 1, 2 and 3"),
        ({"mcc_low": 8, "mcc_high": 7}, "mcc_low must not be more than mcc_high"),
        ({"currency": 840}, "currency contains 840, which is not a currency of the programme manager"),
        (
            {"transaction_currency": 840},
            "transaction_currency contains 840, which is not a currency of the programme manager",
        ),
        (
            {"transaction_currency": 1},
            "transaction_currency must be the numeric ISO 4217 code of a currency with minor units",
        ),
        ({"holder_country": 999}, "holder_country must be a numeric ISO 3166-1 code"),
        ({"holder_region": 5}, "holder_region refers to the region 5, which is not in the file"),
        ({"transaction_region": 5}, "transaction_region refers to the region 5, which is not in the file"),
        ({"class": 1, "transaction_type": 1}, "transaction_type is not a type that class 1 counts (purchases)"),
        ({"class": 2, "transaction_type": 0}, "transaction_type is not a type that class 2 counts (cash)"),
        (
            {"class": 3, "transaction_type": 60},
            "transaction_type is not a type that class 3 counts (outbound external payments and direct debits)",
        ),
        (
            {"class": 4, "transaction_type": 61},
            "transaction_type is not a type that class 4 counts (all credits except returns)",
        ),
        ({"amount_currency": 978}, "amount_currency is unknown"),
    ],
)
def test_an_invalid_limit_entry_is_refused(members: Content, said: str) -> None:
    assert faults(**with_limits(limit(7), limit() | members)) == (f"limit_groups.0.entries.1.{said}",)


def test_entries_of_different_groups_can_have_the_same_id() -> None:
    given = with_limits(limit(7))
    given["limit_groups"][1]["entries"] = [limit(7)]

    assert [group.entries[0].id for group in catalogue_of(**given).limit_groups.values() if group.entries] == [7, 7]


def test_a_group_has_at_most_100_entries() -> None:
    assert len(catalogue_of(**with_fees(*[fee()] * 100)).fee_groups[1].entries) == 100
    assert len(catalogue_of(**with_limits(*map(limit, range(1, 101)))).limit_groups[1].entries) == 100
    (many_fees,) = faults(**with_fees(*[fee()] * 101))
    (many_limits,) = faults(**with_limits(*map(limit, range(1, 102))))
    assert many_fees.startswith("fee_groups.0.entries must have at most 100 items")
    assert many_limits.startswith("limit_groups.0.entries must have at most 100 items")


# -- regions and special accounts


@pytest.mark.parametrize(
    ("countries", "said"),
    [
        ([], " must not be empty"),
        ([276, 276], " must not contain duplicates"),
        ([276, 999], ".1 must be a numeric ISO 3166-1 code"),
    ],
)
def test_an_invalid_region_is_refused(countries: list[int], said: str) -> None:
    assert faults(regions=[region(1) | {"countries": countries}]) == (f"regions.0.countries{said}",)


@pytest.mark.parametrize(
    ("members", "said"),
    [
        ({"currency": 840}, "currency contains 840, which is not a currency of the programme manager"),
        ({"country": 999}, "country must be a numeric ISO 3166-1 code"),
        ({"access_level": 1001}, "access_level must be less than or equal to 1000"),
        ({"id": 7}, "id occurs twice"),
    ],
)
def test_an_invalid_special_account_is_refused(members: Content, said: str) -> None:
    assert catalogue_of(special_accounts=[special_account(7)]).special_accounts[7].access_level == 0
    given = [special_account(7), special_account(8, **members)]
    assert faults(special_accounts=given) == (f"special_accounts.1.{said}",)
