"""Child processes of the stack: they end with it, whatever ends it."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import IO

from infra.local import guard

_GUARD = str(Path(guard.__file__))


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

    def stop(self, grace: float = guard.GRACE + 1) -> None:
        """Close the pipe and wait for the end; after ``grace`` seconds the program is killed."""
        if self._process.stdin:
            self._process.stdin.close()
        try:
            self._process.wait(grace)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        if self._process.stdout:
            self._process.stdout.close()


def python_command(module: str, *arguments: str) -> list[str]:
    """The command that runs a module of this repository."""
    return [sys.executable, "-m", module, *arguments]


def guarded_command(*command: str) -> list[str]:
    """The command that runs a program which knows nothing of pipes."""
    return [sys.executable, "-S", "-E", _GUARD, *command]
