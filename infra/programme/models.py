"""The format of a programme file: its members with types, lengths and ranges."""

from __future__ import annotations

from collections.abc import Iterable
from decimal import Decimal
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, StringConstraints

from chalicelib.cards.authorization.group_rules import CHANNELS
from chalicelib.cards.programs.catalogue import HIGHEST_MCC
from chalicelib.cards.protocol import values
from chalicelib.cards.protocol.embossing import BUREAU_CHARACTERS, TRACK_SEPARATORS
from chalicelib.foundation.fields.registries import country_numbers, minor_units
from chalicelib.foundation.fields.written_text import is_blank, is_written
from chalicelib.foundation.settings import MOST_CALLS_PER_MINUTE

ALL = "all"
ENTRIES = 100
"""The maximum number of entries in a group. A group is stored in one item, and the counters of all its limits are also
stored in one item.
"""


def _check_printable(text: str) -> str:
    if not is_written(text) or is_blank(text) or text != text.strip():
        raise ValueError("must be printable text without leading or trailing spaces")
    return text


def _check_characters(text: str) -> str:
    if not text.isprintable():
        raise ValueError("must be printable text")
    if any(separator in text for separator in TRACK_SEPARATORS):
        raise ValueError(f"must not have a separator of magnetic tracks ({' '.join(TRACK_SEPARATORS)})")
    return text


def _check_currency(number: int) -> int:
    if number not in minor_units():
        raise ValueError("must be the numeric ISO 4217 code of a currency with minor units")
    return number


def _check_country(number: int) -> int:
    if number not in country_numbers():
        raise ValueError("must be a numeric ISO 3166-1 code")
    return number


def _one_of(values: Iterable[int | str]) -> AfterValidator:
    known = (*values,)
    *others, last = map(str, known)

    def check(value: int | str) -> int | str:
        if value not in known:
            raise ValueError(f"must be one of {', '.join(others)} and {last}")
        return value

    return AfterValidator(check)


def _at_most(highest: int) -> AfterValidator:
    def check(text: str) -> str:
        if Decimal(text) > highest:
            raise ValueError(f"must not be more than {highest}")
        return text

    return AfterValidator(check)


def _check_distinct(values: list[Any]) -> list[Any]:
    if len(set(values)) < len(values):
        raise ValueError("must not contain duplicates")
    return values


Id = Annotated[int, Field(ge=1, le=999_999_999)]
Level = Annotated[int, Field(ge=0, le=1000)]
Months = Annotated[int, Field(ge=1, le=300)]
Name = Annotated[str, StringConstraints(min_length=1, max_length=100), AfterValidator(_check_printable)]
Currency = Annotated[int, AfterValidator(_check_currency)]
Country = Annotated[int, AfterValidator(_check_country)]
Bin = Annotated[str, StringConstraints(pattern="^[0-9]{6,8}$")]
BureauCharacters = Annotated[str, StringConstraints(min_length=1, max_length=500), AfterValidator(_check_characters)]
DecimalRate = Annotated[str, StringConstraints(pattern=r"^[0-9]{1,9}(\.[0-9]{1,9})?$")]
_Decimals = StringConstraints(pattern=r"^[0-9]{1,3}(\.[0-9]{1,6})?$")
Percent = Annotated[str, _Decimals, _at_most(100)]
MarkupPercent = Annotated[str, _Decimals, _at_most(50)]
Minor = Annotated[int, Field(ge=0, le=999_999_999_999_999)]
"""An amount in minor units."""
Count = Annotated[int, Field(ge=0, le=999_999_999)]
Mcc = Annotated[int, Field(ge=0, le=HIGHEST_MCC)]
FeeCode = Annotated[str, StringConstraints(pattern="^[A-Za-z0-9]{1,8}$")]
TransactionType = Annotated[int, _one_of([*values.TRANSACTION_TYPES, values.ANY_TYPE])]
EntryMode = Annotated[int, _one_of([*values.ENTRY_MODES, values.ANY_TYPE])]
MaybeCountry = Annotated[int, AfterValidator(lambda number: number and _check_country(number))]
MaybeCurrency = Annotated[int, AfterValidator(lambda number: number and _check_currency(number))]
MaybeCountries = Annotated[list[Country], AfterValidator(_check_distinct)]
MaybeRegion = Annotated[int, Field(ge=0, le=999_999_999)]
Currencies = Annotated[list[Currency], Field(min_length=1), AfterValidator(_check_distinct)]
MaybeIds = Annotated[list[Id], AfterValidator(_check_distinct)]
Ids = Annotated[list[Id], Field(min_length=1), AfterValidator(_check_distinct)]
"""Ids of other entries. The first id is the default."""


