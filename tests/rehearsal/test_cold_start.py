"""A deployed cold start imports only a few modules more than a minimal program."""

from collections.abc import Iterator

import pytest

from tests.bench.cold_start import Packages, imported, service_start, unpacked
from tests.bench.comparison import Recorded, recorder

MOST_BESIDES = {"relayed read: accounts": 450, "getAccounts": 550}
"""The maximum number of modules that a cold start imports in addition to a minimal program, by request.

Modules that the interpreter imports count.
"""
pytestmark = pytest.mark.rehearsal


@pytest.fixture(scope="module")
def started() -> Iterator[tuple[Packages, dict[str, Recorded]]]:
    with recorder() as recording, unpacked() as packages:
        yield packages, {title: recording.record(title) for title in MOST_BESIDES}


@pytest.mark.parametrize(("title", "most"), MOST_BESIDES.items())
def test_a_cold_start_imports_few_modules_in_addition_to_a_minimal_program(
    started: tuple[Packages, dict[str, Recorded]], title: str, most: int
) -> None:
    packages, recorded = started
    request, calls = recorded[title].request, recorded[title].calls

    floor = imported(packages, packages.scripts, "floor.handler", {"calls": calls})
    besides = imported(packages, packages.service, request.handler, request.event) - floor

    assert len(besides) <= most, sorted(besides)


def test_a_cold_start_writes_no_files(started: tuple[Packages, dict[str, Recorded]]) -> None:
    packages, recorded = started
    before = {file: file.stat().st_mtime_ns for file in packages.service.parent.rglob("*")}

    service_start(packages, recorded["relayed read: accounts"].request)

    assert {file: file.stat().st_mtime_ns for file in packages.service.parent.rglob("*")} == before
