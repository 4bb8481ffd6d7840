"""The stack's log file: JSON lines, which ``trace`` reads.

It is beside the stack's file (``stack.log.jsonl`` beside ``stack.json``). A line is that of standard output with one
more member, ``function``, named like the log groups of a deployed stage. A new stack, or a file that is too large,
begins a new file; the latest older one is kept.
"""

from __future__ import annotations

import copy
import logging
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path

LARGEST = 16 * 1024 * 1024
"""In bytes; the older file is as large."""
API = "api"

_function: ContextVar[str] = ContextVar("function", default=API)


class LogFile(logging.Handler):
    """Writes lines in another handler's form, readable by the owner only."""

    def __init__(self, path: Path, form: logging.Formatter) -> None:
        super().__init__()
        self.setFormatter(form)
        self._path = path
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._rotate()

    def emit(self, record: logging.LogRecord) -> None:
        line = copy.copy(record)
        line.function = _function.get()
        try:
            self._write(self.format(line).encode() + b"\n")
        except OSError:
            self.handleError(record)

    def close(self) -> None:
        self._file.close()
        super().close()

    def _write(self, line: bytes) -> None:
        if self._size and self._size + len(line) > LARGEST:
            self._file.close()
            self._rotate()
        self._size += self._file.write(line)

    def _rotate(self) -> None:
        """Open a new file; the present one becomes the older one."""
        if self._path.exists():
            self._path.replace(_older_path(self._path))
        self._path.touch(mode=0o600)
        self._file = self._path.open("ab", buffering=0)
        self._size = 0


@contextmanager
def log_as(name: str) -> Iterator[None]:
    """Mark this thread's lines inside as a function's; others are the API's."""
    before = _function.set(name)
    try:
        yield
    finally:
        _function.reset(before)


def is_api() -> bool:
    """Whether the lines that are written now, in this thread, are the API's."""
    return _function.get() == API


def log_path(stack_file: Path) -> Path:
    """The path of a stack's log."""
    return stack_file.with_suffix(".log.jsonl")


def read_lines(path: Path) -> Iterator[str]:
    """The lines of the older file and of this one, in the order in which they were written."""
    for each in (_older_path(path), path):
        if each.exists():
            with each.open(encoding="utf-8", errors="replace") as file:
                yield from file


def attach(path: Path) -> None:
    """Also write all further log lines to ``path``."""
    from chalicelib.foundation import log

    logger = log.logger()
    logger.addHandler(LogFile(path, logger.registered_formatter))


def _older_path(path: Path) -> Path:
    return path.with_name(f"{path.name}.1")
