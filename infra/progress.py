"""Reports the progress of long commands: with a rich progress bar on a terminal, otherwise with occasional plain
lines.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Iterator
from types import TracebackType
from typing import TYPE_CHECKING, Self, TextIO, TypeVar

if TYPE_CHECKING:
    from rich.progress import Progress as Bar

T = TypeVar("T")
LINE_SECONDS = 10.0
"""Number of seconds between plain lines. Shorter tasks print no lines."""
_UPDATE_SECONDS = 0.1


class Progress:
    """Reports a command's progress.

    Args:
        stream: usually standard error, separate from the command's output. If ``None``, no progress is reported.
        clock: returns monotonic seconds.
    """

    def __init__(self, stream: TextIO | None = None, clock: Callable[[], float] = time.monotonic) -> None:
        self._stream = stream
        self._clock = clock
        self._began_at = clock()
        self._reported_at: float | None = None
        self._bar = _bar(stream, clock) if stream is not None and _can_redraw(stream) else None

    def step(self, text: str, done: int | None = None, total: int | None = None) -> None:
        """Report a step immediately, for example ``building the layer``."""
        if self._bar:
            self._bar.update(self._bar.task_ids[0], description=text, completed=done or 0, total=total)
        elif self._stream is not None:
            self._stream.write(f"{self._clock() - self._began_at:4.0f} s  {text}\n")
            self._stream.flush()

    def report(self, text: str, done: int | None = None, total: int | None = None) -> None:
        """Report progress, unless the last report is too recent."""
        last = self._began_at if self._reported_at is None and not self._bar else self._reported_at
        if last is not None and self._clock() - last < (_UPDATE_SECONDS if self._bar else LINE_SECONDS):
            return
        self._reported_at = self._clock()
        self.step(text, done, total)

    def count(self, items: Iterable[T], what: str, total: int | None = None) -> Iterator[T]:
        """Yield ``items`` and report the current number, for example ``authorizations 1,200`` or ``walks 3 of 24``."""
        for number, item in enumerate(items, start=1):
            self.report(f"{what} {number:,}" + ("" if total is None else f" of {total:,}"), number - 1, total)
            yield item

    def print(self, text: str) -> None:
        """Print a line of the command's output immediately. The bar is hidden meanwhile, because it would redirect the
        line.
        """
        if self._bar:
            self._bar.stop()
        print(text, flush=True)
        if self._bar:
            self._bar.start()

    def __enter__(self) -> Self:
        if self._bar:
            self._bar.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if self._bar:
            self._bar.stop()


def _can_redraw(stream: TextIO) -> bool:
    """Return whether a progress bar can be drawn. rich draws no bar on a dumb terminal."""
    return stream.isatty() and os.environ.get("TERM", "").lower() not in {"dumb", "unknown"}


def _bar(stream: TextIO, clock: Callable[[], float]) -> Bar:
    from rich import progress
    from rich.console import Console

    columns = (
        progress.SpinnerColumn(),
        progress.TimeElapsedColumn(),
        progress.BarColumn(bar_width=24),
        progress.TextColumn("{task.description}"),
    )
    bar = progress.Progress(*columns, console=Console(file=stream), transient=True, get_time=clock)
    bar.add_task("", total=None)
    return bar


SILENT = Progress()
