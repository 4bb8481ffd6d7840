"""The document on the programme file explains every member of the format."""

import re
from collections.abc import Iterator
from typing import Any, get_args

from pydantic import BaseModel

from infra.programme.models import ManagerPart, Part, ProgrammeFile
from tests.kit.documents import PROGRAMME_FILE, section, tables


def parts(annotation: Any) -> Iterator[type[BaseModel]]:
    if isinstance(annotation, type) and issubclass(annotation, Part):
        yield annotation
    for each in get_args(annotation):
        yield from parts(each)


def places(model: type[BaseModel], place: str = "") -> Iterator[tuple[str, type[BaseModel]]]:
    for name, field in model.model_fields.items():
        for inner in parts(field.annotation):
            yield f"{place}{name}", inner
            yield from places(inner, f"{place}{name}.")


def members(model: type[BaseModel], *, mandatory: bool) -> set[str]:
    return {field.alias or name for name, field in model.model_fields.items() if field.is_required() == mandatory}


def test_docs_list_all_mandatory_and_optional_members_of_the_programme_file() -> None:
    (table,) = tables(section(PROGRAMME_FILE, "## All members"))
    documented = {
        place: (set(re.findall(r"\w+", mandatory)), set(re.findall(r"\w+", optional)))
        for place, mandatory, optional in table[2:]
    }

    wanted: dict[str, type[BaseModel]] = {"programme_managers": ManagerPart, **dict(places(ManagerPart))}
    assert list(documented) == list(wanted)
    for place, model in wanted.items():
        found = members(model, mandatory=True), members(model, mandatory=False)
        assert documented[place] == found, place


def test_docs_explain_every_member_of_the_programme_file() -> None:
    explained = PROGRAMME_FILE.replace(section(PROGRAMME_FILE, "## All members"), "")
    missing = {
        f"{place}.{name}"
        for place, model in places(ProgrammeFile)
        for name in members(model, mandatory=True) | members(model, mandatory=False)
        if f"`{name}`" not in explained
    }

    assert missing == set()
