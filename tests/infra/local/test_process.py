"""Child processes end when their parent process ends."""

import os
import signal
import subprocess
import sys

import pytest

from infra.local.process import ChildFailed, ChildProcess, guarded_command
from tests.kit.time import wait_for

PARENT = """
import pathlib, time
from infra.local.process import ChildProcess, guarded_command
child = ChildProcess(guarded_command("sleep", "600"))
children = pathlib.Path(f"/proc/{child.pid}/task/{child.pid}/children")
while not (found := children.read_text().split()):
    time.sleep(0.01)
print(child.pid, *found, flush=True)
time.sleep(600)
"""


def alive(pid: int) -> bool:
    try:
        with open(f"/proc/{pid}/stat") as file:  # noqa: PTH123
            return file.read().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="looks at /proc")
def test_a_guarded_program_ends_after_the_parent_process_is_killed() -> None:
    parent = subprocess.Popen([sys.executable, "-c", PARENT], stdout=subprocess.PIPE, text=True)
    assert parent.stdout is not None
    with parent.stdout:
        pids = [int(pid) for pid in parent.stdout.readline().split()]
    assert len(pids) == 2
    os.kill(parent.pid, signal.SIGKILL)
    parent.wait()
    wait_for(lambda: not any(map(alive, pids)), "a child is left")


def test_stopping_a_child_process_ends_the_program() -> None:
    child = ChildProcess(guarded_command("sleep", "600"))
    assert not child.has_ended()
    child.stop()
    assert child.has_ended()


def test_a_child_that_ends_without_output_is_reported() -> None:
    child = ChildProcess([sys.executable, "-c", "raise SystemExit(3)"], output=subprocess.PIPE)
    with pytest.raises(ChildFailed, match="exit code 3"):
        child.first_line()
    child.stop()
