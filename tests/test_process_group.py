"""A command leaves no running processes after it ends."""

import subprocess
from pathlib import Path

import pytest

from tests.kit import processes
from tests.kit.time import limit_under_test, wait_for


def wait_for_end(pid: int) -> None:
    """Wait until a killed process is removed or a zombie."""
    stat = Path("/proc") / str(pid) / "stat"
    wait_for(lambda: not stat.exists() or stat.read_text().rpartition(")")[2].split()[0] == "Z", f"{pid} still runs")


def test_a_command_returns_its_output_and_exit_code(tmp_path: Path) -> None:
    done = processes.run(["bash", "-c", "pwd; echo $NAME >&2; exit 3"], tmp_path, {"NAME": "value"})

    assert (done.stdout, done.stderr, done.returncode) == (f"{tmp_path}\n", "value\n", 3)


@pytest.mark.parametrize("after", ["", "; exit 1"])
def test_a_background_process_ends_with_its_command(tmp_path: Path, after: str) -> None:
    command = f"sleep 600 > log 2>&1 & echo $!{after}"
    done = processes.run(["bash", "-c", command], tmp_path)

    wait_for_end(int(done.stdout))


def test_a_command_that_times_out_is_killed_with_its_processes(tmp_path: Path) -> None:
    with pytest.raises(subprocess.TimeoutExpired):
        processes.run(["bash", "-c", "sleep 600 & echo $! > pid; wait"], tmp_path, seconds=limit_under_test(0.5))

    wait_for_end(int((tmp_path / "pid").read_text()))
