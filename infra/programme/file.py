"""Reads a set-up's file: its form, and whether what it says fits together. Every fault is told with its place."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from chalicelib.cards import catalogue
from chalicelib.cards.catalogue import KINDS, Catalogue
from chalicelib.cards.credentials import Rights
from chalicelib.cards.disclosure import check_key
from chalicelib.cards.protocol.card_fields import ENCRYPTED, PLAIN
from chalicelib.cards.protocol.values import LIMIT_OF_ACCOUNT, LIMIT_OF_CARD, LIMIT_OF_HOLDER
from chalicelib.foundation import signatures
from chalicelib.foundation.settings import Stage
from infra.programme import yaml_text
from infra.programme.models import ALL, CardProgrammePart, CredentialPart, File, ManagerPart, NamedPart

DEMO = Path(__file__).with_name("demo.yaml")
"""The set-up that the local stack has."""

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
    "limit_group_ids": {"card_programme": LIMIT_OF_CARD, "account_programme": LIMIT_OF_ACCOUNT},
    "account_limit_group_id": {"card_programme": LIMIT_OF_ACCOUNT},
    "account_limit_group_ids": {"card_programme": LIMIT_OF_ACCOUNT},
    "holder_limit_group_id": {"card_programme": LIMIT_OF_HOLDER, "account_programme": LIMIT_OF_HOLDER},
}
_SENTENCES = {
    "missing": "is missing",
    "extra_forbidden": "is not known here",
    "string_type": "must be text: put it in quotes",
    "int_type": "must be a whole number",
    "bool_type": "must be true or false",
    "list_type": "must be a list",
    "too_short": "must not be empty",
    "model_type": "must have members",
}
Fault = tuple[str, str]
"""A place, and what is wrong there."""


class InvalidProgramme(ValueError):
    """A file that cannot be loaded; ``faults`` are sentences that begin with their place and quote no text."""

    def __init__(self, faults: Iterable[str]) -> None:
        self.faults = tuple(faults)
        super().__init__("; ".join(self.faults))


@dataclass(frozen=True, slots=True)
class Wanted:
    """What a file says of one programme manager; ``rights`` are its credentials' by their names."""

    catalogue: Catalogue
    rights: Mapping[str, Rights]


def read(text: str, stage: Stage) -> list[Wanted]:
    """The programme managers of a file, in its order. Raises: InvalidProgramme."""
    try:
        managers = File.model_validate(yaml_text.loads(text)).programme_managers
    except yaml_text.InvalidYaml as error:
        raise InvalidProgramme([str(error)]) from None
    except ValidationError as error:
        raise InvalidProgramme(map(_sentence, error.errors(include_input=False, include_url=False))) from None
    faults = [f"programme_managers.{place} {said}" for place, said in _repeated("", managers)]
    for position, manager in enumerate(managers):
        faults += [f"programme_managers.{position}.{place} {said}" for place, said in _faults(manager, stage)]
    if faults:
        raise InvalidProgramme(faults)
    return [_wanted(manager) for manager in managers]


def _sentence(error: Any) -> str:
    place = ".".join(map(str, error["loc"])) or "the file"
    if said := _SENTENCES.get(error["type"]):
        return f"{place} {said}"
    message = str(error["msg"]).removeprefix("Value error, ")
    for subject in ("Input", "String", "List"):
        message = message.replace(f"{subject} should", "must")
    return f"{place} {message[:1].lower()}{message[1:]}"


# -- what has to fit together


def _faults(manager: ManagerPart, stage: Stage) -> Iterator[Fault]:
    for kind in KINDS:
        entries: list[NamedPart] = getattr(manager, f"{kind}s")
        yield from _repeated(f"{kind}s.", entries)
        for position, entry in enumerate(entries):
            place = f"{kind}s.{position}"
            yield from ((f"{place}.{member}", said) for member, said in _wrong_references(manager, kind, entry))
            yield from ((f"{place}.{member}", said) for member, said in _wrong_currencies(manager, entry))
    for position, programme in enumerate(manager.card_programmes):
        found = _wrong_programme(manager, programme, stage)
        yield from ((f"card_programmes.{position}.{member}", said) for member, said in found)
    yield from _wrong_rates(manager)
    names = [each.name for each in manager.credentials]
    for position, credential in enumerate(manager.credentials):
        place = f"credentials.{position}"
        if credential.name in names[:position]:
            yield f"{place}.name", "is there already"
        yield from ((f"{place}.{member}", said) for member, said in _wrong_credential(credential))


def _repeated(prefix: str, entries: Iterable[NamedPart]) -> Iterator[Fault]:
    seen = set()
    for position, entry in enumerate(entries):
        if entry.id in seen:
            yield f"{prefix}{position}.id", "is there already"
        seen.add(entry.id)


