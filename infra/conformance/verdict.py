"""The result of a bank's run in words, for the terminal and the report."""

from __future__ import annotations

from chalicelib.openbanking.records.conformance_reports import Result as ConformanceResult
from infra.conformance.check import Result
from infra.conformance.runner import Run


def verdict(run: Run) -> str:
    """Return one sentence without a full stop. The result is «conforms» only after a full run in which no applicable
    check was skipped.
    """
    if not run.is_full:
        return f"{run.bic}, version {run.version}, {_counted(len(run.results), 'chosen check')}: {grounds(run)}"
    if run.has_failed:
        return f"{run.bic} does not conform to version {run.version}"
    if run.blocked or run.unplayed:
        return f"It is not known whether {run.bic} conforms to version {run.version}"
    return f"{run.bic} conforms to version {run.version}"


def conclusion(run: Run) -> str:
    """Return the verdict with its grounds."""
    return f"{verdict(run)}: {grounds(run)}" if run.is_full else verdict(run)


def result_of(run: Run) -> ConformanceResult:
    """Return the verdict as one word, for programs."""
    if run.has_failed:
        return "fails"
    if not run.is_full:
        return "partial"
    return "unknown" if run.blocked or run.unplayed else "conforms"


def grounds(run: Run) -> str:
    """Return the number of failed mandatory checks. If no mandatory check failed, describe the checks that could not
    run.
    """
    if run.has_failed:
        return f"{_counted(run.count('failed', 'mandatory'), 'mandatory check')} failed"
    if run.blocked:
        return _not_made(run.blocked, "a step before failed")
    if run.unplayed:
        return _not_made(run.unplayed, "the PSU's part was not played")
    return "no mandatory check failed"


def counts(run: Run) -> str:
    """Return the number of results for each outcome, and the duration."""
    failed, advised = run.count("failed", "mandatory"), run.count("failed", "advice")
    blocked = sum(result.skip == "blocked" for result in run.results)
    because = f" ({blocked} of them because a step before failed)" if blocked else ""
    return (
        f"{run.count('passed')} passed, {failed} failed, {advised} advised, "
        f"{run.count('skipped')} skipped{because} in {run.seconds:.1f} s"
    )


def groups_of_failures(run: Run) -> list[list[Result]]:
    """Group the failures by check name, level and problem, in order of first occurrence."""
    found: dict[tuple[str, str, str], list[Result]] = {}
    for result in run.results:
        if result.outcome == "failed":
            problem = result.problem.partition(";")[0]
            found.setdefault((result.check.name, result.check.level, problem), []).append(result)
    return list(found.values())


def _not_made(results: list[Result], why: str) -> str:
    checks = _counted(len(results), "mandatory check")
    reasons = list(dict.fromkeys(result.problem for result in results))
    more = f" (and {len(reasons) - 1} other reasons)" if len(reasons) > 1 else ""
    return f"{checks} could not be made because {why}: {reasons[0]}{more}"


def _counted(count: int, name: str) -> str:
    return f"{count} {name}{'' if count == 1 else 's'}"