class Part(BaseModel):
    """The base class of all parts of the file: strict types, no unknown members."""

    model_config = ConfigDict(strict=True, extra="forbid", frozen=True)


class NamedPart(Part):
    """An entry that other entries refer to by its id."""

    id: Id
    name: Name


class ProductPart(NamedPart):
    sub_product_id: Id


class RegionPart(NamedPart):
    countries: Annotated[list[Country], Field(min_length=1), AfterValidator(_check_distinct)]


class FeeEntryPart(Part):
    """A price: ``fixed`` plus ``percent`` of the amount, between ``minimum`` and ``maximum``."""

    code: FeeCode
    title: Name
    transaction_type: TransactionType = values.ANY_TYPE
    entry_mode: EntryMode = values.ANY_TYPE
    mcc_low: Mcc = 0
    mcc_high: Mcc = HIGHEST_MCC
    fixed: Minor | None = None
    percent: Percent | None = None
    currency: Currency
    country: Country | None = None
    region: Id | None = None
    minimum: Minor | None = None
    maximum: Minor | None = None
    blended: bool = False


class FeeGroupPart(NamedPart):
    entries: Annotated[list[FeeEntryPart], Field(max_length=ENTRIES)] = []


class LimitEntryPart(Part):
    """A limit. ``currency`` is the currency of its amount. ``transaction_currency``, if set, restricts the counted
    transactions.
    """

    id: Id
    name: Name | None = None
    count: Count | None = None
    amount: Minor | None = None
    country_count: Count | None = None
    amount_currency: Currency = Field(alias="currency")
    duration: Annotated[int, _one_of(values.DURATIONS)]
    transaction_type: TransactionType = values.ANY_TYPE
    entry_mode: EntryMode = values.ANY_TYPE
    transaction_class: Annotated[int, _one_of(values.LIMIT_CLASSES)] = Field(values.ANY_DEBIT, alias="class")
    holder_country: MaybeCountry = 0
    holder_region: MaybeRegion = 0
    transaction_region: MaybeRegion = 0
    region_type: Annotated[int, _one_of(values.REGION_TYPES)] = values.ANY_REGION
    currency: MaybeCurrency = Field(0, alias="transaction_currency")
    mcc_low: Mcc = 0
    mcc_high: Mcc = HIGHEST_MCC


class LimitGroupPart(NamedPart):
    limit_type: Literal[1, 2, 3]
    entries: Annotated[list[LimitEntryPart], Field(max_length=ENTRIES)] = []


class MccRangePart(Part):
    mcc_low: Mcc
    mcc_high: Mcc


class UsageGroupPart(NamedPart):
    """The channels, merchant categories and countries in which cards may be used."""

    blocked_channels: Annotated[list[Annotated[str, _one_of(CHANNELS)]], AfterValidator(_check_distinct)] = []
    blocked_mccs: Annotated[list[MccRangePart], Field(max_length=ENTRIES), AfterValidator(_check_distinct)] = []
    countries: MaybeCountries = []
    blocked_countries: MaybeCountries = []
    authenticated_online: bool = False


class RiskRulePart(NamedPart):
    """A risk rule. ``currency`` is the currency of its amount."""

    transaction_type: TransactionType = values.ANY_TYPE
    entry_mode: EntryMode = values.ANY_TYPE
    mcc_low: Mcc = 0
    mcc_high: Mcc = HIGHEST_MCC
    country: MaybeCountry = 0
    region: MaybeRegion = 0
    region_type: Annotated[int, _one_of(values.REGION_TYPES)] = values.ANY_REGION
    amount: Minor | None = None
    amount_currency: Currency | None = Field(None, alias="currency")
    count: Annotated[int, Field(ge=1, le=999_999_999)] | None = None
    duration: Annotated[int, _one_of(each for each in values.DURATIONS if each != values.PER_TRANSACTION)] | None = None
    actions: Annotated[
        list[Annotated[str, _one_of(values.RISK_ACTIONS)]], Field(min_length=1), AfterValidator(_check_distinct)
    ]


