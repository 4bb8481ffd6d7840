"""What a run prints."""

from __future__ import annotations

from dataclasses import replace
from io import StringIO
from pathlib import Path

from infra.conformance import report_html
from infra.conformance.terminal import Terminal, first_line, printable, summary
from tests.infra.conformance.made_run import RUN, result


class Colours(StringIO):
    def isatty(self) -> bool:
        return True


def test_every_check_has_a_line_with_outcome_id_time_and_reason() -> None:
    output = StringIO()
    for each in RUN.results:
        Terminal(output).show(each)

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


def test_a_call_of_the_bank_stands_before_the_kits_answer() -> None:
    own = result("accounts.one", "failed")
    banks = replace(result("bank-initiate.signature", "failed"), is_banks_call=True)

    assert [name for name, _ in own.exchange] == ["Sent", "Received"]
    assert banks.exchange == [("The bank's call", banks.received), ("The kit's answer", banks.sent)]
    run = replace(RUN, results=(banks,))
    output = StringIO()
    Terminal(output).end(run, [])
    for said in (output.getvalue(), report_html.render(run)):
        assert 0 < said.lower().index("the bank's call") < said.lower().index("the kit's answer")


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
