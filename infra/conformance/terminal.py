"""Progress and summary of a run on the terminal."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from textwrap import indent
from typing import TextIO

from infra.conformance.bank_file import BankUnderTest
from infra.conformance.check import Result
from infra.conformance.runner import Run
from infra.conformance.verdict import counts, grounds, groups_of_failures, verdict

_COLOURS = {"passed": "32", "failed": "31", "advice": "33", "skipped": "2"}
_SHOWN = 1500
"""Maximum number of characters of a sent or received text in the summary. Reports contain longer texts."""


class Terminal:
    """Prints a run, in colour on a terminal."""

    def __init__(self, output: TextIO) -> None:
        self._output = output
        self._colour = output.isatty()

    def begin(self, bank: BankUnderTest, count: int) -> None:
        host, port = bank.listen
        self._print(f"Causeway conformance kit: {bank.bic}, version {bank.version}, {count} checks")
        self._print(f"  the bank      {bank.base_url}")
        listens = f"http://{host}:{port}"
        reached = "" if bank.public_url == listens else f", reached by the bank at {bank.public_url}"
        self._print(f"  the kit       {listens}{reached}")
        self._print(f"  its key       {bank.public_url}/bank/public_key\n")

    def show(self, result: Result) -> None:
        """Print one line for a check."""
        word = "advice" if result.outcome == "failed" and not result.fails_run else result.outcome
        line = f"  {self._paint(word, f'{word:<8}')}{result.check.check_id:<66} {result.seconds * 1000:5.0f} ms"
        self._print(f"{line}  {first_line(printable(result.problem))}" if result.problem else line)

    def end(self, run: Run, files: list[Path]) -> None:
        """Print the failures, grouped by kind with one example each, and the summary."""
        for alike in groups_of_failures(run):
            self._print("\n" + "\n".join(self._explain(run, alike)))
        self._print("")
        self._print(summary(run))
        for file in files:
            self._print(f"  {file}")

    def _explain(self, run: Run, alike: list[Result]) -> Iterator[str]:
        result = alike[0]
        word = "failed" if result.fails_run else "advice"
        if len(alike) > 1:
            made = sum(each.check.name == result.check.name and each.outcome != "skipped" for each in run.results)
            groups = ", ".join(each.check.group for each in alike)
            yield f"{self._paint(word, word.upper())} {result.check.name} fails at {len(alike)} of {made}: {groups}"
            yield f"  example   {result.check.check_id}: {result.check.title}"
        else:
            yield f"{self._paint(word, word.upper())} {result.check.check_id}: {result.check.title}"
        yield f"  wrong     {printable(result.problem)}"
        yield f"  expected  {result.check.expected}"
        yield f"  rule      {result.check.paragraph} ({result.check.level})"
        for name, text in result.exchange:
            yield f"  {name}\n{indent(printable(text[:_SHOWN]).rstrip(), '    ')}"

    def _paint(self, word: str, text: str) -> str:
        return f"\033[{_COLOURS[word]}m{text}\033[0m" if self._colour else text

    def _print(self, text: str) -> None:
        print(text, file=self._output, flush=True)


def printable(text: str) -> str:
    """Remove terminal control characters from text received from a bank or a command."""
    return "".join(each if each == "\n" or each.isprintable() else "?" for each in text)


def first_line(text: str) -> str:
    """Return the first line of a text, shortened."""
    line = text.splitlines()[0] if text else ""
    return line if len(line) <= 120 else f"{line[:119]}…"


def summary(run: Run) -> str:
    """Return the verdict, the counts of a run, and the limitations of the verdict."""
    joined = ": " if run.is_full else "; "
    lines = [f"{printable(verdict(run))}{joined}{counts(run)}"]
    if run.is_full and not run.has_failed and (run.blocked or run.unplayed):
        lines.append(printable(grounds(run)))
    if run.narrowed:
        lines.append(f"as far as the file goes: {run.narrowed}")
    return "\n  ".join(lines)
