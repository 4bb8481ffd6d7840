"""Reads a programme file: checks its YAML, format and consistency, and reports each error with its location."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any

import yaml
from pydantic import ValidationError

from chalicelib.cards.programs import catalogue
from chalicelib.cards.programs.catalogue import KINDS, Catalogue, Rate
from chalicelib.cards.programs.credentials import Rights
from chalicelib.foundation.crypto import signatures
from chalicelib.foundation.settings import Stage
from infra.programme import validation
from infra.programme.models import ALL, CredentialPart, ManagerPart, NamedPart, ProgrammeFile


class InvalidYaml(ValueError):
    """The text is not valid YAML, or has a duplicate member. The message gives the location and quotes nothing."""


class _Loader(yaml.SafeLoader):
    """A stricter YAML loader: 036 is 36, not octal, and 0.86 is text, not a binary float."""

    yaml_implicit_resolvers: dict[str, Any] = {}  # noqa: RUF012 - the base class has it so

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        names = [key.value for key, _ in node.value if isinstance(key, yaml.ScalarNode)]
        for position, name in enumerate(names):
            if name in names[:position]:
                raise yaml.constructor.ConstructorError(
                    problem="a member occurs twice", problem_mark=node.value[position][0].start_mark
                )
        return super().construct_mapping(node, deep)


def _decimal(loader: yaml.Loader, node: yaml.Node) -> int:
    assert isinstance(node, yaml.ScalarNode)
    return int(node.value)


_Loader.add_implicit_resolver("tag:yaml.org,2002:bool", re.compile(r"(true|false)\Z"), list("tf"))
_Loader.add_implicit_resolver("tag:yaml.org,2002:int", re.compile(r"[0-9]{1,18}\Z"), list("0123456789"))
_Loader.add_implicit_resolver("tag:yaml.org,2002:null", re.compile(r"(null|~|)\Z"), ["n", "~", ""])
_Loader.add_implicit_resolver("tag:yaml.org,2002:merge", re.compile(r"<<\Z"), ["<"])
_Loader.add_constructor("tag:yaml.org,2002:int", _decimal)


def parse_yaml(text: str) -> Any:
    """Parse YAML text. Raises: InvalidYaml."""
    try:
        return yaml.load(text, _Loader)  # noqa: S506 - a SafeLoader
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark
        where = f"line {mark.line + 1}, column {mark.column + 1}: " if mark else ""
        raise InvalidYaml(f"{where}{error.problem}") from None
    except yaml.YAMLError:
        raise InvalidYaml("the file is not valid YAML text") from None


DEMO = Path(__file__).with_name("demo.yaml")
"""The configuration of the local stack."""

_SENTENCES = {
    "missing": "is missing",
    "extra_forbidden": "is unknown",
    "string_type": "must be text: put it in quotes",
    "int_type": "must be a whole number",
    "bool_type": "must be true or false",
    "list_type": "must be a list",
    "too_short": "must not be empty",
    "model_type": "must have members",
}


class InvalidProgramme(ValueError):
    """The file cannot be loaded. Each of ``faults`` is a sentence that starts with the location and quotes nothing."""

    def __init__(self, faults: Iterable[str]) -> None:
        self.faults = tuple(faults)
        super().__init__("; ".join(self.faults))


@dataclass(frozen=True, slots=True)
class WantedManager:
    """A programme manager as configured in a file; ``rights`` maps credential names to rights.

    Timestamps are unknown: ``updated_at`` is 0.
    """

    catalogue: Catalogue
    rights: Mapping[str, Rights]


def read_programmes(text: str, stage: Stage) -> list[WantedManager]:
    """Return the programme managers of a file, in order. Raises: InvalidProgramme."""
    try:
        managers = ProgrammeFile.model_validate(parse_yaml(text)).programme_managers
    except InvalidYaml as error:
        raise InvalidProgramme([str(error)]) from None
    except ValidationError as error:
        raise InvalidProgramme(map(_explain, error.errors(include_input=False, include_url=False))) from None
    if faults := [f"{place} {said}" for place, said in validation.find_faults(managers, stage)]:
        raise InvalidProgramme(faults)
    return [_build_manager(manager) for manager in managers]


def _explain(error: Any) -> str:
    place = ".".join(map(str, error["loc"])) or "the file"
    if said := _SENTENCES.get(error["type"]):
        return f"{place} {said}"
    message = str(error["msg"]).removeprefix("Value error, ")
    for subject in ("Input", "String", "List"):
        message = message.replace(f"{subject} should", "must")
    return f"{place} {message[:1].lower()}{message[1:]}"


def _build_manager(manager: ManagerPart) -> WantedManager:
    return WantedManager(_build_catalogue(manager), {each.name: _build_rights(each) for each in manager.credentials})


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
    )


def _normalize_key(pem: str | None) -> str | None:
    """Convert a public key to its stored format."""
    return pem and signatures.public_pem(signatures.load_public_key(pem))
