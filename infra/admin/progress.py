"""How far a command has come that may take minutes: on standard error, so that the report stays what it is.

On a terminal it is one line that changes; elsewhere a line every ten seconds, and none for what is done sooner.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterable, Iterator
from typing import TextIO, TypeVar

T = TypeVar("T")

LINE_SECONDS = 10.0
"""How often a line is written where there is no terminal."""
CHANGE_SECONDS = 0.1
"""How often the line on a terminal changes."""
_CLEAR = "\r\033[K"


class Progress:
    """Says how far a command has come; without a stream, nothing.

    Args:
        stream: where it is said.
        clock: monotonic seconds.
    """

    def __init__(self, stream: TextIO | None = None, clock: Callable[[], float] = time.monotonic) -> None:
        self._stream = stream
        self._clock = clock
        self._began_at = self._said_at = clock()
        self._on_terminal = stream is not None and stream.isatty()

    @classmethod
    def on_standard_error(cls) -> Progress:
        return cls(sys.stderr)

    def report(self, text: str) -> None:
        """Say what is being done, unless something was said just now."""
        now = self._clock()
        if self._stream is None or now - self._said_at < (CHANGE_SECONDS if self._on_terminal else LINE_SECONDS):
            return
        self._said_at = now
        line = f"{now - self._began_at:4.0f} s  {text}"
        self._stream.write(f"{_CLEAR}{line}" if self._on_terminal else f"{line}\n")
        self._stream.flush()

    def count(self, items: Iterable[T], what: str) -> Iterator[T]:
        """``items`` as they come, while it is said how many there were: ``authorizations 1,200``."""
        for number, item in enumerate(items, start=1):
            self.report(f"{what} {number:,}")
            yield item

    def __enter__(self) -> Progress:
        return self

    def __exit__(self, *_: object) -> None:
        """Leave the terminal's line empty for what follows."""
        if self._stream is not None and self._on_terminal:
            self._stream.write(_CLEAR)
            self._stream.flush()


SILENT = Progress()
