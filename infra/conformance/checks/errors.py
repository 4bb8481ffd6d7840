"""Checks of the format of errors, for every webhook."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Any

from chalicelib.openbanking.protocol.version import Version
from chalicelib.openbanking.protocol.webhooks import AnswerForm
from infra.conformance import answers
from infra.conformance.caller import Call
from infra.conformance.check import Check
from infra.conformance.checks.judging import RULES, SERVER_ERROR, demand, refusal_of, row, wrong_key
from infra.conformance.evidence import CheckFailed, CheckSkipped, Evidence
from infra.conformance.session import Session
from infra.conformance.subjects import Subject

_TIMESTAMP = 25
_LONGEST_CODE = 255


def checks(version: Version, subject: Subject) -> list[Check]:
    """Return the checks of a webhook's errors."""
    form = version.answers
    errors = f"Specification, {'Events: error response to a webhook' if form.says_status else 'Errors: error response'}"
    shape = "status is error" if form.says_status else f"{form.code} is text"
    details = (
        f"{form.code} is a number and {form.text} is text"
        if form.says_status
        else f"{form.text} is text, timestamp has at most {_TIMESTAMP} characters, additionalErrors a list of objects"
    )
    found = [
        row(
            subject,
            "error-form",
            "answers errors in the form of the version",
            errors,
            "mandatory",
            f"An error is a JSON object in which {shape}",
            _error_form,
        ),
        row(
            subject,
            "error-status",
            "answers errors with a status from 400 to 499",
            f"{errors}; {RULES.format(section='Answers')}",
            "advice" if form.says_status else "mandatory",
            "A refusal has a status from 400 to 499: 500 and above count as failures of the bank",
            _error_status,
        ),
        row(
            subject,
            "error-details",
            "answers errors with all members of the table",
            errors,
            "advice",
            f"In an error, {details}",
            _error_details,
        ),
    ]
    return found if form.says_status else [*found, *_debugging_checks(subject, errors)]


def _debugging_checks(subject: Subject, errors: str) -> list[Check]:
    return [
        row(
            subject,
            "error-timestamp",
            "has a timestamp with an offset in errors",
            errors,
            "mandatory",
            "If an error has a timestamp, it is that of ISO 8601 with its offset, such as 2026-11-21T13:06:08+00:00",
            _error_timestamp,
        ),
        row(
            subject,
            "error-request-id",
            "has the id of the refused request in errors",
            errors,
            "mandatory",
            "If an error has a requestId, it is the X-Request-Id of the call that it refuses",
            _error_request_id,
        ),
    ]


def _refused_call(session: Session, subject: Subject) -> Call:
    return session.once(
        ("refused", subject.name), lambda: session.send(subject, change=wrong_key, note="X-Api-Key is wrong")
    )


def _error_form(session: Session, subject: Subject) -> Evidence:
    call = _refused_call(session, subject)
    found = refusal_of(session, subject, call, "key-wrong")
    if found is None:
        raise CheckFailed(call.evidence, "the error is not a JSON object")
    wrong = [_wrong_shape(form, found) for form in answers.error_forms(session.version, subject.webhook)]
    return demand(not all(wrong), call.evidence, " and ".join(wrong))


def _wrong_shape(form: AnswerForm, found: Mapping[str, Any]) -> str:
    if form.says_status:
        return "" if found.get("status") == "error" else "status is not error"
    code = found.get(form.code)
    return "" if isinstance(code, str) and 1 <= len(code) <= _LONGEST_CODE else f"{form.code} is not text"


def _error_status(session: Session, subject: Subject) -> Evidence:
    call = _refused_call(session, subject)
    refusal_of(session, subject, call, "key-wrong")
    assert call.reply is not None
    return demand(400 <= call.reply.status < SERVER_ERROR, call.evidence, f"the status is {call.reply.status}")


def _error_details(session: Session, subject: Subject) -> Evidence:
    call = _refused_call(session, subject)
    found = refusal_of(session, subject, call, "key-wrong") or {}
    wrong = [list(_wrong_details(form, found)) for form in answers.error_forms(session.version, subject.webhook)]
    return demand(not all(wrong), call.evidence, "; ".join(wrong[-1]))


def _member_of_error(session: Session, subject: Subject, name: str) -> tuple[Call, object]:
    call = _refused_call(session, subject)
    found = refusal_of(session, subject, call, "key-wrong") or {}
    if found.get(name) is None:
        raise CheckSkipped(f"the error has no {name}")
    return call, found[name]


def _error_timestamp(session: Session, subject: Subject) -> Evidence:
    call, given = _member_of_error(session, subject, "timestamp")
    try:
        read = datetime.fromisoformat(str(given))
    except ValueError:
        raise CheckFailed(call.evidence, "timestamp is not a point in time of ISO 8601") from None
    return demand(read.tzinfo is not None, call.evidence, "timestamp has no offset, such as +00:00")


def _error_request_id(session: Session, subject: Subject) -> Evidence:
    call, given = _member_of_error(session, subject, "requestId")
    is_same = str(given).lower() == call.headers["X-Request-Id"].lower()
    return demand(is_same, call.evidence, "requestId is not the X-Request-Id of the refused call")


def _wrong_details(form: AnswerForm, found: Mapping[str, Any]) -> Iterator[str]:
    if not isinstance(found.get(form.text), str):
        yield f"{form.text} is missing or no text"
    if form.says_status:
        if not str(found.get(form.code, "")).isdecimal():
            yield f"{form.code} is missing or no number"
        return
    stamp, more = found.get("timestamp"), found.get("additionalErrors", [])
    if not isinstance(stamp, str) or not 0 < len(stamp) <= _TIMESTAMP:
        yield "timestamp is missing or too long"
    if not isinstance(more, list) or not all(isinstance(each, dict) and "code" in each for each in more):
        yield "additionalErrors is no list of objects with code"
