"""Tests of a short run: an unreliable network violates no guarantee, and the checks detect hubs with defects."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.network.__main__ import DEFECTS

pytestmark = pytest.mark.faults


def run_program(folder: Path, *options: str) -> tuple[int, str]:
    """Run a program in a separate process, whose clock is simulated, and return its exit code and output."""
    command = [sys.executable, "-m", "tests.network", "--seed", "2026", "--runs", "8", "--folder", str(folder)]
    ended = subprocess.run(
        [*command, *options], cwd=Path(__file__).parents[2], capture_output=True, text=True, check=False
    )
    return ended.returncode, ended.stdout + ended.stderr


def test_an_unreliable_network_causes_no_data_loss_and_no_duplicate_payment(tmp_path: Path) -> None:
    code, output = run_program(tmp_path)

    assert code == 0, output
    assert "Every promise was kept" in output


@pytest.mark.parametrize("defect", DEFECTS)
def test_the_network_checks_detect_a_hub_with_a_defect(tmp_path: Path, defect: str) -> None:
    code, output = run_program(tmp_path, "--defect", defect)

    assert code == 1, output
    assert DEFECTS[defect][1] in output
