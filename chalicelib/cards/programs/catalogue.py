"""A programme manager's set-up as data: programmes, products, designs, groups, rates.

Every entry has an ``id``, unique in its kind and programme manager. Entries refer to others by id; the first of a list
is the default. Currencies and countries are ISO numeric codes, amounts are in minor units.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import KW_ONLY, MISSING, dataclass, field, fields
from decimal import Decimal
from typing import Any

from chalicelib.cards.protocol.values import ANY_DEBIT, ANY_REGION, ANY_TYPE

HIGHEST_MCC = 9999
MOST_FEE_CODES = 8
"""The most codes of a fee group for one type of transactions, and so fees of a movement.

All are written in one transaction with their cause, each with its rows in four lists; a payment between two accounts of
this service has them on both sides.
"""


@dataclass(frozen=True, slots=True)
class _Named:
    id: int
    name: str


@dataclass(frozen=True, slots=True)
class Product(_Named):
    """A card product; the details of a card show ``sub_product_id`` beside it."""

    sub_product_id: int


@dataclass(frozen=True, slots=True)
class Design(_Named):
    """A card design."""


@dataclass(frozen=True, slots=True)
class Region(_Named):
    """Countries that fees and limits treat alike. A country may be in several regions."""

    countries: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class FeeEntry:
    """A price and its conditions. Of the entries of one code, the first that matches is charged.

    ``fixed``, ``minimum`` and ``maximum`` are in ``currency``. Without ``country`` and ``region`` it is for any.
    ``updated_at``: when an operator last changed it, in Unix seconds.
    """

    code: str
    title: str
    _: KW_ONLY
    transaction_type: int = ANY_TYPE
    entry_mode: int = ANY_TYPE
    mcc_low: int = 0
    mcc_high: int = HIGHEST_MCC
    fixed: int | None = None
    percent: Decimal | None = None
    currency: int
    country: int | None = None
    region: int | None = None
    minimum: int | None = None
    maximum: int | None = None
    blended: bool = False
    updated_at: int = 0


@dataclass(frozen=True, slots=True)
class FeeGroup(_Named):
    """A group of fees, in the order in which they are looked at."""

    entries: tuple[FeeEntry, ...] = ()


@dataclass(frozen=True, slots=True)
class LimitEntry:
    """Bounds of the number, sum and countries of transactions within a duration.

    ``amount`` is in ``amount_currency``; ``currency`` is that of the transactions. 0 stands for any country, region,
    currency and type of region. ``updated_at``: when an operator last changed it, in Unix seconds.
    """

    id: int
    name: str | None = None
    _: KW_ONLY
    count: int | None = None
    amount: int | None = None
    country_count: int | None = None
    amount_currency: int
    duration: int
    transaction_type: int = ANY_TYPE
    entry_mode: int = ANY_TYPE
    transaction_class: int = ANY_DEBIT
    holder_country: int = 0
    holder_region: int = 0
    transaction_region: int = 0
    region_type: int = ANY_REGION
    currency: int = 0
    mcc_low: int = 0
    mcc_high: int = HIGHEST_MCC
    updated_at: int = 0


@dataclass(frozen=True, slots=True)
class LimitGroup(_Named):
    """A group of limits, for cards, accounts or holders (``limit_type`` 1, 2, 3)."""

    limit_type: int
    entries: tuple[LimitEntry, ...] = ()


@dataclass(frozen=True, slots=True)
class MccRange:
    """Merchant category codes, both ends included."""

    mcc_low: int
    mcc_high: int


@dataclass(frozen=True, slots=True)
class UsageGroup(_Named):
    """Restrictions of use; the channels are those of ``network.usage_groups``.

    Without ``countries`` all countries but ``blocked_countries`` are allowed. ``authenticated_online``: e-commerce
    needs 3-D Secure.
    """

    blocked_channels: tuple[str, ...] = ()
    blocked_mccs: tuple[MccRange, ...] = ()
    countries: tuple[int, ...] = ()
    blocked_countries: tuple[int, ...] = ()
    authenticated_online: bool = False


@dataclass(frozen=True, slots=True)
class RiskRule(_Named):
    """Risky attempts and their consequences: ``actions`` are at least one of ``RISK_ACTIONS``.

    ``amount`` is the lowest amount, in ``amount_currency``. With ``count`` the rule fires after this many such attempts
    within the ``duration``. 0 stands for any country, region and type of region. ``updated_at``: when an operator last
    changed it, in Unix seconds.
    """

    _: KW_ONLY
    transaction_type: int = ANY_TYPE
    entry_mode: int = ANY_TYPE
    mcc_low: int = 0
    mcc_high: int = HIGHEST_MCC
    country: int = 0
    region: int = 0
    region_type: int = ANY_REGION
    amount: int | None = None
    amount_currency: int | None = None
    count: int | None = None
    duration: int | None = None
    actions: tuple[str, ...]
    updated_at: int = 0


@dataclass(frozen=True, slots=True)
class RiskGroup(_Named):
    """A group of risk rules, all of which are looked at."""

    rules: tuple[RiskRule, ...] = ()


@dataclass(frozen=True, slots=True)
class ShippingMethod(_Named):
    """A shipping method of physical cards."""


@dataclass(frozen=True, slots=True)
class SpecialAccountEntry(_Named):
    """A programme manager's own account, without a holder; ``country`` is that of its addresses."""

    currency: int
    country: int
    access_level: int


