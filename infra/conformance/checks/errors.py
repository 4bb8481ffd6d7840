"""Checks of the form of errors, for every webhook."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from chalicelib.openbanking.protocol.version import Version
from chalicelib.openbanking.protocol.webhooks import AnswerForm
from infra.conformance import answers
from infra.conformance.caller import Call
from infra.conformance.check import Check, CheckFailed, Evidence
from infra.conformance.checks.judging import RULES, SERVER_ERROR, demand, refusal_of, row, wrong_key
from infra.conformance.session import Session
from infra.conformance.subjects import Subject

_TIMESTAMP = 25
_LONGEST_CODE = 255


def checks(version: Version, subject: Subject) -> list[Check]:
    """The checks of a webhook's errors."""
    form = version.answers
    errors = f"Specification, {'Events: error response to a webhook' if form.says_status else 'Errors: error response'}"
    shape = "status is error" if form.says_status else f"{form.code} is text"
    details = (
        f"{form.code} is a number and {form.text} is text"
        if form.says_status
        else f"{form.text} is text, timestamp has at most {_TIMESTAMP} characters, additionalErrors a list of objects"
    )
    return [
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


def _refused_call(session: Session, subject: Subject) -> Call:
    """A call that every bank has to refuse."""
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
