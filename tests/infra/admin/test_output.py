"""How a long command says how far it has come: one line on a terminal, a line now and then elsewhere."""

from __future__ import annotations

import io

from infra.admin.output import CHANGE_SECONDS, LINE_SECONDS, ProgressLine


class Stream(io.StringIO):
    """A stream that may be a terminal."""

    def __init__(self, *, terminal: bool) -> None:
        super().__init__()
        self._terminal = terminal

    def isatty(self) -> bool:
        return self._terminal


class Clock:
    """Monotonic seconds that pass when they are told to."""

    def __init__(self) -> None:
        self.seconds = 100.0

    def __call__(self) -> float:
        return self.seconds


def test_a_terminal_has_one_line_that_changes_and_is_empty_in_the_end() -> None:
    stream, clock = Stream(terminal=True), Clock()

    with ProgressLine(stream, clock) as progress:
        for name in ("first", "second", "too soon", "third"):
            clock.seconds += 0 if name == "too soon" else CHANGE_SECONDS + 1
            progress.report(name)

    said = stream.getvalue().split("\r\033[K")
    assert said == ["", "   1 s  first", "   2 s  second", "   3 s  third", ""]


def test_elsewhere_there_is_a_line_every_ten_seconds_and_none_for_what_is_done_sooner() -> None:
    stream, clock = Stream(terminal=False), Clock()

    with ProgressLine(stream, clock) as progress:
        for second in range(25):
            progress.report(f"accounts {second}")
            assert second >= LINE_SECONDS or stream.getvalue() == ""
            clock.seconds += 1

    assert stream.getvalue() == "  10 s  accounts 10\n  20 s  accounts 20\n"


def test_what_comes_is_counted() -> None:
    stream, clock = Stream(terminal=False), Clock()
    progress = ProgressLine(stream, clock)

    counted = []
    for number in progress.count(range(2_500), "records"):
        clock.seconds += LINE_SECONDS / 1000
        counted.append(number)

    assert counted == list(range(2_500))
    assert stream.getvalue() == "  10 s  records 1,001\n  20 s  records 2,001\n"


def test_without_a_stream_nothing_is_said() -> None:
    clock = Clock()
    progress = ProgressLine(None, clock)
    clock.seconds += 60

    with progress:
        progress.report("nothing")