@dataclass(frozen=True, slots=True)
class AccountProgramme(_Named):
    """An account programme. Without ``limit_group_ids`` an account has no limit group.

    ``conversion_fee_blended``: the conversion fee is part of a transaction's amount.
    """

    currencies: tuple[int, ...]
    access_level: int
    holder_access_level: int
    fee_group_ids: tuple[int, ...]
    limit_group_ids: tuple[int, ...]
    risk_group_ids: tuple[int, ...]
    holder_limit_group_id: int | None
    country_change: bool
    conversion_fee_blended: bool = True


@dataclass(frozen=True, slots=True)
class CardProgramme(_Named):
    """A card programme: defaults of cards, and of accounts and holders made with a card.

    ``bin`` has 6 to 8 digits, a PAN ``pan_length`` (16 to 19). ``virtual`` and ``physical`` say which kinds of card
    there may be. Without ``countries`` a card may have any. ``validity_months`` is the default validity.
    ``country_change`` says whether a holder's country may change, ``auto_conversion`` whether a card may have it (then
    it is the default, too).
    """

    bin: str
    pan_length: int
    virtual: bool
    physical: bool
    currencies: tuple[int, ...]
    countries: tuple[int, ...]
    service_code: str
    validity_months: int
    max_validity_months: int
    access_level: int
    holder_access_level: int
    account_program_id: int
    product_ids: tuple[int, ...]
    design_ids: tuple[int, ...]
    fee_group_ids: tuple[int, ...]
    limit_group_ids: tuple[int, ...]
    usage_group_ids: tuple[int, ...]
    risk_group_ids: tuple[int, ...]
    shipping_method_ids: tuple[int, ...]
    account_limit_group_id: int | None
    account_limit_group_ids: tuple[int, ...]
    holder_limit_group_id: int | None
    country_change: bool
    auto_conversion: bool


Entry = (
    CardProgramme
    | AccountProgramme
    | Product
    | Design
    | Region
    | FeeGroup
    | LimitGroup
    | UsageGroup
    | RiskGroup
    | ShippingMethod
    | SpecialAccountEntry
)
GroupEntry = FeeEntry | LimitEntry | RiskRule

KINDS: Mapping[str, type[Entry]] = {
    "product": Product,
    "design": Design,
    "region": Region,
    "fee_group": FeeGroup,
    "limit_group": LimitGroup,
    "usage_group": UsageGroup,
    "risk_group": RiskGroup,
    "shipping_method": ShippingMethod,
    "special_account": SpecialAccountEntry,
    "account_programme": AccountProgramme,
    "card_programme": CardProgramme,
}
"""The kinds of entries, after the kinds that they refer to."""
ENTRIES_OF: Mapping[type[Entry], str] = {FeeGroup: "entries", LimitGroup: "entries", RiskGroup: "rules"}
"""The groups, and the member that holds their entries."""
_PARTS: Mapping[tuple[type[Any], str], type[GroupEntry | MccRange]] = {
    (FeeGroup, "entries"): FeeEntry,
    (LimitGroup, "entries"): LimitEntry,
    (RiskGroup, "rules"): RiskRule,
    (UsageGroup, "blocked_mccs"): MccRange,
}
"""Members that are lists of parts."""


