"""Checks of the response format of every webhook. Checks of authentication and errors are in separate modules."""

from __future__ import annotations

from collections.abc import Iterator

from chalicelib.foundation.http.outbound import TimedOut
from chalicelib.openbanking.protocol.version import Version
from infra.conformance import answers, spelling
from infra.conformance.caller import Call
from infra.conformance.check import Check
from infra.conformance.checks import authentication, errors
from infra.conformance.checks.judging import AUTHENTICATION, RULES, demand, row, service_to_bank
from infra.conformance.evidence import CheckBlocked, CheckFailed, Evidence
from infra.conformance.session import Session
from infra.conformance.subjects import Subject

_GOOD = "A good request is answered in the form of the reference"


def checks(version: Version, subject: Subject) -> list[Check]:
    """Return the checks of one webhook. The valid request of ``revoke_token`` ends the consent, so this request is sent
    last.
    """
    good = [*_answer_checks(version, subject), *_spelling_checks(subject)]
    bad = authentication.checks(version, subject)
    first, last = (bad, good) if subject.role == "revocation" else (good, bad)
    return [*first, *last, *errors.checks(version, subject)]


# -- the response to a good request


def _answer_checks(version: Version, subject: Subject) -> list[Check]:
    path = subject.webhook.path
    stands, answers_rule = service_to_bank(version, path), RULES.format(section="Answers")
    return [
        row(subject, "answer-time", "is answered within 20 s", answers_rule, "mandatory", _GOOD, _answer_time),
        row(
            subject,
            "answer-form",
            "is answered with all mandatory members, of the right types",
            stands,
            "mandatory",
            f"{_GOOD}: no mandatory member is missing or has another type",
            _answer_form,
        ),
        row(
            subject,
            "answer-details",
            "is answered with members of the lengths and characters of the reference",
            stands,
            "advice",
            f"{_GOOD}, lengths, characters and optional members included",
            _answer_details,
        ),
        row(
            subject,
            "content-type",
            "is answered as application/json",
            AUTHENTICATION.format(header="Content-Type"),
            "advice",
            "Content-Type is application/json",
            _content_type,
        ),
    ]


def _replied(session: Session, subject: Subject) -> Call:
    call = session.good(subject)
    if call.reply is None:
        raise CheckBlocked(f"there is no response: see {subject.name}.answer-time")
    return call


def _answer_time(session: Session, subject: Subject) -> Evidence:
    call = session.good(subject)
    late = isinstance(call.failure, TimedOut)
    said = f"no complete response came within {session.limits.answer:g} s" if late else "no complete response came"
    return demand(call.reply is not None, call.evidence, said)


def _answer_form(session: Session, subject: Subject) -> Evidence:
    call = _replied(session, subject)
    assert call.reply is not None
    reading = answers.read(session.version, subject.webhook, call.members, call.reply)
    if reading.faults:
        raise CheckFailed(call.evidence, "; ".join(reading.faults))
    if subject.role == "payment" and len(call.reply.body) > answers.PAYMENT_BYTES:
        raise CheckFailed(call.evidence, f"the response to a payment is larger than {answers.PAYMENT_BYTES} bytes")
    return call.evidence


def _answer_details(session: Session, subject: Subject) -> Evidence:
    call = _replied(session, subject)
    assert call.reply is not None
    reading = answers.read(session.version, subject.webhook, call.members, call.reply)
    if reading.faults:
        raise CheckBlocked(f"the response is not usable: see {subject.name}.answer-form")
    return demand(not reading.deviations, call.evidence, "; ".join(reading.deviations))


def _content_type(session: Session, subject: Subject) -> Evidence:
    call = _replied(session, subject)
    assert call.reply is not None
    given = next((value for name, value in call.reply.headers.items() if name.lower() == "content-type"), "")
    is_json = given.partition(";")[0].strip().lower() == "application/json"
    return demand(is_json, call.evidence, f"Content-Type is {given or 'missing'}")


# -- the response to a good request in another spelling


def _spelling_checks(subject: Subject) -> Iterator[Check]:
    """Return the notation checks. ``revoke_token`` has no such checks because its only valid request ends the
    consent.
    """
    if subject.role != "revocation":
        yield row(
            subject,
            "signed-bytes",
            "is answered however its JSON is spelled",
            RULES.format(section="Signatures"),
            "mandatory",
            "A good request with white space, escaped letters and amounts as numbers, such as 1.10, is answered: "
            "the signature is verified over the bytes that came, not over JSON that the bank writes again",
            _signed_bytes,
        )


def _signed_bytes(session: Session, subject: Subject) -> Evidence:
    session.good_answer(subject)
    members, note = session.request(subject), "a good request in another spelling, signed as it is sent"
    call = session.send(subject, members, body=spelling.respell(members), note=note)
    if call.reply is None:
        raise CheckFailed(call.evidence, "there is no response")
    is_refused = answers.is_refusal(session.version, subject.webhook, call.reply)
    said = "the bank refused a good request because of its spelling: verify the signature over the bytes that came"
    return demand(not is_refused, call.evidence, said)
