"""A cold start as deployed costs little more than one of a bare script with the same libraries."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.bench.cold_start import GOALS, Packages, compare, events, unpacked
from tests.bench.scene import scene

MARGIN = 1.1
"""Processors differ that much in the speed of what both do against that of Python code."""
pytestmark = pytest.mark.rehearsal


@pytest.fixture(scope="module")
def packages() -> Iterator[Packages]:
    with scene(), unpacked() as found:
        yield found


@pytest.mark.parametrize("request_line", GOALS)
def test_a_cold_start_takes_at_most_so_many_times_the_bare_scripts_processor_time(
    packages: Packages, request_line: str
) -> None:
    limit = GOALS[request_line] * MARGIN

    measured = compare(packages, events()[request_line], limit)

    assert measured.ratio <= limit, str(measured)


def test_a_cold_start_writes_nothing_that_the_next_one_would_find(packages: Packages) -> None:
    before = {file: file.stat().st_mtime_ns for file in packages.service.parent.rglob("*")}

    compare(packages, events()["GET /tpp/accounts"], goal=0, most=1)

    assert {file: file.stat().st_mtime_ns for file in packages.service.parent.rglob("*")} == before
