"""The layer contains every library module and data file that deployed code uses."""

import re
from importlib.metadata import packages_distributions

import pytest
from packaging.utils import canonicalize_name

from infra.deploy import layer
from tests.infra.deploy.layer_files import file_of, used_modules, ways_to
from tests.kit.source_code import ROOT, SOURCES

NEVER_IMPORTED = {"dateutil.zoneinfo": {"dateutil.tz.tz"}, "pydantic.v1": {"pydantic._internal._generate_schema"}}
"""Modules that the layer omits, each with the layer module that imports the omitted module in an unused function. The
functions find a time zone by name, and validate a type by ``__get_validators__``.
"""
_DATABASE = re.compile(r'numdb\.get\("([^"]+)"\)')


def test_the_layer_contains_every_module_imported_by_the_service() -> None:
    used = used_modules()

    assert {"stdnum.numdb", "boto3", "requests"} <= {*used}
    assert [name for name in used if layer.is_left_out(file_of(name) or "")] == []


def test_the_layer_contains_every_module_imported_by_libraries() -> None:
    assert ways_to(layer.is_left_out, used_modules()) == NEVER_IMPORTED


@pytest.mark.parametrize("module", ["botocore.auth", "jmespath.lexer", "dateutil.parser._parser", "idna.idnadata"])
def test_a_module_omitted_from_the_layer_but_imported_is_detected(module: str) -> None:
    found = ways_to(lambda file: file == file_of(module), used_modules())

    assert {*found} == {module}


def test_the_layer_contains_every_number_registry_that_the_service_opens() -> None:
    opened = {name for path in SOURCES.values() for name in _DATABASE.findall(path.read_text(encoding="utf-8"))}

    assert opened == {"iban", "be/banks"}
    assert [name for name in opened if layer.is_left_out(f"stdnum/{name}.dat")] == []


def test_every_library_imported_by_the_service_is_a_direct_requirement() -> None:
    """The core of pydantic is the only exception, because pydantic's version determines the core's version."""
    distributions = packages_distributions()
    used = {distributions[name][0] for name in used_modules() if "." not in name}

    assert {*map(canonicalize_name, used)} - {"pydantic-core"} | {layer.FUNCTION} == {*layer.direct_requirements(ROOT)}
