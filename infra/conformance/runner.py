"""A run: the chosen checks in their order, each with its outcome and masked evidence."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from infra.conformance.check import Check, CheckFailed, CheckSkipped, Evidence, Outcome, Result
from infra.conformance.session import Session

KIT_FAILED = "this check could not be made, which is a fault of the kit"


@dataclass(frozen=True, slots=True)
class Run:
    """A finished run. ``started_at`` is a timestamp; ``seconds`` its duration."""

    bic: str
    version: int
    address: str
    started_at: str
    seconds: float
    results: tuple[Result, ...]

    def count(self, outcome: Outcome, level: str | None = None) -> int:
        return sum(each.outcome == outcome and level in (None, each.check.level) for each in self.results)

    @property
    def has_failed(self) -> bool:
        """Whether a mandatory check failed."""
        return any(result.fails_run for result in self.results)


def run_checks(session: Session, checks: Iterable[Check], show: Callable[[Result], None]) -> list[Result]:
    """Run ``checks``; each result is shown as soon as it is there."""
    results = []
    for check in checks:
        result = run_check(session, check)
        show(result)
        results.append(result)
    return results


def run_check(session: Session, check: Check) -> Result:
    """Run one check. An error of the kit itself neither ends the run nor counts against the bank."""
    started = time.monotonic()
    outcome: Outcome = "passed"
    evidence, problem = Evidence(), ""
    try:
        evidence = check.run(session)
    except CheckSkipped as reason:
        outcome, problem = "skipped", str(reason)
    except CheckFailed as failure:
        outcome, evidence, problem = "failed", failure.evidence, failure.problem
    except Exception as error:
        outcome, problem = "skipped", f"{KIT_FAILED}: {type(error).__name__}"
    mask = session.hub.masking.mask
    seconds = time.monotonic() - started
    return Result(check, outcome, seconds, mask(evidence.sent), mask(evidence.received), mask(problem))
