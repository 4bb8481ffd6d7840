"""Defines checks on the content of responses as table rows."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from chalicelib.openbanking.protocol.version import Version
from infra.conformance.caller import Call
from infra.conformance.check import Check, Level
from infra.conformance.checks.judging import RunOnSubject, require_answer, row, service_to_bank
from infra.conformance.session import Session
from infra.conformance.subjects import Subject

Row = tuple[str, str, str, Level, str, RunOnSubject]
"""The definition of a check: name, title, paragraph (if empty, the table of the webhook), level, expected behaviour,
and the check function.
"""


def build(version: Version, subject: Subject, rows: Iterable[Row]) -> list[Check]:
    """Build the checks of a webhook from its table rows."""
    stands = service_to_bank(version, subject.webhook.path)
    return [
        row(subject, name, rule, paragraph or stands, level, expected, run)
        for name, rule, paragraph, level, expected, run in rows
    ]


def answered(session: Session, subject: Subject, **changes: Any) -> tuple[Call, Mapping[str, Any]]:
    """Return the response to the valid request, or to a request with changed members.

    Raises:
        CheckSkipped: the valid request has no usable response.
        CheckFailed: the changed request has no usable response.
    """
    if not changes:
        return session.good(subject), session.good_answer(subject)
    call = session.send(subject, {**session.request(subject), **changes})
    return call, require_answer(session, subject, call)
