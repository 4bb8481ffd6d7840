"""A programme manager's configuration as data: programmes, products, designs, groups, rates.

Every entry has an ``id``, unique per kind and programme manager. Entries refer to other entries by id. The first id in
a list is the default. Currencies and countries are ISO numeric codes. Amounts are in minor units.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import KW_ONLY, MISSING, field, fields
from decimal import Decimal
from functools import cached_property
from typing import Any

from chalicelib.cards.protocol.embossing import BUREAU_CHARACTERS
from chalicelib.cards.protocol.values import ANY_DEBIT, ANY_REGION, ANY_TYPE
from chalicelib.foundation.lazy_dataclasses import dataclass

HIGHEST_MCC = 9999
OF_RISK = "risk."
"""The prefix of the keys of risk rule windows."""
MOST_FEE_CODES = 8
"""The maximum number of fee codes per transaction type in a fee group, which limits the fees per movement.

All fees are written in the transaction of the movement that causes the fees. Each fee has rows in four lists. A payment
between two accounts of this service incurs fees on both accounts.
"""


@dataclass(frozen=True, slots=True)
class _Named:
    id: int
    name: str


@dataclass(frozen=True, slots=True)
class Product(_Named):
    """A card product. In card details, ``sub_product_id`` is returned in addition to the product's id."""

    sub_product_id: int


@dataclass(frozen=True, slots=True)
class Design(_Named):
    """A card design of a programme manager."""


@dataclass(frozen=True, slots=True)
class Region(_Named):
    """A group of countries that are treated alike in fees and limits. A country can belong to several regions."""

    countries: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class FeeEntry:
    """A fee and its conditions. Among the entries with the same code, the first matching entry is charged.

    ``fixed``, ``minimum`` and ``maximum`` are in ``currency``. Without ``country`` and ``region``, the fee applies
    everywhere. ``updated_at`` is the time of the operator's last change, in Unix seconds.
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
    """A fee group. Its entries are evaluated in order."""

    entries: tuple[FeeEntry, ...] = ()


@dataclass(frozen=True, slots=True)
class LimitEntry:
    """Limits on the number, total and countries of transactions within a duration.

    ``amount`` is in ``amount_currency``. ``currency`` is the transaction currency. The value 0 matches any country,
    region, currency or type of region. ``updated_at`` is the time of the operator's last change, in Unix seconds.
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
    """A limit group for cards, accounts or holders (``limit_type`` 1, 2, 3)."""

    limit_type: int
    entries: tuple[LimitEntry, ...] = ()


@dataclass(frozen=True, slots=True)
class MccRange:
    """A range of merchant category codes, inclusive at both ends."""

    mcc_low: int
    mcc_high: int


@dataclass(frozen=True, slots=True)
class UsageGroup(_Named):
    """Usage restrictions. The channels are listed in ``group_rules.CHANNELS``.

    Without ``countries``, all countries except ``blocked_countries`` are allowed. If ``authenticated_online`` is true,
    e-commerce requires 3-D Secure.
    """

    blocked_channels: tuple[str, ...] = ()
    blocked_mccs: tuple[MccRange, ...] = ()
    countries: tuple[int, ...] = ()
    blocked_countries: tuple[int, ...] = ()
    authenticated_online: bool = False


@dataclass(frozen=True, slots=True)
class RiskRule(_Named):
    """A condition for risky attempts, and the resulting actions. ``actions`` has at least one of ``RISK_ACTIONS``.

    ``amount`` is the minimum amount, in ``amount_currency``. If ``count`` is set, the rule fires after that number of
    matching attempts within ``duration``. The value 0 matches any country, region or type of region. ``updated_at`` is
    the time of the operator's last change, in Unix seconds.
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
    """A group of risk rules. Every rule is evaluated."""

    rules: tuple[RiskRule, ...] = ()


@dataclass(frozen=True, slots=True)
class ShippingMethod(_Named):
    """A shipping method for physical cards."""


@dataclass(frozen=True, slots=True)
class SpecialAccountEntry(_Named):
    """An account that belongs to the programme manager and has no holder. ``country`` is the country of the account's
    addresses.
    """

    currency: int
    country: int
    access_level: int


@dataclass(frozen=True, slots=True)
class AccountProgramme(_Named):
    """An account programme. Without ``limit_group_ids``, accounts have no limit group.

    If ``conversion_fee_blended`` is true, a transaction's amount includes the conversion fee.
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
    """A card programme: defaults for cards, and for accounts and holders created with a card.

    ``bin`` has 6 to 8 digits, and a PAN has ``pan_length`` (16 to 19) digits. ``virtual`` and ``physical`` specify the
    allowed kinds of card. Without ``countries``, all countries are allowed. ``validity_months`` is the default
    validity. ``country_change`` states whether a holder's country may change. ``auto_conversion`` states whether cards
    may convert currencies, and whether conversion is the default. ``bureau_characters`` are the characters that the
    programme's card bureau can print.
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
    bureau_characters: str = BUREAU_CHARACTERS


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
"""The kinds of entries. Each kind is listed after the kinds to which its entries refer."""
ENTRIES_OF: Mapping[type[Entry], str] = {FeeGroup: "entries", LimitGroup: "entries", RiskGroup: "rules"}
"""The group classes, each with the name of the member that contains the group's entries."""
_PARTS: Mapping[tuple[type[Any], str], type[GroupEntry | MccRange]] = {
    (FeeGroup, "entries"): FeeEntry,
    (LimitGroup, "entries"): LimitEntry,
    (RiskGroup, "rules"): RiskRule,
    (UsageGroup, "blocked_mccs"): MccRange,
}