def _wrong_references(manager: ManagerPart, kind: str, entry: NamedPart) -> Iterator[Fault]:
    for member, target in _REFERENCES.items():
        there: dict[int, NamedPart] = {each.id: each for each in getattr(manager, f"{target}s")}
        limit_type = _LIMIT_TYPES.get(member, {}).get(kind)
        named = getattr(entry, member, None)
        for number in named if isinstance(named, list) else [named] if named is not None else []:
            if number not in there:
                yield member, f"names the {_spoken(target)} {number}, which is not in the file"
            elif limit_type and getattr(there[number], "limit_type", None) != limit_type:
                yield member, f"names the limit group {number}, whose limit_type is not {limit_type}"


def _wrong_currencies(manager: ManagerPart, entry: NamedPart) -> Iterator[Fault]:
    for number in getattr(entry, "currencies", ()):
        if number not in manager.currencies:
            yield "currencies", f"names {number}, which is not a currency of the programme manager"


def _wrong_programme(manager: ManagerPart, programme: CardProgrammePart, stage: Stage) -> Iterator[Fault]:
    if stage != "prod" and not programme.bin.startswith(tuple(manager.test_bins)):
        yield "bin", "does not begin with one of test_bins: only production may have other BINs"
    if not programme.virtual and not programme.physical:
        yield "physical", "must be true when virtual is not"
    if programme.physical and not programme.shipping_method_ids:
        yield "shipping_method_ids", "must not be empty when physical is true"
    if programme.validity_months > programme.max_validity_months:
        yield "validity_months", "must not be more than max_validity_months"
    default = programme.account_limit_group_id
    if default is not None and default not in programme.account_limit_group_ids:
        yield "account_limit_group_id", "must be one of account_limit_group_ids"
    of_account = next((each for each in manager.account_programmes if each.id == programme.account_program_id), None)
    for number in programme.currencies:
        if of_account and number not in of_account.currencies:
            yield "currencies", f"names {number}, which its account programme does not have"


def _wrong_rates(manager: ManagerPart) -> Iterator[Fault]:
    seen = set()
    for position, each in enumerate(manager.exchange_rates):
        place, pair = f"exchange_rates.{position}", (each.of, each.to)
        if each.of == each.to or not {*pair} <= {*manager.currencies}:
            yield f"{place}.to", "must be, like of, a currency of the programme manager, and another one"
        if pair in seen:
            yield place, "is there already"
        if not Decimal(each.rate):
            yield f"{place}.rate", "must be more than 0"
        seen.add(pair)


def _wrong_credential(credential: CredentialPart) -> Iterator[Fault]:
    modes = credential.modes.model_dump()
    for name, mode in modes.items():
        if mode == PLAIN and not credential.allow_plain:
            yield f"modes.{name}", "must not be plain unless allow_plain is true"
    if ENCRYPTED in modes.values() and credential.encryption_key is None:
        yield "encryption_key", "is missing, and a mode is encrypted"
    if credential.encryption_key is not None:
        try:
            check_key(credential.encryption_key)
        except ValueError as error:
            yield "encryption_key", f"cannot be used: {error}"
    if credential.actions != [ALL]:
        known = _actions()
        unknown = [position for position, name in enumerate(credential.actions) if name not in known]
        yield from ((f"actions.{position}", "is no action") for position in unknown)


def _actions() -> set[str]:
    from chalicelib.cards.protocol.actions import ACTIONS, SIMULATED

    return {*ACTIONS, *SIMULATED}


# -- what it makes


def _wanted(manager: ManagerPart) -> Wanted:
    return Wanted(_catalogue(manager), {each.name: _rights(each) for each in manager.credentials})


def _catalogue(manager: ManagerPart) -> Catalogue:
    made: dict[str, Any] = {}
    for kind in KINDS:
        parts: list[NamedPart] = getattr(manager, f"{kind}s")
        entries = sorted((catalogue.entry(kind, part.model_dump()) for part in parts), key=lambda entry: entry.id)
        made[f"{kind}s"] = {entry.id: entry for entry in entries}
    return Catalogue(
        manager.id,
        manager.name,
        tuple(manager.currencies),
        tuple(manager.test_bins),
        {(each.of, each.to): Decimal(each.rate) for each in manager.exchange_rates},
        **made,
    )


def _rights(credential: CredentialPart) -> Rights:
    key = credential.encryption_key
    return Rights(
        access_level=credential.access_level,
        actions=None if credential.actions == [ALL] else frozenset(credential.actions),
        modes=credential.modes.model_dump(),
        encryption_key=key and signatures.public_pem(signatures.load_public_key(key)),
    )


def _spoken(kind: str) -> str:
    return kind.replace("_", " ")
