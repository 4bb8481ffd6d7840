"""Rows of checks that look at what a response says."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from chalicelib.openbanking.protocol.version import Version
from infra.conformance.caller import Call
from infra.conformance.check import Check, Evidence, Level
from infra.conformance.checks.judging import service_to_bank
from infra.conformance.session import Session
from infra.conformance.subjects import Subject

Run = Callable[[Session, Subject], Evidence]
Row = tuple[str, str, str, Level, str, Run]
"""Name, title, paragraph (empty: the webhook's own table), level, what is expected, and the check."""


def build(version: Version, subject: Subject, rows: Iterable[Row]) -> list[Check]:
    """The checks of a webhook from its rows."""
    stands = service_to_bank(version, subject.webhook.path)
    return [
        Check(
            f"{subject.name}.{name}",
            f"{subject.webhook.path} {title}",
            paragraph or stands,
            level,
            expected,
            _runner(run, subject),
        )
        for name, title, paragraph, level, expected, run in rows
    ]


def _runner(run: Run, subject: Subject) -> Callable[[Session], Evidence]:
    return lambda session: run(session, subject)


def answered(session: Session, subject: Subject, **changes: Any) -> tuple[Call, Mapping[str, Any]]:
    """The response to the good request, or to one with changed members. Raises: CheckSkipped."""
    if not changes:
        return session.good(subject), session.good_answer(subject)
    call = session.send(subject, {**session.request(subject), **changes})
    return call, session.read(subject, call)
