"""Long commands report their progress. Terminals show a progress bar. Other outputs get occasional lines."""

import io
import re

import pytest

from infra.progress import LINE_SECONDS, SILENT, Progress


class Stream(io.StringIO):
    def __init__(self, *, terminal: bool) -> None:
        super().__init__()
        self._terminal = terminal

    def isatty(self) -> bool:
        return self._terminal


class Clock:
    def __init__(self) -> None:
        self.seconds = 100.0

    def __call__(self) -> float:
        return self.seconds


@pytest.fixture(autouse=True)
def terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    """Set the kind of terminal, so that the terminal of the test run has no effect."""
    monkeypatch.setenv("TERM", "xterm")


def words(stream: Stream) -> str:
    return re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", stream.getvalue())


def test_a_progress_bar_on_a_terminal_is_cleared_at_the_end() -> None:
    stream, clock = Stream(terminal=True), Clock()

    with Progress(stream, clock) as progress:
        for _ in progress.count("abc", "walks", total=3):
            clock.seconds += 61

    assert "0:03:03" in words(stream)
    assert "walks 3 of 3" in words(stream)
    assert "━" in words(stream)
    assert stream.getvalue().endswith("\x1b[2K"), "the line is cleared"


def test_a_progress_bar_shows_the_current_step() -> None:
    stream = Stream(terminal=True)

    with Progress(stream, Clock()) as progress:
        progress.step("building the layer")

    assert "building the layer" in words(stream)


def test_output_is_printed_while_the_progress_bar_is_hidden(capsys: pytest.CaptureFixture[str]) -> None:
    stream = Stream(terminal=True)

    with Progress(stream, Clock()) as progress:
        progress.print("a finding")
        progress.step("building the layer")

    assert capsys.readouterr().out == "a finding\n"
    assert "a finding" not in words(stream)
    assert "building the layer" in words(stream)


def test_progress_without_a_terminal_is_printed_every_ten_seconds() -> None:
    stream, clock = Stream(terminal=False), Clock()

    with Progress(stream, clock) as progress:
        for second in range(25):
            progress.report(f"accounts {second}")
            assert second >= LINE_SECONDS or stream.getvalue() == ""
            clock.seconds += 1

    assert stream.getvalue() == "  10 s  accounts 10\n  20 s  accounts 20\n"


def test_each_step_without_a_terminal_prints_a_line_immediately() -> None:
    stream, clock = Stream(terminal=False), Clock()

    with Progress(stream, clock) as progress:
        progress.step("copying the application")
        clock.seconds += 3
        progress.step("building the layer")

    assert stream.getvalue() == "   0 s  copying the application\n   3 s  building the layer\n"


@pytest.mark.parametrize("kind", ["dumb", "unknown"])
def test_a_terminal_that_cannot_redraw_lines_shows_plain_lines(monkeypatch: pytest.MonkeyPatch, kind: str) -> None:
    monkeypatch.setenv("TERM", kind)
    stream = Stream(terminal=True)

    with Progress(stream, Clock()) as progress:
        progress.step("building the layer")

    assert stream.getvalue() == "   0 s  building the layer\n"


def test_progress_counts_the_items_during_the_iteration() -> None:
    stream, clock = Stream(terminal=False), Clock()
    progress = Progress(stream, clock)

    counted = []
    for number in progress.count(range(2_500), "records"):
        clock.seconds += LINE_SECONDS / 1000
        counted.append(number)

    assert counted == list(range(2_500))
    assert stream.getvalue() == "  10 s  records 1,001\n  20 s  records 2,001\n"


def test_silent_progress_prints_nothing_and_yields_all_items() -> None:
    with SILENT as progress:
        progress.step("nothing")

        assert list(progress.count("ab", "letters")) == ["a", "b"]
