"""Defines a check, which is one row of a table, and the result of a check."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from infra.conformance.evidence import Evidence, Skip
from infra.conformance.session import Session

Level = Literal["mandatory", "advice"]
"""``mandatory``: the specification or the bank integration rules require the behaviour. ``advice``: the hub tolerates a
different behaviour.
"""
Outcome = Literal["passed", "failed", "skipped"]


@dataclass(frozen=True, slots=True, eq=False)
class Check:
    """One rule of the protocol.

    Attributes:
        check_id: group and name, for example ``accounts.answer-form``.
        rule: the rule in a few words.
        paragraph: the paragraph of the specification that contains the rule.
        expected: the behaviour of a conforming bank.
        run: checks the bank. Raises: CheckFailed, CheckSkipped.
        path: the path of the checked webhook or call; empty for other checks.
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
        """Return the part of the id after the first dot."""
        return self.check_id.partition(".")[2]

    @property
    def group(self) -> str:
        """Return the part of the id before the first dot."""
        return self.check_id.partition(".")[0]


@dataclass(frozen=True, slots=True)
class Result:
    """A check's outcome. Secrets in its texts are masked. ``problem`` is the reason for a failure or skip."""

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
        """Return whether a mandatory check could not run because an earlier step failed."""
        return self.skip == "blocked" and self.check.level == "mandatory"

    @property
    def exchange(self) -> list[tuple[str, str]]:
        """Return the labelled requests and responses in chronological order."""
        sent, received = ("the kit's answer", self.sent), ("the bank's call", self.received)
        if not self.by_bank:
            sent, received = ("sent", self.sent), ("received", self.received)
        ordered = (received, sent) if self.by_bank else (sent, received)
        return [(label, text) for label, text in ordered if text]

    @property
    def fails_run(self) -> bool:
        return self.outcome == "failed" and self.check.level == "mandatory"
