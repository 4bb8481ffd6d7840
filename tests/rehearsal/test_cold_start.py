"""A cold start as deployed imports few modules besides those of a bare script with the same libraries."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.bench.cold_start import Packages, cold_start, events, imported, unpacked
from tests.bench.scene import scene

MOST_BESIDES = {"GET /tpp/accounts": 300, "POST /api": 400}
"""Modules, those of the interpreter included."""
pytestmark = pytest.mark.rehearsal


@pytest.fixture(scope="module")
def packages() -> Iterator[Packages]:
    with scene(), unpacked() as found:
        yield found


@pytest.mark.parametrize(("request_line", "most"), MOST_BESIDES.items())
def test_a_cold_start_imports_few_modules_besides_those_of_the_bare_script(
    packages: Packages, request_line: str, most: int
) -> None:
    requested = events()[request_line]

    bare = imported(packages, packages.bare, "bare.handler", requested)
    besides = imported(packages, packages.service, "app.app", requested) - bare

    assert len(besides) <= most, sorted(besides)


def test_a_cold_start_writes_nothing_that_the_next_one_would_find(packages: Packages) -> None:
    before = {file: file.stat().st_mtime_ns for file in packages.service.parent.rglob("*")}

    cold_start(packages, packages.service, "app.app", events()["GET /tpp/accounts"])

    assert {file: file.stat().st_mtime_ns for file in packages.service.parent.rglob("*")} == before