@dataclass(frozen=True, slots=True)
class Rate:
    """The value of one unit of a currency in another, in whole units, and the markup of a conversion."""

    base: Decimal
    markup_percent: Decimal


_SAME_CURRENCY = Rate(Decimal(1), Decimal(0))


@dataclass(frozen=True, slots=True)
class Catalogue:
    """One programme manager's set-up; the entries of each kind by their ids, in ascending order.

    ``rates`` are exchange rates, by the currency that is converted and the one that it is converted into. Outside
    production every BIN begins with one of ``test_bins``. Without ``events_url`` no events are sent.
    ``delivers_validation_values`` says whether the programme manager sends the values of 3-D Secure to its cardholders;
    then there is an ``events_encryption_key`` (PEM, RSA of at least 3072 bits), for what events hold encrypted.
    """

    manager_id: int
    name: str
    currencies: tuple[int, ...] = ()
    test_bins: tuple[str, ...] = ()
    rates: Mapping[tuple[int, int], Rate] = field(default_factory=dict)
    events_url: str | None = None
    events_encryption_key: str | None = None
    delivers_validation_values: bool = False
    products: Mapping[int, Product] = field(default_factory=dict)
    designs: Mapping[int, Design] = field(default_factory=dict)
    regions: Mapping[int, Region] = field(default_factory=dict)
    fee_groups: Mapping[int, FeeGroup] = field(default_factory=dict)
    limit_groups: Mapping[int, LimitGroup] = field(default_factory=dict)
    usage_groups: Mapping[int, UsageGroup] = field(default_factory=dict)
    risk_groups: Mapping[int, RiskGroup] = field(default_factory=dict)
    shipping_methods: Mapping[int, ShippingMethod] = field(default_factory=dict)
    special_accounts: Mapping[int, SpecialAccountEntry] = field(default_factory=dict)
    account_programmes: Mapping[int, AccountProgramme] = field(default_factory=dict)
    card_programmes: Mapping[int, CardProgramme] = field(default_factory=dict)

    def of(self, kind: str) -> Mapping[int, Entry]:
        """The entries of a kind, named as in ``KINDS``."""
        found: Mapping[int, Entry] = getattr(self, f"{kind}s")
        return found

    def entries(self) -> Iterator[tuple[str, Entry]]:
        """Every entry with its kind, in the order of ``KINDS`` and of the ids."""
        for kind in KINDS:
            yield from ((kind, entry) for entry in self.of(kind).values())

    def rate(self, of: int, to: int) -> Rate | None:
        """The rate from a currency to another, 1 without a markup for the same one, or ``None``."""
        return _SAME_CURRENCY if of == to else self.rates.get((of, to))

    def regions_of(self, country: int) -> frozenset[int]:
        """The ids of the regions that a country is in."""
        return frozenset(region.id for region in self.regions.values() if country in region.countries)


def members(entry: Entry | GroupEntry | MccRange) -> dict[str, Any]:
    """An entry as plain data, decimal numbers as text; without missing members."""
    values = {each.name: _to_plain(getattr(entry, each.name)) for each in fields(entry)}
    return {name: value for name, value in values.items() if value is not None}


def entry(kind: str, plain: Mapping[str, Any]) -> Entry:
    """The entry from its plain data; other members of ``plain`` are ignored."""
    made: Entry = _restore(KINDS[kind], plain)
    return made


def _to_plain(value: Any) -> Any:
    if isinstance(value, tuple):
        return [_to_plain(each) for each in value]
    if isinstance(value, Decimal):
        return str(value)
    return members(value) if isinstance(value, GroupEntry | MccRange) else value


def _restore(made: type[Any], plain: Mapping[str, Any]) -> Any:
    """What was kept before a member existed has the member's default."""
    there = [each.name for each in fields(made) if each.name in plain or each.default is MISSING]
    return made(**{name: _restore_value(made, name, plain.get(name)) for name in there})


def _restore_value(made: type[Any], name: str, value: Any) -> Any:
    if name == "percent" and value is not None:
        return Decimal(value)
    if part := _PARTS.get((made, name)):
        return tuple(_restore(part, each) for each in value)
    return tuple(value) if isinstance(value, list) else value
