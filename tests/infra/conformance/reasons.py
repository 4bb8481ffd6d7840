"""The ids of checks that reasons name."""

from __future__ import annotations

import re

from infra.conformance.runner import Run


def named_checks(reason: str) -> list[str]:
    """What a reason sends its reader to."""
    return [name for part in re.findall(r"\bsee (.+)", reason) for name in re.split(r", | and ", part)]


def dead_ends(run: Run, known: set[str]) -> list[tuple[str, str]]:
    """The skipped checks, each with a name in its reason that is no id of a check, or of one that passed."""
    outcomes = {each.check.check_id: each.outcome for each in run.results}
    return [
        (each.check.check_id, each.problem)
        for each in run.results
        if each.outcome == "skipped"
        and any(name not in known or outcomes.get(name) == "passed" for name in named_checks(each.problem))
    ]
