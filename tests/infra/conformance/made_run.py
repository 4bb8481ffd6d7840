"""A made-up run with every outcome."""

from __future__ import annotations

from infra.conformance.check import Check, Level, Outcome, Result
from infra.conformance.evidence import Evidence
from infra.conformance.runner import Run


def result(check_id: str, outcome: Outcome, level: Level = "mandatory", problem: str = "") -> Result:
    check = Check(check_id, "A <title>", "Specification, 1", level, "Something & more", lambda _: Evidence())
    return Result(check, outcome, 0.0123, "POST /accounts", '{"a": "\x00é"}', problem)


RUN = Run(
    "SMALLGB2",
    2,
    "http://127.0.0.1:1",
    "2026-11-25T10:00:00+00:00",
    1.5,
    (
        result("a.one", "passed"),
        result("a.two", "failed", problem="it is <wrong>"),
        result("b.one", "failed", "advice", "it could be better"),
        result("b.two", "skipped", problem="not offered"),
    ),
)
