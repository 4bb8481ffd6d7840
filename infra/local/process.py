"""Child processes of the stack: each ends when its standard input, a pipe of this process, closes.

The parent keeps the other end of that pipe open and writes nothing. Any end of the parent, even SIGKILL, closes the
pipe. A program that ignores its standard input is run by this file as a script, which must start fast: ``python
process.py java …``.
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
"""Seconds between asking a program to end and killing it."""


class ChildFailed(Exception):
    """A child process ended before it was ready."""


class ChildProcess:
    """A program whose standard input is a pipe that this process holds; it ends when the pipe closes."""

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
            start_new_session=True,  # a Ctrl-C at the terminal is for the stack, which then ends its children
        )

    @property
    def pid(self) -> int:
        return self._process.pid

    def has_ended(self) -> bool:
        return self._process.poll() is not None

    def first_line(self) -> str:
        """What the program prints first. Raises: ChildFailed when it ends without a word."""
        assert self._process.stdout is not None
        line = bytes(self._process.stdout.readline()).decode().strip()
        if not line:
            raise ChildFailed(f"ended with exit code {self._process.wait()}")
        return line

    def stop(self, grace: float = GRACE + 1) -> None:
        """Close the pipe and wait for the end; after ``grace`` seconds the program is killed."""
        if self._process.stdin:
            self._process.stdin.close()
        _wait_or_kill(self._process, grace)
        if self._process.stdout:
            self._process.stdout.close()


def python_command(module: str, *arguments: str) -> list[str]:
    """The command that runs a module of this repository."""
    return [sys.executable, "-m", module, *arguments]


def guarded_command(*command: str) -> list[str]:
    """The command that runs a program which knows nothing of pipes."""
    return [sys.executable, "-S", "-E", __file__, *command]


def call_with_parents_end(work: Callable[[], object]) -> None:
    """Have ``work`` done, in a thread, as soon as standard input is closed."""

    def watch() -> None:
        with contextlib.suppress(OSError):
            while os.read(0, 1024):
                pass
        work()

    threading.Thread(target=watch, daemon=True, name="parent-watch").start()


def exit_with_parent() -> None:
    """End this process as soon as its standard input is closed: for children that guard themselves."""
    call_with_parents_end(lambda: os._exit(0))


def run_guarded(command: Sequence[str]) -> int:
    """Run ``command`` until it ends or standard input closes; answers its exit code."""
    child = subprocess.Popen(command, stdin=subprocess.DEVNULL)

    def end() -> None:
        child.terminate()
        _wait_or_kill(child, GRACE)

    call_with_parents_end(end)
    return child.wait()


def _wait_or_kill(child: subprocess.Popen[Any], grace: float) -> None:
    """Wait for a child's end; kill it when that takes more than ``grace`` seconds."""
    try:
        child.wait(grace)
    except subprocess.TimeoutExpired:
        child.kill()
        child.wait()


if __name__ == "__main__":
    sys.exit(run_guarded(sys.argv[1:]))
