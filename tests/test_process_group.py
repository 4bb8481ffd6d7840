"""A command leaves no process behind."""

from __future__ import annotations

import subprocess
import time
from pathlib import Path

import pytest

from tests import process_group


def ends(pid: int) -> bool:
    """Whether a process that was killed is gone, or a zombie, after a moment."""
    stat = Path("/proc") / str(pid) / "stat"
    deadline = time.monotonic() + 10
    while time.monotonic() < deadline:
        if not stat.exists() or stat.read_text().rpartition(")")[2].split()[0] == "Z":
            return True
        time.sleep(0.01)
    return False


def test_a_command_is_answered_with_what_it_printed(tmp_path: Path) -> None:
    done = process_group.run(["bash", "-c", "pwd; echo $NAME >&2; exit 3"], tmp_path, {"NAME": "value"})

    assert (done.stdout, done.stderr, done.returncode) == (f"{tmp_path}\n", "value\n", 3)


@pytest.mark.parametrize("after", ["", "; exit 1"])
def test_a_process_in_the_background_ends_with_the_command(tmp_path: Path, after: str) -> None:
    command = f"sleep 600 > log 2>&1 & echo $!{after}"
    done = process_group.run(["bash", "-c", command], tmp_path)

    assert ends(int(done.stdout))


def test_a_command_that_takes_too_long_is_killed_with_its_processes(tmp_path: Path) -> None:
    with pytest.raises(subprocess.TimeoutExpired):
        process_group.run(["bash", "-c", "sleep 600 & echo $! > pid; wait"], tmp_path, seconds=0.5)

    assert ends(int((tmp_path / "pid").read_text()))
