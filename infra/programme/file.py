"""Reads a set-up's file: its form, and whether what it says fits together. Every fault is told with its place."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from chalicelib.cards.programs import catalogue
from chalicelib.cards.programs.catalogue import KINDS, Catalogue, Rate
from chalicelib.cards.programs.credentials import Rights
from chalicelib.foundation.crypto import signatures
from chalicelib.foundation.settings import Stage
from infra.programme import validation, yaml_text
from infra.programme.models import ALL, CredentialPart, File, ManagerPart, NamedPart

DEMO = Path(__file__).with_name("demo.yaml")
"""The set-up that the local stack has."""

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


class InvalidProgramme(ValueError):
    """A file that cannot be loaded; ``faults`` are sentences that begin with their place and quote no text."""

    def __init__(self, faults: Iterable[str]) -> None:
        self.faults = tuple(faults)
        super().__init__("; ".join(self.faults))


@dataclass(frozen=True, slots=True)
class Wanted:
    """What a file says of one programme manager; ``rights`` are its credentials' by their names.

    It does not say when the entries of groups last changed: ``updated_at`` is 0.
    """

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
    if faults := [f"{place} {said}" for place, said in validation.faults(managers, stage)]:
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
        {(each.of, each.to): Rate(Decimal(each.rate), Decimal(each.markup_percent)) for each in manager.exchange_rates},
        manager.events_url,
        _public(manager.events_encryption_key),
        manager.delivers_validation_values,
        **made,
    )


def _rights(credential: CredentialPart) -> Rights:
    return Rights(
        access_level=credential.access_level,
        actions=None if credential.actions == [ALL] else frozenset(credential.actions),
        modes=credential.modes.model_dump(),
        encryption_key=_public(credential.encryption_key),
    )


def _public(pem: str | None) -> str | None:
    """A public key in the one form that it is kept in."""
    return pem and signatures.public_pem(signatures.load_public_key(pem))
