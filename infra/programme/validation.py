"""Consistency checks of a programme file: references exist, and members do not contradict each other."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from decimal import Decimal
from functools import partial
from typing import TypeVar

from chalicelib.cards.programs.catalogue import KINDS, MOST_FEE_CODES
from chalicelib.cards.protocol import values
from chalicelib.cards.protocol.card_records import ENCRYPTED, PLAIN
from chalicelib.cards.requests.disclosure import public_key
from chalicelib.foundation.http.addresses import InvalidAddress, check_address
from chalicelib.foundation.settings import Stage
from infra.programme import models

T = TypeVar("T")
Fault = tuple[str, str]
"""An error in the file, with its location."""

_REFERENCES = {
    "product_ids": "product",
    "design_ids": "design",
    "fee_group_ids": "fee_group",
    "limit_group_ids": "limit_group",
    "usage_group_ids": "usage_group",
    "risk_group_ids": "risk_group",
    "shipping_method_ids": "shipping_method",
    "account_program_id": "account_programme",
    "account_limit_group_id": "limit_group",
    "account_limit_group_ids": "limit_group",
    "holder_limit_group_id": "limit_group",
}
_LIMIT_TYPES = {
    "limit_group_ids": {"card_programme": values.LIMIT_OF_CARD, "account_programme": values.LIMIT_OF_ACCOUNT},
    "account_limit_group_id": {"card_programme": values.LIMIT_OF_ACCOUNT},
    "account_limit_group_ids": {"card_programme": values.LIMIT_OF_ACCOUNT},
    "holder_limit_group_id": {"card_programme": values.LIMIT_OF_HOLDER, "account_programme": values.LIMIT_OF_HOLDER},
}


def find_faults(managers: Sequence[models.ManagerPart], stage: Stage) -> Iterator[Fault]:
    """Yield the errors in a file. Each location starts with ``programme_managers``."""
    yield from _find_repeats("programme_managers", managers)
    yield from _check_each("programme_managers", managers, lambda manager: _wrong_manager(manager, stage))


def _check_each(place: str, entries: Iterable[T], check: Callable[[T], Iterator[Fault]]) -> Iterator[Fault]:
    for position, entry in enumerate(entries):
        yield from ((f"{place}.{position}.{inner}", said) for inner, said in check(entry))


def _wrong_manager(manager: models.ManagerPart, stage: Stage) -> Iterator[Fault]:
    for kind in KINDS:
        entries: list[models.NamedPart] = getattr(manager, f"{kind}s")
        yield from _find_repeats(f"{kind}s", entries)
        yield from _check_each(f"{kind}s", entries, partial(_wrong_entry, manager, kind))
    yield from _wrong_group_entries(manager)
    yield from _check_each("card_programmes", manager.card_programmes, partial(_wrong_programme, manager, stage))
    yield from _wrong_rates(manager)
    yield from _wrong_events(manager, stage)
    names = [each.name for each in manager.credentials]
    for position, credential in enumerate(manager.credentials):
        if credential.name in names[:position]:
            yield f"credentials.{position}.name", "occurs twice"
        yield from ((f"credentials.{position}.{inner}", said) for inner, said in _wrong_credential(credential))


def _find_repeats(place: str, entries: Iterable[models.NamedPart | models.LimitEntryPart]) -> Iterator[Fault]:
    seen = set()
    for position, entry in enumerate(entries):
        if entry.id in seen:
            yield f"{place}.{position}.id", "occurs twice"
        seen.add(entry.id)


def _wrong_entry(manager: models.ManagerPart, kind: str, entry: models.NamedPart) -> Iterator[Fault]:
    for member, target in _REFERENCES.items():
        there: dict[int, models.NamedPart] = {each.id: each for each in getattr(manager, f"{target}s")}
        limit_type = _LIMIT_TYPES.get(member, {}).get(kind)
        named = getattr(entry, member, None)
        for number in named if isinstance(named, list) else [named] if named is not None else []:
            if number not in there:
                yield member, f"refers to the {target.replace('_', ' ')} {number}, which is not in the file"
            elif limit_type and getattr(there[number], "limit_type", None) != limit_type:
                yield member, f"refers to the limit group {number}, whose limit_type is not {limit_type}"
    for number in getattr(entry, "currencies", ()):
        yield from _wrong_currency(manager, "currencies", number)
    if isinstance(entry, models.SpecialAccountPart):
        yield from _wrong_currency(manager, "currency", entry.currency)


def _wrong_currency(manager: models.ManagerPart, member: str, number: int) -> Iterator[Fault]:
    if number not in manager.currencies:
        yield member, f"contains {number}, which is not a currency of the programme manager"


def _most_codes(group: models.FeeGroupPart) -> int:
    of_types = (
        [fee.code for fee in group.entries if fee.transaction_type in (values.ANY_TYPE, kind)]
        for kind in values.TRANSACTION_TYPES
    )
    return max(len(set(codes)) for codes in of_types)


def _wrong_group_entries(manager: models.ManagerPart) -> Iterator[Fault]:
    for position, fees in enumerate(manager.fee_groups):
        if _most_codes(fees) > MOST_FEE_CODES:
            problem = f"must not have more than {MOST_FEE_CODES} different codes for one transaction type"
            yield f"fee_groups.{position}.entries", problem
        yield from _check_each(f"fee_groups.{position}.entries", fees.entries, partial(_wrong_fee, manager))
    for position, limits in enumerate(manager.limit_groups):
        place = f"limit_groups.{position}.entries"
        yield from _find_repeats(place, limits.entries)
        yield from _check_each(place, limits.entries, partial(_wrong_limit, manager))
    yield from _check_each("usage_groups", manager.usage_groups, _wrong_usage)
    for position, risks in enumerate(manager.risk_groups):
        place = f"risk_groups.{position}.rules"
        yield from _find_repeats(place, risks.rules)
        yield from _check_each(place, risks.rules, partial(_wrong_rule, manager))


def _wrong_fee(manager: models.ManagerPart, fee: models.FeeEntryPart) -> Iterator[Fault]:
    yield from _wrong_currency(manager, "currency", fee.currency)
    yield from _wrong_region(manager, "region", fee.region)
    yield from _wrong_range(fee)
    if fee.fixed is None and fee.percent is None:
        yield "fixed", "is required if percent is absent"
    if fee.minimum is not None and fee.maximum is not None and fee.minimum > fee.maximum:
        yield "minimum", "must not be more than maximum"


def _wrong_limit(manager: models.ManagerPart, limit: models.LimitEntryPart) -> Iterator[Fault]:
    yield from _wrong_currency(manager, "currency", limit.amount_currency)
    if limit.currency:
        yield from _wrong_currency(manager, "transaction_currency", limit.currency)
    yield from _wrong_region(manager, "holder_region", limit.holder_region)
    yield from _wrong_region(manager, "transaction_region", limit.transaction_region)
    yield from _wrong_range(limit)
    if (limit.count, limit.amount, limit.country_count) == (None, None, None):
        yield "amount", "is required if count and country_count are absent"
    counted = values.TYPES_OF_CLASS.get(limit.transaction_class)
    if counted and limit.transaction_type not in (*counted, values.ANY_TYPE):
        said = values.LIMIT_CLASSES[limit.transaction_class]
        yield "transaction_type", f"is not a type that class {limit.transaction_class} counts ({said})"


def _wrong_usage(usage: models.UsageGroupPart) -> Iterator[Fault]:
    yield from _check_each("blocked_mccs", usage.blocked_mccs, _wrong_range)
    if usage.countries and usage.blocked_countries:
        yield "blocked_countries", "must be empty if countries is not"


def _wrong_rule(manager: models.ManagerPart, rule: models.RiskRulePart) -> Iterator[Fault]:
    if rule.amount_currency is not None:
        yield from _wrong_currency(manager, "currency", rule.amount_currency)
    yield from _wrong_region(manager, "region", rule.region)
    yield from _wrong_range(rule)
    yield from _find_unpaired(amount=rule.amount, currency=rule.amount_currency)
    yield from _find_unpaired(count=rule.count, duration=rule.duration)


def _find_unpaired(**pair: int | None) -> Iterator[Fault]:
    there = [name for name, value in pair.items() if value is not None]
    if len(there) == 1:
        yield from ((name, f"is required if {there[0]} is present") for name in pair if name not in there)


def _wrong_region(manager: models.ManagerPart, member: str, number: int | None) -> Iterator[Fault]:
    if number and number not in (region.id for region in manager.regions):
        yield member, f"refers to the region {number}, which is not in the file"


def _wrong_range(
    entry: models.FeeEntryPart | models.LimitEntryPart | models.MccRangePart | models.RiskRulePart,
) -> Iterator[Fault]:
    if entry.mcc_low > entry.mcc_high:
        yield "mcc_low", "must not be more than mcc_high"


def _wrong_programme(manager: models.ManagerPart, stage: Stage, programme: models.CardProgrammePart) -> Iterator[Fault]:
    if stage != "prod" and not programme.bin.startswith(tuple(manager.test_bins)):
        yield "bin", "does not start with one of test_bins: other BINs are allowed only in production"
    if not programme.virtual and not programme.physical:
        yield "physical", "must be true if virtual is false"
    if programme.physical and not programme.shipping_method_ids:
        yield "shipping_method_ids", "must not be empty if physical is true"
    if programme.validity_months > programme.max_validity_months:
        yield "validity_months", "must not be more than max_validity_months"
    default = programme.account_limit_group_id
    if default is not None and default not in programme.account_limit_group_ids:
        yield "account_limit_group_id", "must be one of account_limit_group_ids"
    of_account = next((each for each in manager.account_programmes if each.id == programme.account_program_id), None)
    for number in programme.currencies:
        if of_account and number not in of_account.currencies:
            yield "currencies", f"contains {number}, which is not a currency of its account programme"


def _wrong_rates(manager: models.ManagerPart) -> Iterator[Fault]:
    seen = set()
    for position, each in enumerate(manager.exchange_rates):
        place, pair = f"exchange_rates.{position}", (each.of, each.to)
        if each.of == each.to or not {*pair} <= {*manager.currencies}:
            yield f"{place}.to", "must be a currency of the programme manager other than of"
        if pair in seen:
            yield place, "occurs twice"
        if not Decimal(each.rate):
            yield f"{place}.rate", "must be more than 0"
        seen.add(pair)


def _wrong_events(manager: models.ManagerPart, stage: Stage) -> Iterator[Fault]:
    if manager.events_url is not None:
        try:
            check_address(manager.events_url, local=stage == "local")
        except InvalidAddress as error:
            yield "events_url", str(error)
    yield from _wrong_key("events_encryption_key", manager.events_encryption_key)
    if manager.delivers_validation_values:
        missing = [name for name in ("events_url", "events_encryption_key") if getattr(manager, name) is None]
        yield from ((name, "is required if delivers_validation_values is true") for name in missing)


def _wrong_key(member: str, pem: str | None) -> Iterator[Fault]:
    if pem is not None:
        try:
            public_key(pem)
        except ValueError as error:
            yield member, f"cannot be used: {error}"


def _wrong_credential(credential: models.CredentialPart) -> Iterator[Fault]:
    modes = credential.modes.model_dump()
    for name, mode in modes.items():
        if mode == PLAIN and not credential.allow_plain:
            yield f"modes.{name}", "must not be plain unless allow_plain is true"
    if ENCRYPTED in modes.values() and credential.encryption_key is None:
        yield "encryption_key", "is required if a mode is encrypted"
    yield from _wrong_key("encryption_key", credential.encryption_key)
    if credential.actions != [models.ALL]:
        from chalicelib.cards.actions import ACTIONS, SIMULATOR_ACTIONS

        known = {*ACTIONS, *SIMULATOR_ACTIONS}
        unknown = [position for position, name in enumerate(credential.actions) if name not in known]
        yield from ((f"actions.{position}", "is not an action") for position in unknown)
