"""Child processes of the stack. Each child exits when its standard input, a pipe from this process, closes.

The parent keeps the pipe open without writing. When the parent exits, even by SIGKILL, the pipe closes. For programs
that ignore their standard input, this file is also a wrapper script: ``python process.py java …``. The script must
start fast.
"""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import IO, Any

GRACE = 5.0
"""Number of seconds between a request to terminate a program and killing it."""


class ChildFailed(Exception):
    """A child process exited before it was ready."""


class ChildProcess:
    """A program whose standard input is a pipe from this process, and which exits when the pipe closes."""

    def __init__(
        self,
        command: Sequence[str],
        *,
        environ: Mapping[str, str] | None = None,
        output: int | IO[bytes] = subprocess.DEVNULL,
        errors: int | IO[bytes] | None = None,
        folder: Path | None = None,
    ) -> None:
        self._process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=output,
            stderr=errors,
            env=environ,
            cwd=folder,
            start_new_session=True,  # only the stack receives Ctrl-C; it then stops its children
        )

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def exit_code(self) -> int | None:
        """Return the exit code; ``None`` while the program runs."""
        return self._process.poll()

    def has_ended(self) -> bool:
        return self.exit_code is not None

    def first_line(self) -> str:
        """Return the first line that the program prints. Raises: ChildFailed, if it exits without output."""
        assert self._process.stdout is not None
        line = bytes(self._process.stdout.readline()).decode().strip()
        if not line:
            raise ChildFailed(f"ended with exit code {self._process.wait()}")
        return line

    def last_line(self) -> str:
        """Return the last line that an ended program printed after its first line. Return an empty string if there is
        no such line.
        """
        assert self._process.stdout is not None
        lines = bytes(self._process.stdout.read()).decode().strip().splitlines()
        return lines[-1] if lines else ""

    def stop(self, grace: float = GRACE + 1) -> int:
        """Close the pipe and wait for the program to exit. Kill the program after ``grace`` seconds. Return its exit
        code.
        """
        if self._process.stdin:
            self._process.stdin.close()
        _wait_or_kill(self._process, grace)
        if self._process.stdout:
            self._process.stdout.close()
        return int(self._process.returncode)


def python_command(module: str, *arguments: str) -> list[str]:
    """Return the command that runs a module of this repository."""
    return [sys.executable, "-m", module, *arguments]


def guarded_command(*command: str) -> list[str]:
    """Return the command that wraps a program that ignores its standard input."""
    return [sys.executable, "-S", "-E", __file__, *command]


def call_with_parents_end(work: Callable[[], object]) -> None:
    """Call ``work`` in a background thread when standard input closes, which means that the parent process has
    ended.
    """

    def watch() -> None:
        with contextlib.suppress(OSError):
            while os.read(0, 1024):
                pass
        work()

    threading.Thread(target=watch, daemon=True, name="parent-watch").start()


def exit_with_parent() -> None:
    """Exit this process when its standard input closes. Used by children that run Python."""
    call_with_parents_end(lambda: os._exit(0))


def run_guarded(command: Sequence[str]) -> int:
    """Run ``command`` until it exits or standard input closes. Returns its exit code."""
    child = subprocess.Popen(command, stdin=subprocess.DEVNULL)

    def end() -> None:
        child.terminate()
        _wait_or_kill(child, GRACE)

    call_with_parents_end(end)
    return child.wait()


def _wait_or_kill(child: subprocess.Popen[Any], grace: float) -> None:
    try:
        child.wait(grace)
    except subprocess.TimeoutExpired:
        child.kill()
        child.wait()


if __name__ == "__main__":
    sys.exit(run_guarded(sys.argv[1:]))
