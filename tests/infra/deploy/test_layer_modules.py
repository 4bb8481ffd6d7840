"""Everything that deployed code imports or reads of its libraries is in the layer."""

from __future__ import annotations

import re
from importlib.metadata import packages_distributions

import pytest
from packaging.utils import canonicalize_name

from infra.deploy import layer
from tests.infra.deploy.library_imports import file_of, used_modules, ways_to
from tests.source_code import ROOT, SOURCES

NEVER_IMPORTED = {"dateutil.zoneinfo": {"dateutil.tz.tz"}, "pydantic.v1": {"pydantic._internal._generate_schema"}}
"""What is left out although a module of the layer imports it, in a function that is never called: to find a time
zone by its name, and to validate a type by ``__get_validators__``.
"""
_DATABASE = re.compile(r'numdb\.get\("([^"]+)"\)')


def test_every_module_that_the_service_imports_is_in_the_layer() -> None:
    used = used_modules()

    assert {"stdnum.numdb", "boto3", "requests"} <= {*used}
    assert [name for name in used if layer.is_left_out(file_of(name) or "")] == []


def test_every_module_that_libraries_import_is_in_the_layer() -> None:
    assert ways_to(layer.is_left_out, used_modules()) == NEVER_IMPORTED


@pytest.mark.parametrize("module", ["botocore.auth", "jmespath.lexer", "dateutil.parser._parser", "idna.idnadata"])
def test_a_module_that_is_left_out_and_imported_would_be_found(module: str) -> None:
    found = ways_to(lambda file: file == file_of(module), used_modules())

    assert {*found} == {module}


def test_every_registry_of_numbers_that_is_opened_is_in_the_layer() -> None:
    opened = {name for path in SOURCES.values() for name in _DATABASE.findall(path.read_text(encoding="utf-8"))}

    assert opened == {"iban", "be/banks"}
    assert [name for name in opened if layer.is_left_out(f"stdnum/{name}.dat")] == []


def test_every_library_that_the_service_imports_is_required_by_itself() -> None:
    """Its version is that of the service's choice; pydantic requires one version of its core."""
    distributions = packages_distributions()
    used = {distributions[name][0] for name in used_modules() if "." not in name}

    assert {*map(canonicalize_name, used)} - {"pydantic-core"} | {layer.FUNCTION} == {*layer.direct_requirements(ROOT)}