@dataclass(frozen=True, slots=True)
class Rate:
    """The value of one unit of a currency in another currency (both in major units), and the conversion markup."""

    base: Decimal
    markup_percent: Decimal


_SAME_CURRENCY = Rate(Decimal(1), Decimal(0))


@dataclass(frozen=True)
class Catalogue:
    """One programme manager's configuration. Entries of each kind are keyed by id, in ascending order.

    ``rates`` are exchange rates by source and target currency. Outside production, every BIN starts with one of
    ``test_bins``. Without ``events_url``, no events are sent. If ``delivers_validation_values`` is true, the programme
    manager sends 3-D Secure validation values to its cardholders. In this case, ``events_encryption_key`` (PEM, RSA of
    at least 3072 bits) is required. This key encrypts validation values in events.
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
        """Return the entries of one kind, named as in ``KINDS``."""
        found: Mapping[int, Entry] = getattr(self, f"{kind}s")
        return found

    def entries(self) -> Iterator[tuple[str, Entry]]:
        """Yield every entry with its kind, in the order of ``KINDS`` and then in the order of ids."""
        for kind in KINDS:
            yield from ((kind, entry) for entry in self.of(kind).values())

    def rate(self, of: int, to: int) -> Rate | None:
        """Return the exchange rate between two currencies, or ``None``. Equal currencies have rate 1 without markup."""
        return _SAME_CURRENCY if of == to else self.rates.get((of, to))

    @cached_property
    def window_durations(self) -> Mapping[str, int]:
        """The durations of limits and of risk rules with a count, by the keys of their windows.

        For example, key ``3.1`` is entry 1 of limit group 3, and ``risk.7.1`` is rule 1 of risk group 7.
        """
        limit_groups, risk_groups = self.limit_groups.values(), self.risk_groups.values()
        limits = {f"{group.id}.{each.id}": each.duration for group in limit_groups for each in group.entries}
        rules = {f"{OF_RISK}{group.id}.{each.id}": each.duration for group in risk_groups for each in group.rules}
        return limits | {key: duration for key, duration in rules.items() if duration is not None}

    @cached_property
    def regions_by_country(self) -> Mapping[int, frozenset[int]]:
        """The ids of the regions that contain each country. Countries without a region are omitted."""
        countries = {country for region in self.regions.values() for country in region.countries}
        return {
            country: frozenset(region.id for region in self.regions.values() if country in region.countries)
            for country in countries
        }


def members(entry: Entry | GroupEntry | MccRange) -> dict[str, Any]:
    """Return an entry as plain data, with decimals as strings and without members that are ``None``."""
    values = {each.name: _to_plain(getattr(entry, each.name)) for each in fields(entry)}
    return {name: value for name, value in values.items() if value is not None}


def entry(kind: str, plain: Mapping[str, Any]) -> Entry:
    """Restore an entry from plain data. Unknown members of ``plain`` are ignored."""
    made: Entry = _restore(KINDS[kind], plain)
    return made


def _to_plain(value: Any) -> Any:
    if isinstance(value, tuple):
        return [_to_plain(each) for each in value]
    if isinstance(value, Decimal):
        return str(value)
    return members(value) if isinstance(value, GroupEntry | MccRange) else value


def _restore(made: type[Any], plain: Mapping[str, Any]) -> Any:
    there = [each.name for each in fields(made) if each.name in plain or each.default is MISSING]
    return made(**{name: _restore_value(made, name, plain.get(name)) for name in there})


def _restore_value(made: type[Any], name: str, value: Any) -> Any:
    if name == "percent" and value is not None:
        return Decimal(value)
    if part := _PARTS.get((made, name)):
        return tuple(_restore(part, each) for each in value)
    return tuple(value) if isinstance(value, list) else value
