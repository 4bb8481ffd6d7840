"""Checks that hold for every webhook: form of the response, authentication of the hub, token, form of errors."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from chalicelib.foundation import jsontext
from chalicelib.foundation.http.outbound import TimedOut
from chalicelib.foundation.identifiers import new_credential, new_id
from chalicelib.openbanking.protocol.version import Version
from infra.conformance import answers
from infra.conformance.caller import Call, Change, Headers
from infra.conformance.check import Check, CheckBlocked, CheckFailed, CheckSkipped, Evidence, Level
from infra.conformance.checks import errors
from infra.conformance.checks.judging import (
    AUTHENTICATION,
    RULES,
    demand,
    refusal_of,
    require_refused,
    row,
    service_to_bank,
    wrong_key,
)
from infra.conformance.session import Session
from infra.conformance.subjects import Subject

Run = Callable[[Session], Evidence]
_GOOD = "A good request is answered in the form of the reference"
_ENDED = "X-Auth-Token is of a consent that has ended"
_NARROW = "X-Auth-Token is of a consent without the scope"


def checks(version: Version, subject: Subject) -> list[Check]:
    """The checks of one webhook. Those of ``revoke_token`` end with the good request, which ends the consent."""
    good = list(_answer_checks(version, subject))
    bad = [*_authentication_checks(version, subject), *_token_checks(version, subject)]
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
    """The good call, if it was answered at all. Raises: CheckSkipped."""
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


# -- who calls


def _authentication_checks(version: Version, subject: Subject) -> list[Check]:
    signature = AUTHENTICATION.format(header="X-Signature")
    key, request_id = AUTHENTICATION.format(header="X-Api-Key"), AUTHENTICATION.format(header="X-Request-Id")
    signed: Level = "mandatory" if version.signature_required else "advice"
    refused, path = "The call is refused with an error", subject.webhook.path
    rows: list[tuple[str, str, str, Level, Run]] = [
        ("key-missing", "without X-Api-Key", key, "mandatory", _varied(subject, change=_without("X-Api-Key"))),
        (
            "key-wrong",
            "with a wrong X-Api-Key",
            key,
            "mandatory",
            _varied(subject, change=wrong_key, note="X-Api-Key is wrong"),
        ),
        ("signature-missing", "without X-Signature", signature, signed, _varied(subject, change=_without(_SIGNATURE))),
        (
            "signature-wrong",
            "with a wrong X-Signature",
            signature,
            signed,
            _varied(subject, change=_wrong_signature, note="X-Signature is wrong"),
        ),
        ("signature-other-key", "signed with another key", signature, signed, partial(_other_key, subject=subject)),
        ("signature-other-bytes", "signed over other bytes", signature, signed, partial(_other_bytes, subject=subject)),
        (
            "request-id-missing",
            "without X-Request-Id",
            request_id,
            "advice",
            _varied(subject, change=_without("X-Request-Id")),
        ),
        (
            "request-id-invalid",
            "with an X-Request-Id that is no UUID",
            request_id,
            "advice",
            _varied(subject, change=_invalid_request_id),
        ),
    ]
    return [
        Check(f"{subject.name}.{name}", f"a call {what} is refused", paragraph, level, refused, run, path)
        for name, what, paragraph, level, run in rows
    ]


_SIGNATURE = "X-Signature"


def _varied(subject: Subject, **variation: Any) -> Run:
    def run(session: Session) -> Evidence:
        return require_refused(session, subject, session.send(subject, **variation))

    return run


def _without(name: str) -> Change:
    def change(headers: Headers) -> None:
        del headers[name]

    return change


def _invalid_request_id(headers: Headers) -> None:
    headers["X-Request-Id"] = "not-a-uuid"


def _wrong_signature(headers: Headers) -> None:
    """Well-formed base64 of the right length, but no signature."""
    signature = headers[_SIGNATURE]
    headers[_SIGNATURE] = signature[44:-4] + signature[:44] + signature[-4:]


def _other_key(session: Session, subject: Subject) -> Evidence:
    call = session.send(subject, key=session.other_key, note="signed with a key that is not the hub's")
    return require_refused(session, subject, call)


def _other_bytes(session: Session, subject: Subject) -> Evidence:
    """The signature is the hub's, but of the body with a line break at its end."""
    members = session.request(subject)
    body = jsontext.dumps(members).encode()
    call = session.send(subject, members, body=body, signed=body + b"\n", note="the signature is over other bytes")
    return require_refused(session, subject, call)


# -- for whom


def _token_checks(version: Version, subject: Subject) -> list[Check]:
    if subject.role == "revocation" or not subject.webhook.sends_token or subject.webhook.scope is None:
        return []
    header = AUTHENTICATION.format(header="X-Auth-Token")
    state = "Specification, States and transitions: consent token"
    rows: list[tuple[str, str, str, Run]] = [
        ("token-missing", "without X-Auth-Token", header, _varied(subject, token=None)),
        ("token-unknown", "with an unknown X-Auth-Token", header, _unknown_token(subject)),
        ("token-ended", "with the token of an ended consent", state, _ended_token(subject)),
        ("scope-not-approved", "with a token without its scope", RULES.format(section="Webhooks"), _narrow(subject)),
    ]
    refused, path = "The call is refused with an error: the PSU has not consented to it", subject.webhook.path
    found = [
        Check(
            f"{subject.name}.{name}",
            f"a call {what} is refused",
            stands,
            "mandatory",
            refused,
            run,
            subject.webhook.path,
        )
        for name, what, stands, run in rows
    ]
    code = f"The error has the code {' or '.join(sorted(version.answers.unknown_token))}, or status 401 without a code"
    found.append(
        Check(
            f"{subject.name}.token-code",
            "refuses a token with the code that has the PSU authorize again",
            RULES.format(section="Answers"),
            "advice",
            code,
            lambda session: _token_code(session, subject),
            path,
        )
    )
    return found


def _send_unknown(session: Session, subject: Subject) -> Call:
    return session.once(
        ("unknown token", subject.name),
        lambda: session.send(subject, token=new_credential(new_id())[0], note="X-Auth-Token is unknown"),
    )


def _unknown_token(subject: Subject) -> Run:
    return lambda session: require_refused(session, subject, _send_unknown(session, subject))


def _ended_token(subject: Subject) -> Run:
    def run(session: Session) -> Evidence:
        members = session.request(subject)
        return require_refused(
            session, subject, session.send(subject, members, token=session.ended_token(), note=_ENDED)
        )

    return run


def _narrow(subject: Subject) -> Run:
    def run(session: Session) -> Evidence:
        members = session.request(subject)
        scope = subject.webhook.scope
        if scope is not None and scope.name in session.scopes_of("narrow"):
            raise CheckSkipped(f"{scope} is the one scope of the consent with a single scope")
        return require_refused(
            session, subject, session.send(subject, members, token=session.token("narrow"), note=_NARROW)
        )

    return run


def _token_code(session: Session, subject: Subject) -> Evidence:
    call = _send_unknown(session, subject)
    form = answers.form_of(session.version, subject.webhook)
    found = refusal_of(session, subject, call, "token-unknown") or {}
    code = found.get(form.code)
    assert call.reply is not None
    is_known = str(code) in form.unknown_token if code else call.reply.status == 401
    return demand(is_known, call.evidence, "TPPs learn that the bank failed, not that the PSU must authorize again")