class RiskGroupPart(NamedPart):
    rules: Annotated[list[RiskRulePart], Field(max_length=ENTRIES)] = []


class SpecialAccountPart(NamedPart):
    currency: Currency
    country: Country
    access_level: Level = 0


class AccountProgrammePart(NamedPart):
    currencies: Currencies
    access_level: Level = 0
    holder_access_level: Level = 0
    fee_group_ids: Ids
    limit_group_ids: MaybeIds = []
    risk_group_ids: Ids
    holder_limit_group_id: Id | None = None
    country_change: bool = False
    conversion_fee_blended: bool = True


class CardProgrammePart(NamedPart):
    bin: Bin
    pan_length: Annotated[int, Field(ge=16, le=19)] = 16
    virtual: bool
    physical: bool
    currencies: Currencies
    countries: MaybeCountries = []
    service_code: Annotated[str, StringConstraints(pattern="^[0-9]{3}$")]
    validity_months: Months
    max_validity_months: Months
    access_level: Level = 0
    holder_access_level: Level = 0
    account_program_id: Id
    product_ids: Ids
    design_ids: Ids
    fee_group_ids: Ids
    limit_group_ids: Ids
    usage_group_ids: Ids
    risk_group_ids: Ids
    shipping_method_ids: MaybeIds = []
    account_limit_group_id: Id | None = None
    account_limit_group_ids: MaybeIds = []
    holder_limit_group_id: Id | None = None
    country_change: bool = False
    auto_conversion: bool = False
    bureau_characters: BureauCharacters = BUREAU_CHARACTERS


class ExchangeRatePart(Part):
    """An exchange rate: the units of the currency ``to`` per unit of the currency ``of``, as a decimal number."""

    of: Currency
    to: Currency
    rate: DecimalRate
    markup_percent: MarkupPercent = "0"


class ModesPart(Part):
    pan: Literal["plain", "masked", "encrypted", "absent"]
    pin: Literal["plain", "encrypted", "absent"]
    cvc2: Literal["plain", "encrypted", "absent"]
    acs_password: Literal["plain", "encrypted", "absent"]
    expiry: Literal["plain", "encrypted", "absent"]


class CredentialPart(Part):
    """A credential's rights. The secrets are generated when the credential is loaded, and are never part of a file."""

    name: Annotated[str, StringConstraints(pattern="^[a-z][a-z0-9-]{0,39}$")]
    access_level: Level
    actions: Annotated[
        list[str],
        Field(min_length=1),
        AfterValidator(_check_distinct),
        BeforeValidator(lambda given: [ALL] if given == ALL else given),
    ]
    modes: ModesPart
    allow_plain: bool = False
    encryption_key: str | None = None
    calls_per_minute: Annotated[int, Field(ge=1, le=MOST_CALLS_PER_MINUTE)] | None = None


class ManagerPart(NamedPart):
    """A programme manager and all its entries."""

    currencies: Currencies
    test_bins: Annotated[list[Bin], AfterValidator(_check_distinct)] = []
    exchange_rates: list[ExchangeRatePart] = []
    events_url: str | None = None
    events_encryption_key: str | None = None
    delivers_validation_values: bool = False
    products: list[ProductPart] = []
    designs: list[NamedPart] = []
    regions: list[RegionPart] = []
    fee_groups: list[FeeGroupPart] = []
    limit_groups: list[LimitGroupPart] = []
    usage_groups: list[UsageGroupPart] = []
    risk_groups: list[RiskGroupPart] = []
    shipping_methods: list[NamedPart] = []
    special_accounts: list[SpecialAccountPart] = []
    account_programmes: list[AccountProgrammePart] = []
    card_programmes: list[CardProgrammePart] = []
    credentials: list[CredentialPart] = []


class ProgrammeFile(Part):
    """A whole programme file."""

    programme_managers: Annotated[list[ManagerPart], Field(min_length=1)]
