"""A short kill test: killed workers, failing receivers and a full disk lose no data, and a seed reproduces a run."""

import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.faults

ROOT = Path(__file__).parents[2]
OPTIONS = ("--seed", "2026", "--deliveries", "8", "--backlog", "12", "--kills", "4")


def start_run(folder: Path) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "tests.chaos", *OPTIONS, "--folder", str(folder)]
    return subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)


def test_the_kill_test_loses_no_data_and_equal_seeds_produce_equal_runs(tmp_path: Path) -> None:
    folders = [tmp_path / "one", tmp_path / "other"]
    runs = [start_run(folder) for folder in folders]
    outputs = [run.communicate()[0] for run in runs]

    for run, output in zip(runs, outputs, strict=True):
        assert run.returncode == 0, output
        assert "SEED=2026" in output
        assert "with the whole stack" in output
    one, other = (folder.joinpath("chaos.transcript").read_text() for folder in folders)
    assert one == other
