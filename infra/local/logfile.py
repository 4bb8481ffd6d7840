"""The stack's log file in JSON Lines, which ``trace`` reads.

The log file is stored in the same folder as the stack's file: ``stack.log.jsonl`` for ``stack.json``. It has the lines
of standard output with an additional member ``function``, whose values match the log groups of a deployed stage. A new
stack appends to the log file. A log file that is too large is rotated, and one older file is retained.
"""

from __future__ import annotations

import copy
import io
import logging
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path

from chalicelib.foundation import log

LARGEST = 16 * 1024 * 1024
"""Maximum size of each log file in bytes."""
API = "api"

_function: ContextVar[str] = ContextVar("function", default=API)


class LogFile(logging.Handler):
    """Writes log lines to a file that only its owner can read, with the formatter of an existing handler."""

    def __init__(self, path: Path, form: logging.Formatter) -> None:
        super().__init__()
        self.setFormatter(form)
        self._path = path
        self._is_incomplete = False
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._open()

    def emit(self, record: logging.LogRecord) -> None:
        line = copy.copy(record)
        line.members = {**log.members_of(record), "function": _function.get()}
        try:
            self._write(self.format(line).encode() + b"\n")
        except OSError as error:
            self._report(error)

    def _report(self, error: OSError) -> None:
        """Report, only once, that lines are missing from the file. Standard output contains all lines."""
        if not self._is_incomplete:
            print(f"causeway: {self._path} cannot be written ({error.strerror}): lines are missing.", file=sys.stderr)
        self._is_incomplete = True

    def close(self) -> None:
        self.stream.close()
        super().close()

    def _write(self, line: bytes) -> None:
        if self._size and self._size + len(line) > LARGEST:
            self.stream.close()
            self._rotate()
        self._size += self.stream.write(line)

    def _rotate(self) -> None:
        if self._path.exists():
            self._path.replace(_older_path(self._path))
        self._open()

    def _open(self) -> None:
        """Open the file for appending. Complete the last line if a full disk or a killed stack left it incomplete."""
        self._path.touch(mode=0o600)
        self.stream = self._path.open("a+b", buffering=0)
        self._size = self.stream.seek(0, io.SEEK_END)
        if self._size:
            self.stream.seek(-1, io.SEEK_END)
            if self.stream.read(1) != b"\n":
                self._size += self.stream.write(b"\n")


@contextmanager
def log_as(name: str) -> Iterator[None]:
    """Attribute this thread's log lines to the function ``name`` within the block. The default is the API."""
    before = _function.set(name)
    try:
        yield
    finally:
        _function.reset(before)


def is_api() -> bool:
    """Return whether this thread's log lines are currently attributed to the API."""
    return _function.get() == API


def log_path(stack_file: Path) -> Path:
    """Return the path of a stack's log."""
    return stack_file.with_suffix(".log.jsonl")


def read_lines(path: Path) -> Iterator[str]:
    """Yield the lines of the older file and then of the current file."""
    for each in (_older_path(path), path):
        if each.exists():
            with each.open(encoding="utf-8", errors="replace") as file:
                yield from file


def attach(path: Path) -> None:
    """Also write all subsequent log lines to ``path``."""
    log.logger().addHandler(LogFile(path, log.Formatter()))


def _older_path(path: Path) -> Path:
    return path.with_name(f"{path.name}.1")
