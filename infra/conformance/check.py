"""Checks: their rows and their results."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from infra.conformance.session import Session

Level = Literal["mandatory", "advice"]
"""``mandatory``: the specification or the bank integration rules demand it. ``advice``: the hub copes without it."""
Outcome = Literal["passed", "failed", "skipped"]


@dataclass(frozen=True, slots=True)
class Evidence:
    """What was sent and what came back, as text for people, not yet masked."""

    sent: str = ""
    received: str = ""


class CheckFailed(Exception):
    """The bank broke the rule; ``expected`` overrides the row's, ``received`` ends with what is wrong."""

    def __init__(self, evidence: Evidence, problem: str) -> None:
        self.evidence = evidence
        self.problem = problem
        super().__init__(problem)


class CheckSkipped(Exception):
    """The check does not apply, or a step that it needs has failed; the message says why."""


@dataclass(frozen=True, slots=True, eq=False)
class Check:
    """One rule of the protocol.

    Attributes:
        check_id: group and name, such as ``accounts.answer-form``.
        rule: the rule in a few words.
        paragraph: where the rule stands.
        expected: what a conforming bank does.
        run: checks the bank. Raises: CheckFailed, CheckSkipped.
        path: of the webhook or call that the check is about; empty if it is about none.
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
    def group(self) -> str:
        """The part of the id before the dot."""
        return self.check_id.partition(".")[0]


@dataclass(frozen=True, slots=True)
class Result:
    """A check's outcome with masked texts. ``problem`` is why it failed or was skipped; empty if it passed."""

    check: Check
    outcome: Outcome
    seconds: float
    sent: str = ""
    received: str = ""
    problem: str = ""

    @property
    def fails_run(self) -> bool:
        return self.outcome == "failed" and self.check.level == "mandatory"
