"""Runs the selected checks in order and records the outcome and masked exchange of each check."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from infra.conformance.check import Check, Outcome, Result
from infra.conformance.evidence import CheckFailed, CheckSkipped, Evidence, Skip
from infra.conformance.session import Session

KIT_FAILED = "this check could not be made, which is a fault of the kit"


@dataclass(frozen=True, slots=True)
class Run:
    """A finished run. ``started_at`` is a timestamp, and ``seconds`` is the duration.

    Attributes:
        is_full: whether all checks of the version were selected.
        narrowed: the exclusions in the bank's file, for example scopes.
    """

    bic: str
    version: int
    address: str
    started_at: str
    seconds: float
    results: tuple[Result, ...]
    is_full: bool = True
    narrowed: str = ""

    def count(self, outcome: Outcome, level: str | None = None) -> int:
        return sum(each.outcome == outcome and level in (None, each.check.level) for each in self.results)

    @property
    def has_failed(self) -> bool:
        """Return whether a mandatory check failed."""
        return any(result.fails_run for result in self.results)

    @property
    def blocked(self) -> list[Result]:
        """Return the mandatory checks that could not run because an earlier step failed."""
        return [result for result in self.results if result.is_blocked]

    @property
    def is_good(self) -> bool:
        """Return whether no mandatory check failed or was blocked."""
        return not self.has_failed and not self.blocked

    @property
    def unplayed(self) -> list[Result]:
        """Return the mandatory checks that did not run because the PSU's action was not performed."""
        return [result for result in self.results if result.skip == "unplayed" and result.check.level == "mandatory"]


def run_checks(session: Session, checks: Iterable[Check], show: Callable[[Result], None]) -> list[Result]:
    """Run ``checks`` and display each result immediately."""
    results = []
    for check in checks:
        result = run_check(session, check)
        show(result)
        results.append(result)
    return results


def run_check(session: Session, check: Check) -> Result:
    """Run one check. An internal error of the kit does not end the run and is not a failure of the bank."""
    started = time.monotonic()
    outcome: Outcome = "passed"
    evidence, problem = Evidence(), ""
    skip: Skip = ""
    try:
        evidence = check.run(session)
    except CheckSkipped as reason:
        outcome, problem, skip = "skipped", str(reason), reason.kind
    except CheckFailed as failure:
        outcome, evidence, problem = "failed", failure.evidence, failure.problem
    except Exception as error:
        outcome, skip, problem = "skipped", "blocked", f"{KIT_FAILED}: {type(error).__name__}"
    mask = session.hub.masking.mask
    seconds = time.monotonic() - started
    return Result(
        check, outcome, seconds, mask(evidence.sent), mask(evidence.received), mask(problem), skip, evidence.by_bank
    )
