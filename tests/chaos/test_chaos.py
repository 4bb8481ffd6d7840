"""The kill test in small: workers die, receivers fail, the disk is full, nothing is lost, and a seed repeats a run."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.faults

ROOT = Path(__file__).parents[2]
_SEED, _DELIVERIES, _BACKLOG, _KILLS = "2026", 8, 12, 4


def _begin(folder: Path) -> subprocess.Popen[str]:
    """A run in a process of its own: the emulator's time is simulated there."""
    command = [sys.executable, "-m", "tests.chaos", "--seed", _SEED, "--deliveries", str(_DELIVERIES)]
    command += ["--backlog", str(_BACKLOG)]
    return subprocess.Popen(
        [*command, "--kills", str(_KILLS), "--folder", str(folder)],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


def test_the_kill_test_loses_no_data_and_a_seed_repeats_the_same_run(tmp_path: Path) -> None:
    folders = [tmp_path / "one", tmp_path / "other"]
    runs = [_begin(folder) for folder in folders]
    told = [run.communicate()[0] for run in runs]

    for run, said in zip(runs, told, strict=True):
        assert run.returncode == 0, said
        assert f"SEED={_SEED}" in said
        assert "with the whole stack" in said
    one, other = (folder.joinpath("chaos.transcript").read_text() for folder in folders)
    assert one == other
