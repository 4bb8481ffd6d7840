"""What an operator sets up for a programme manager: programmes, products, designs, groups, rates. Pure data.

Every entry has an ``id``, unique among those of its kind and programme manager. Where an entry names others, it names
them by id, and the first of a list is the default. Currencies and countries are ISO numeric codes.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields
from decimal import Decimal
from typing import Any


@dataclass(frozen=True, slots=True)
class Product:
    """A card product; ``sub_product_id`` is what the details of a card show beside it."""

    id: int
    name: str
    sub_product_id: int


@dataclass(frozen=True, slots=True)
class Design:
    """How a card looks."""

    id: int
    name: str


@dataclass(frozen=True, slots=True)
class Group:
    """A group of fees, of usage rules or of risk rules."""

    id: int
    name: str


@dataclass(frozen=True, slots=True)
class LimitGroup:
    """A group of limits, for cards, accounts or holders as ``limit_type`` says (1, 2, 3)."""

    id: int
    name: str
    limit_type: int


@dataclass(frozen=True, slots=True)
class ShippingMethod:
    """A way that plastic cards travel."""

    id: int
    name: str


@dataclass(frozen=True, slots=True)
class AccountProgramme:
    """What accounts are made with. Without ``limit_group_ids`` an account has no limit group."""

    id: int
    name: str
    currencies: tuple[int, ...]
    access_level: int
    holder_access_level: int
    fee_group_ids: tuple[int, ...]
    limit_group_ids: tuple[int, ...]
    risk_group_ids: tuple[int, ...]
    holder_limit_group_id: int | None
    country_change: bool


@dataclass(frozen=True, slots=True)
class CardProgramme:
    """What cards are made with, and the accounts and holders that are made together with a card.

    ``bin`` has 6 to 8 digits, a PAN ``pan_length`` (16 to 19). ``virtual`` and ``physical`` say which kinds of card
    there may be. Without ``countries`` a card may have any. ``validity_months`` is the default validity.
    ``country_change`` says whether a holder's country may change, ``auto_conversion`` whether a card may have it (then
    it is the default, too).
    """

    id: int
    name: str
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


Entry = CardProgramme | AccountProgramme | Product | Design | Group | LimitGroup | ShippingMethod

KINDS: Mapping[str, type[Entry]] = {
    "product": Product,
    "design": Design,
    "fee_group": Group,
    "limit_group": LimitGroup,
    "usage_group": Group,
    "risk_group": Group,
    "shipping_method": ShippingMethod,
    "account_programme": AccountProgramme,
    "card_programme": CardProgramme,
}
"""The kinds of entries; those that name others come after them."""


@dataclass(frozen=True, slots=True)
class Catalogue:
    """One programme manager's set-up; the entries of each kind by their ids, in ascending order.

    ``rates`` are exchange rates: how much of the second currency one unit of the first is worth, in whole units.
    Outside production every BIN begins with one of ``test_bins``.
    """

    manager_id: int
    name: str
    currencies: tuple[int, ...] = ()
    test_bins: tuple[str, ...] = ()
    rates: Mapping[tuple[int, int], Decimal] = field(default_factory=dict)
    products: Mapping[int, Product] = field(default_factory=dict)
    designs: Mapping[int, Design] = field(default_factory=dict)
    fee_groups: Mapping[int, Group] = field(default_factory=dict)
    limit_groups: Mapping[int, LimitGroup] = field(default_factory=dict)
    usage_groups: Mapping[int, Group] = field(default_factory=dict)
    risk_groups: Mapping[int, Group] = field(default_factory=dict)
    shipping_methods: Mapping[int, ShippingMethod] = field(default_factory=dict)
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


def members(entry: Entry) -> dict[str, Any]:
    """An entry as plain data; what it does not have is left out."""
    values = {each.name: getattr(entry, each.name) for each in fields(entry)}
    plain = {name: list(value) if isinstance(value, tuple) else value for name, value in values.items()}
    return {name: value for name, value in plain.items() if value is not None}


def entry(kind: str, plain: Mapping[str, Any]) -> Entry:
    """The entry that ``members`` gave; what is beside them in ``plain`` is not looked at."""
    made = KINDS[kind]
    values = {each.name: plain.get(each.name) for each in fields(made)}
    as_made: Any = {name: tuple(value) if isinstance(value, list) else value for name, value in values.items()}
    return made(**as_made)
