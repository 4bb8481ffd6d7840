"""Both demonstration banks, on a stack that speaks TLS, pass the conformance kit."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from chalicelib.demo_bank.profiles import PROFILES, Profile
from tests.conftest import ENDPOINT
from tests.infra.conformance.demonstration import demonstration_stack, run_kit, write_file
from tests.kit.endpoint import of_a_stack
from tests.kit.http import free_port

pytestmark = pytest.mark.e2e
NEVER = ("address.", "bank-report_day.", "bank-list_states.")
"""Checks that do not apply: the address is this machine's, and these banks make the calls at other times."""


@pytest.fixture(scope="module")
def kit_port() -> int:
    return free_port()


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("conformance")


@pytest.fixture(scope="module")
def bank_stack(place: Path, kit_port: int) -> Iterator[dict[str, Any]]:
    with demonstration_stack(place, kit_port, **of_a_stack(ENDPOINT), TLS="1") as content:
        yield content


@pytest.mark.parametrize(
    "profile", [each for each in PROFILES if not each.plays_faults], ids=lambda profile: profile.name
)
def test_a_demonstration_bank_passes_every_check(
    bank_stack: dict[str, Any], python: Path, place: Path, kit_port: int, profile: Profile
) -> None:
    file = write_file(bank_stack, profile, kit_port, place, python)
    ended = run_kit(file, place, bank_stack, python)

    assert ended.returncode == 0, ended.stdout[-4000:] + ended.stderr
    checks = json.loads((place / file.stem / "report.json").read_text("utf-8"))["checks"]
    assert [each["id"] for each in checks if each["outcome"] == "failed"] == []
    skipped = [each["id"] for each in checks if each["outcome"] == "skipped" and not each["id"].startswith(NEVER)]
    assert {each.rpartition(".")[2] for each in skipped} <= {"scope-not-approved", "types"}
    assert len(checks) - len(skipped) >= 300
