"""Reads a programme file: checks its YAML, format and consistency, and reports each error with its location."""

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
from infra import yaml_file
from infra.programme import validation
from infra.programme.models import ALL, CredentialPart, ManagerPart, NamedPart, ProgrammeFile

DEMO = Path(__file__).with_name("demo.yaml")
"""The configuration of the local stack."""


class InvalidProgramme(ValueError):
    """The file cannot be loaded. Each of ``faults`` is a sentence that starts with the location and quotes no value."""

    def __init__(self, faults: Iterable[str]) -> None:
        self.faults = tuple(faults)
        super().__init__("; ".join(self.faults))


@dataclass(frozen=True, slots=True)
class WantedManager:
    """A programme manager as configured in a file. ``rights`` maps credential names to rights.

    Timestamps are unknown: ``updated_at`` is 0.
    """

    catalogue: Catalogue
    rights: Mapping[str, Rights]


def read_programmes(text: str, stage: Stage) -> list[WantedManager]:
    """Return the programme managers of a file, in order. Raises: InvalidProgramme."""
    try:
        managers = ProgrammeFile.model_validate(yaml_file.parse_yaml(text)).programme_managers
    except yaml_file.InvalidYaml as error:
        raise InvalidProgramme([str(error)]) from None
    except ValidationError as error:
        raise InvalidProgramme(yaml_file.explain_faults(error)) from None
    if faults := [f"{place} {said}" for place, said in validation.find_faults(managers, stage)]:
        raise InvalidProgramme(faults)
    return [
        WantedManager(_build_catalogue(manager), {each.name: _build_rights(each) for each in manager.credentials})
        for manager in managers
    ]


def _build_catalogue(manager: ManagerPart) -> Catalogue:
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
        _normalize_key(manager.events_encryption_key),
        manager.delivers_validation_values,
        **made,
    )


def _build_rights(credential: CredentialPart) -> Rights:
    return Rights(
        access_level=credential.access_level,
        actions=None if credential.actions == [ALL] else frozenset(credential.actions),
        modes=credential.modes.model_dump(),
        encryption_key=_normalize_key(credential.encryption_key),
        calls_per_minute=credential.calls_per_minute,
    )


def _normalize_key(pem: str | None) -> str | None:
    return pem and signatures.public_pem(signatures.load_public_key(pem))
