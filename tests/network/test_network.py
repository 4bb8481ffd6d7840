"""The program in small: every promise is kept over a bad network, and the verdict finds a hub that breaks one."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.network.defects import DEFECTS

pytestmark = pytest.mark.faults


def play(folder: Path, *options: str) -> tuple[int, str]:
    """Exit code and output of a process of its own, where time limits pass by the run's clock."""
    command = [sys.executable, "-m", "tests.network", "--seed", "2026", "--runs", "8", "--folder", str(folder)]
    ended = subprocess.run(
        [*command, *options], cwd=Path(__file__).parents[2], capture_output=True, text=True, check=False
    )
    return ended.returncode, ended.stdout + ended.stderr


def test_a_bad_network_causes_no_loss_and_no_duplicate_payment(tmp_path: Path) -> None:
    code, told = play(tmp_path)

    assert code == 0, told
    assert "Every promise was kept" in told


@pytest.mark.parametrize("defect", DEFECTS)
def test_the_verdict_detects_a_hub_with_a_defect(tmp_path: Path, defect: str) -> None:
    code, told = play(tmp_path, "--defect", defect)

    assert code == 1, told
    assert DEFECTS[defect][1] in told
