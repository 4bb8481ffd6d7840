"""Checks of the authentication of every webhook: API key, signature, request id, and the consent of the token."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from chalicelib.foundation import jsontext
from chalicelib.foundation.identifiers import new_credential, new_id
from chalicelib.openbanking.protocol.version import Version
from infra.conformance import answers, spelling
from infra.conformance.caller import Call, Change, Headers
from infra.conformance.check import Check, Level
from infra.conformance.checks.judging import AUTHENTICATION, RULES, demand, refusal_of, require_refused, wrong_key
from infra.conformance.evidence import CheckSkipped, Evidence
from infra.conformance.session import Session
from infra.conformance.subjects import Subject

Run = Callable[[Session], Evidence]
_ENDED = "X-Auth-Token is of a consent that has ended"
_NARROW = "X-Auth-Token is of a consent without the scope"


def checks(version: Version, subject: Subject) -> list[Check]:
    """Return the authentication checks of a webhook."""
    return [*_authentication_checks(version, subject), *_token_checks(version, subject)]


# -- who calls


def _authentication_checks(version: Version, subject: Subject) -> list[Check]:
    signature = AUTHENTICATION.format(header="X-Signature")
    key, request_id = AUTHENTICATION.format(header="X-Api-Key"), AUTHENTICATION.format(header="X-Request-Id")
    signed: Level = "mandatory" if version.signature_required else "advice"
    refused, path = "The call is refused with an error", subject.webhook.path
    rows: list[_Row] = [
        ("key-missing", "without X-Api-Key", key, "mandatory", _varied(subject, change=_without("X-Api-Key"))),
        (
            "key-wrong",
            "with a wrong X-Api-Key",
            key,
            "mandatory",
            _varied(subject, change=wrong_key, note="X-Api-Key is wrong"),
        ),
        *_similar_keys(subject, key),
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
            "signature-other-spelling",
            "signed over the same JSON in another spelling",
            signature,
            signed,
            partial(_other_spelling, subject=subject),
        ),
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
_Row = tuple[str, str, str, Level, Run]
"""The definition of an authentication check: name, difference from a valid call, paragraph, level, and the check
function.
"""


def _similar_keys(subject: Subject, paragraph: str) -> list[_Row]:
    rows: list[tuple[str, str, Callable[[str], str]]] = [
        ("key-shortened", "with the beginning of the X-Api-Key", lambda key: key[:-1]),
        ("key-longer", "with an X-Api-Key that only begins with the right one", lambda key: f"{key}0"),
        ("key-other-case", "with the letters of the X-Api-Key in the other case", str.swapcase),
    ]
    return [(name, what, paragraph, "mandatory", _similar_key(subject, what, change)) for name, what, change in rows]


def _similar_key(subject: Subject, what: str, spell: Callable[[str], str]) -> Run:
    def change(headers: Headers) -> None:
        headers["X-Api-Key"] = spell(headers["X-Api-Key"])

    def run(session: Session) -> Evidence:
        if spell(session.bank.api_key) == session.bank.api_key:
            raise CheckSkipped("api_key has no letters")
        return require_refused(session, subject, session.send(subject, change=change, note=f"a call {what}"))

    return run


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
    """Replace the signature with invalid, well-formed base64 of the same length."""
    signature = headers[_SIGNATURE]
    headers[_SIGNATURE] = signature[44:-4] + signature[:44] + signature[-4:]


def _other_key(session: Session, subject: Subject) -> Evidence:
    call = session.send(subject, key=session.other_key, note="signed with a key that is not the hub's")
    return require_refused(session, subject, call)


def _other_bytes(session: Session, subject: Subject) -> Evidence:
    members = session.request(subject)
    body = jsontext.dumps(members).encode()
    call = session.send(subject, members, body=body, signed=body + b"\n", note="the signature is over other bytes")
    return require_refused(session, subject, call)


def _other_spelling(session: Session, subject: Subject) -> Evidence:
    members = session.request(subject)
    body, signed = spelling.respell(members), jsontext.dumps(members).encode()
    call = session.send(subject, members, body=body, signed=signed, note="the signature is over another spelling")
    return require_refused(session, subject, call)


# -- for whom


def _token_checks(version: Version, subject: Subject) -> list[Check]:
    if subject.role == "revocation" or not subject.webhook.sends_token or subject.webhook.scope is None:
        return []
    header = AUTHENTICATION.format(header="X-Auth-Token")
    state = "Specification, States and transitions: consent token"
    rows: list[tuple[str, str, str, Run]] = [
        ("token-missing", "without X-Auth-Token", header, _varied(subject, token=None)),
        (
            "token-unknown",
            "with an unknown X-Auth-Token",
            header,
            lambda session: require_refused(session, subject, _send_unknown(session, subject)),
        ),
        *_similar_tokens(subject, header),
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


def _similar_tokens(subject: Subject, paragraph: str) -> list[tuple[str, str, str, Run]]:
    rows: list[tuple[str, str, Callable[[str], str]]] = [
        (
            "token-other-secret",
            "with the id of the X-Auth-Token, before its dot, and another secret",
            lambda token: new_credential(token.partition(".")[0])[0],
        ),
        ("token-shortened", "with the beginning of the X-Auth-Token", lambda token: token[:-1]),
        ("token-other-case", "with the letters of the X-Auth-Token in the other case", str.swapcase),
    ]
    return [(name, what, paragraph, _similar_token(subject, what, change)) for name, what, change in rows]


def _similar_token(subject: Subject, what: str, spell: Callable[[str], str]) -> Run:
    def run(session: Session) -> Evidence:
        members, token = session.request(subject), spell(session.token())
        return require_refused(session, subject, session.send(subject, members, token=token, note=f"a call {what}"))

    return run


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
