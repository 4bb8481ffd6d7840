"""What a run prints."""

from __future__ import annotations

from io import StringIO
from pathlib import Path

from infra.conformance.terminal import Terminal, first_line, printable, summary
from tests.infra.conformance.made_run import RUN


class Colours(StringIO):
    def isatty(self) -> bool:
        return True


def test_every_check_has_a_line_with_outcome_id_time_and_reason() -> None:
    output = StringIO()
    for result in RUN.results:
        Terminal(output).show(result)

    assert [line.split() for line in output.getvalue().splitlines()] == [
        ["passed", "a.one", "12", "ms"],
        ["failed", "a.two", "12", "ms", "it", "is", "<wrong>"],
        ["advice", "b.one", "12", "ms", "it", "could", "be", "better"],
        ["skipped", "b.two", "12", "ms", "not", "offered"],
    ]


def test_failures_are_explained_at_the_end() -> None:
    output = StringIO()
    Terminal(output).end(RUN, [Path("build/report.html")])
    said = output.getvalue()

    for part in ("FAILED a.two: A <title>", "it is <wrong>", "Something & more", "Specification, 1 (mandatory)"):
        assert part in said
    assert "ADVICE b.one" in said
    assert said.endswith(f"{summary(RUN)}\n  build/report.html\n")


def test_the_summary_counts_and_judges() -> None:
    assert summary(RUN) == ("SMALLGB2 does not conform to version 2: 1 passed, 1 failed, 1 advised, 1 skipped in 1.5 s")


def test_colours_are_for_terminals() -> None:
    plain, coloured = StringIO(), Colours()
    for output in (plain, coloured):
        Terminal(output).show(RUN.results[0])

    assert "\033[32m" in coloured.getvalue()
    assert "\033" not in plain.getvalue()


def test_what_a_bank_sends_cannot_control_the_terminal() -> None:
    assert printable("a\x1b[31mb\nc") == "a?[31mb\nc"
    output = StringIO()
    Terminal(output).end(RUN, [])

    assert "\x00" not in output.getvalue()


def test_a_long_reason_is_cut_on_its_line() -> None:
    assert first_line("x" * 500 + "\nmore") == "x" * 119 + "…"
    assert first_line("") == ""
