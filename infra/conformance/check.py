"""Checks: their rows and their results."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from infra.conformance.evidence import Evidence, Skip
from infra.conformance.session import Session

Level = Literal["mandatory", "advice"]
"""``mandatory``: the specification or the bank integration rules demand it. ``advice``: the hub copes without it."""
Outcome = Literal["passed", "failed", "skipped"]


@dataclass(frozen=True, slots=True, eq=False)
class Check:
    """One rule of the protocol.

    Attributes:
        check_id: group and name, such as ``accounts.answer-form``.
        rule: the rule in a few words.
        paragraph: the specification's paragraph with the rule.
        expected: what a conforming bank does.
        run: checks the bank. Raises: CheckFailed, CheckSkipped.
        path: the path of the checked webhook or call; empty without one.
    """

    check_id: str
    rule: str
    paragraph: str
    level: Level
    expected: str
    run: Callable[[Session], Evidence]
    path: str = ""

    @property
    def title(self) -> str:
        return f"{self.path}: {self.rule}" if self.path else self.rule

    @property
    def name(self) -> str:
        """The part of the id after the first dot."""
        return self.check_id.partition(".")[2]

    @property
    def group(self) -> str:
        """The part of the id before the dot."""
        return self.check_id.partition(".")[0]


@dataclass(frozen=True, slots=True)
class Result:
    """A check's outcome with masked texts. ``problem`` is the reason for a failure or skip, empty after a success."""

    check: Check
    outcome: Outcome
    seconds: float
    sent: str = ""
    received: str = ""
    problem: str = ""
    skip: Skip = ""
    by_bank: bool = False

    @property
    def is_blocked(self) -> bool:
        """Whether a mandatory check could not run because an earlier step failed."""
        return self.skip == "blocked" and self.check.level == "mandatory"

    @property
    def exchange(self) -> list[tuple[str, str]]:
        """The labelled requests and responses, in order."""
        sent, received = ("the kit's answer", self.sent), ("the bank's call", self.received)
        if not self.by_bank:
            sent, received = ("sent", self.sent), ("received", self.received)
        ordered = (received, sent) if self.by_bank else (sent, received)
        return [(label, text) for label, text in ordered if text]

    @property
    def fails_run(self) -> bool:
        return self.outcome == "failed" and self.check.level == "mandatory"
