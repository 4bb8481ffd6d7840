"""Attributes of a movement, and the matching of fee, limit and risk entries.

Ranges are inclusive. An entry that requires an attribute does not match a movement without the attribute.
"""

from __future__ import annotations

from collections.abc import Iterable

from chalicelib.cards.programs.catalogue import HIGHEST_MCC, Catalogue, FeeEntry, LimitEntry, MccRange, RiskRule
from chalicelib.cards.protocol import values
from chalicelib.foundation.lazy_dataclasses import dataclass

_NO_DEBITS = values.CREDIT_TYPES | values.INQUIRY_TYPES
"""The transaction types of credits and inquiries. An entry with class ``ANY_DEBIT`` counts one of these types only if
the entry specifies the type.
"""


@dataclass(frozen=True, slots=True)
class TransactionAttributes:
    """The attributes of a movement, with numeric ISO 4217 and ISO 3166-1 codes.

    ``country`` is the country in which the transaction takes place. An external payment has no ``mcc``, so only entries
    that cover all categories match.
    """

    transaction_type: int
    currency: int
    entry_mode: int = 0
    mcc: int | None = None
    country: int | None = None
    holder_country: int | None = None


def charged_entries(catalogue: Catalogue, entries: Iterable[FeeEntry], facts: TransactionAttributes) -> list[FeeEntry]:
    """Return the fee entries that apply to a movement."""
    return [
        entry
        for entry in entries
        if _matches_entry(entry, facts)
        and in_country(entry, facts.country)
        and _in_region(catalogue, entry.region, facts.country)
    ]


def counted_entries(
    catalogue: Catalogue, entries: Iterable[tuple[str, LimitEntry]], facts: TransactionAttributes
) -> list[tuple[str, LimitEntry]]:
    """Return the limit entries that count a movement, each with its key."""
    return [
        (key, entry)
        for key, entry in entries
        if _matches_entry(entry, facts)
        and _has_its_class(entry, facts)
        and entry.currency in (0, facts.currency)
        and entry.holder_country in (0, facts.holder_country)
        and _in_region(catalogue, entry.holder_region, facts.holder_country)
        and _in_region(catalogue, entry.transaction_region, facts.country)
        and _has_its_region_type(catalogue, entry, facts)
    ]


def applying_rules(
    catalogue: Catalogue, rules: Iterable[tuple[str, RiskRule]], facts: TransactionAttributes
) -> list[tuple[str, RiskRule]]:
    """Return the risk rules that apply to a movement regardless of its amount, each with its name."""
    return [
        (name, rule)
        for name, rule in rules
        if _matches_entry(rule, facts)
        and in_country(rule, facts.country)
        and _in_region(catalogue, rule.region, facts.country)
        and _has_its_region_type(catalogue, rule, facts)
    ]


def in_country(entry: FeeEntry | RiskRule, country: int | None) -> bool:
    """Whether an entry applies in a country."""
    return not entry.country or entry.country == country


def in_category(entry: FeeEntry | LimitEntry | RiskRule | MccRange, mcc: int | None) -> bool:
    """Whether an entry covers a merchant category."""
    if mcc is None:
        return (entry.mcc_low, entry.mcc_high) == (0, HIGHEST_MCC)
    return entry.mcc_low <= mcc <= entry.mcc_high


def _has_its_class(entry: LimitEntry, facts: TransactionAttributes) -> bool:
    if entry.transaction_class != values.ANY_DEBIT:
        return facts.transaction_type in values.TYPES_OF_CLASS[entry.transaction_class]
    is_asked_for = entry.transaction_type != values.ANY_TYPE or facts.transaction_type not in _NO_DEBITS
    return is_asked_for and facts.transaction_type not in values.RETURNS


def _matches_entry(entry: FeeEntry | LimitEntry | RiskRule, facts: TransactionAttributes) -> bool:
    is_of_type = entry.transaction_type in (values.ANY_TYPE, facts.transaction_type)
    return is_of_type and entry.entry_mode in (values.ANY_TYPE, facts.entry_mode) and in_category(entry, facts.mcc)


def _in_region(catalogue: Catalogue, region: int | None, country: int | None) -> bool:
    return not region or (country is not None and region in catalogue.regions_by_country.get(country, ()))


def _has_its_region_type(catalogue: Catalogue, entry: LimitEntry | RiskRule, facts: TransactionAttributes) -> bool:
    if entry.region_type == values.ANY_REGION:
        return True
    if facts.country is None or facts.holder_country is None:
        return False
    if facts.country == facts.holder_country:
        return entry.region_type == values.DOMESTIC
    regions, nowhere = catalogue.regions_by_country, frozenset[int]()
    shared = regions.get(facts.country, nowhere) & regions.get(facts.holder_country, nowhere)
    return entry.region_type != values.DOMESTIC and (entry.region_type == values.WITHIN_REGION) == bool(shared)
