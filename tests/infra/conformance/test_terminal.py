"""Terminal output of a conformance run."""

from dataclasses import replace
from io import StringIO
from pathlib import Path

from infra.conformance.terminal import Terminal, first_line, printable, summary
from tests.infra.conformance.kit_runs import EXAMPLE_RUN, example_result


class Colours(StringIO):
    def isatty(self) -> bool:
        return True


def test_conformance_output_has_one_line_for_each_check() -> None:
    output = StringIO()
    for each in EXAMPLE_RUN.results:
        Terminal(output).show(each)

    assert [line.split() for line in output.getvalue().splitlines()] == [
        ["passed", "a.one", "12", "ms"],
        ["failed", "a.two", "12", "ms", "it", "is", "<wrong>"],
        ["advice", "b.one", "12", "ms", "it", "could", "be", "better"],
        ["skipped", "b.two", "12", "ms", "not", "offered"],
    ]


def test_conformance_output_explains_failures_at_the_end() -> None:
    output = StringIO()
    Terminal(output).end(EXAMPLE_RUN, [Path("build/report.html")])
    said = output.getvalue()

    for part in ("FAILED a.two: A <title>", "it is <wrong>", "Something & more", "Specification, 1 (mandatory)"):
        assert part in said
    assert "ADVICE b.one" in said
    assert said.endswith(f"{summary(EXAMPLE_RUN)}\n  build/report.html\n")


def test_conformance_output_explains_similar_failures_once_with_an_example() -> None:
    groups = ("a", "b", "c")
    alike = [
        example_result(f"{group}.signature-missing", "failed", problem=f"accepted; body {group}") for group in groups
    ]
    other = example_result("d.signature-missing", "failed", problem="no response")
    passed = example_result("e.signature-missing", "passed")
    output = StringIO()
    Terminal(output).end(replace(EXAMPLE_RUN, results=(*alike, other, passed)), [])
    said = output.getvalue()

    assert "FAILED signature-missing fails at 3 of 5: a, b, c\n  example   a.signature-missing: A <title>\n" in said
    assert said.count("POST /accounts") == 2
    assert "FAILED d.signature-missing: A <title>" in said


def test_conformance_output_shows_the_call_of_the_bank_before_the_response_of_the_kit() -> None:
    failed = replace(
        example_result("bank-initiate.key", "failed", problem="wrong"), sent="400", received="POST /x", by_bank=True
    )
    output = StringIO()
    Terminal(output).end(replace(EXAMPLE_RUN, results=(failed,)), [])

    assert "  the bank's call\n    POST /x\n  the kit's answer\n    400\n" in output.getvalue()


def test_the_conformance_summary_shows_the_overall_result_and_the_counts() -> None:
    assert summary(EXAMPLE_RUN) == (
        "SMALLGB2 does not conform to version 2: 1 passed, 1 failed, 1 advised, 1 skipped in 1.5 s"
    )


def test_colours_are_printed_only_on_terminals() -> None:
    plain, coloured = StringIO(), Colours()
    for output in (plain, coloured):
        Terminal(output).show(EXAMPLE_RUN.results[0])

    assert "\033[32m" in coloured.getvalue()
    assert "\033" not in plain.getvalue()


def test_control_characters_of_a_bank_are_not_printed() -> None:
    assert printable("a\x1b[31mb\nc") == "a?[31mb\nc"
    output = StringIO()
    Terminal(output).end(EXAMPLE_RUN, [])

    assert "\x00" not in output.getvalue()


def test_a_long_failure_reason_is_truncated_to_one_line() -> None:
    assert first_line("x" * 500 + "\nmore") == "x" * 119 + "…"
    assert first_line("") == ""
