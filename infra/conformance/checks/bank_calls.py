"""Checks of the bank's calls to the hub: headers, signature and members of every call in the protocol version."""

from __future__ import annotations

from collections.abc import Callable

from chalicelib.foundation.crypto import signature_hints
from chalicelib.foundation.crypto.signatures import describe_attempt, verify
from chalicelib.foundation.identifiers import read_uuid
from chalicelib.openbanking.protocol.bank_calls import BANK_CALLS, BankCall
from chalicelib.openbanking.protocol.errors import Fault
from chalicelib.openbanking.protocol.version import Version
from infra.conformance import causes
from infra.conformance.check import Check, Level
from infra.conformance.checks.judging import AUTHENTICATION, RULES
from infra.conformance.evidence import CheckBlocked, CheckFailed, CheckSkipped, Evidence
from infra.conformance.hub import content_type
from infra.conformance.hub_state import ReceivedCall
from infra.conformance.session import Session
from infra.conformance.subjects import subjects

Judge = Callable[[Session, ReceivedCall], str]
"""A function that checks a call from the bank and describes the fault. The text is empty if the call is correct."""
_UNRELATED = (Fault.UNKNOWN_TOKEN, Fault.PAYMENT_ID, Fault.URL_NOT_VALID)
"""Reasons for refusing a call that does not belong to this run, such as a report of an earlier run's payment."""
_CONTENT = (Fault.WRONG_SCOPES, Fault.SCOPES_NOT_CORRECT, Fault.ACCOUNTS_MISSING)
"""Reasons for refusing a call that are reported by the checks of the consent."""


def checks(version: Version) -> list[Check]:
    """Return the checks of every call that banks of the version make."""
    return [check for call in BANK_CALLS if call.name in version.calls for check in _checks_of(version, call)]


def _checks_of(version: Version, call: BankCall) -> list[Check]:
    path = f"{version.base}{call.path}"
    stands = f"Specification, Bank to service, version {version}: {call.path}"
    rows: list[tuple[str, str, str, Level, str, Judge]] = [
        (
            "key",
            "has the bank's API key",
            AUTHENTICATION.format(header="X-Api-Key"),
            "mandatory",
            "X-Api-Key is api_key of the file",
            _wrong_key,
        ),
        (
            "request-id",
            "has a UUID as X-Request-Id",
            AUTHENTICATION.format(header="X-Request-Id"),
            "mandatory",
            "X-Request-Id is a UUID with hyphens, and another one for another request; capitals are the same id",
            _wrong_request_id,
        ),
        (
            "signature",
            "is signed with the bank's key",
            AUTHENTICATION.format(header="X-Signature"),
            "mandatory",
            "X-Signature is the signature of exactly the body, by the private key of bank_public_key"
            + ("" if version.signature_required else "; it may be missing"),
            _wrong_signature,
        ),
        (
            "content-type",
            "has the content type application/json, or none",
            AUTHENTICATION.format(header="Content-Type"),
            "mandatory",
            "Content-Type is application/json or missing",
            _wrong_content_type,
        ),
        (
            "members",
            "has the members of the table",
            stands,
            "mandatory",
            "The body is a JSON object with exactly the members of the table",
            _wrong_members,
        ),
        (
            "accepted",
            "is accepted by the hub",
            RULES.format(section="Order of checks"),
            "mandatory",
            "The hub answers with success",
            _not_accepted,
        ),
    ]
    return [
        Check(f"bank-{call.name}.{name}", title, rule, level, expected, _runner(call, judge), path)
        for name, title, rule, level, expected, judge in rows
    ]


def _runner(call: BankCall, judge: Judge) -> Callable[[Session], Evidence]:
    def run(session: Session) -> Evidence:
        _cause(session, call.name)
        found = [each for each in session.hub.calls if each.name == call.name]
        if not found:
            raise _why_absent(session, call.name)
        for each in found:
            if problem := judge(session, each):
                raise CheckFailed(each.evidence, problem)
        if judge is _not_accepted:
            _require_accepted(found)
        return found[-1].evidence

    return run


_NOT_CAUSED = {
    "report_day": "the bank made no daily report during the run",
    "list_states": "the bank did not ask for the states of its consents during the run",
}
"""Calls that a bank makes on its own schedule and that the kit cannot trigger, with the reason for skipping their
checks.
"""
_CAUSED = {"initiate": "see consent.initiated", "revoke_token": "see end-at-bank.reported"}


def _why_absent(session: Session, name: str) -> CheckSkipped:
    if name in _NOT_CAUSED:
        return CheckSkipped(_NOT_CAUSED[name])
    if name == "save_consent":
        return CheckBlocked(session.no_consent("main"))
    return CheckBlocked(f"the bank did not make this call: {_CAUSED.get(name, 'see payment-single.confirmed-report')}")


def _require_accepted(calls: list[ReceivedCall]) -> None:
    """Require an accepted call. Raises: CheckBlocked: another check reports the fault, or no call was accepted."""
    none_accepted = all(call.refusal is not None for call in calls)
    for call in calls:
        matters = call.refusal is not None and (none_accepted or call.refusal.fault not in _UNRELATED)
        if matters and causes.failing_check(call) != f"bank-{call.name}.accepted":
            raise CheckBlocked(causes.refused(call))


def _cause(session: Session, name: str) -> None:
    if name in ("initiate", "save_consent"):
        session.attempt("main")
    if name == "revoke_token":
        session.end_at_bank()
    if name == "report_status" and not any(each.name == name for each in session.hub.calls):
        for subject in subjects(session).values():
            if subject.role == "payment" and subject.webhook.path not in session.bank.not_offered:
                session.await_report(session.played(subject, "confirm"))
                return
        raise CheckSkipped("not_offered has all payments")


def _wrong_key(session: Session, call: ReceivedCall) -> str:
    given = call.headers.get("x-api-key")
    return "" if given == session.bank.api_key else "X-Api-Key is missing" if given is None else "X-Api-Key is wrong"


def _wrong_request_id(session: Session, call: ReceivedCall) -> str:
    given = read_uuid(call.headers.get("x-request-id", ""))
    if given is None:
        return "X-Request-Id is missing or no UUID"
    others = (each for each in session.hub.calls if each.path == call.path and each.body != call.body)
    reused = any(read_uuid(each.headers.get("x-request-id", "")) == given for each in others)
    return "X-Request-Id was used with another body" if reused else ""


def _wrong_signature(session: Session, call: ReceivedCall) -> str:
    given = call.headers.get("x-signature")
    if given is None:
        return "X-Signature is missing" if session.version.signature_required else ""
    keys = [session.bank.bank_public_key]
    if verify(keys, call.body, given):
        return ""
    reason = signature_hints.explain(keys, call.body, given)
    return f"X-Signature is not valid: {reason}; {describe_attempt(keys, call.body)}"


def _wrong_content_type(session: Session, call: ReceivedCall) -> str:
    given = content_type(call.headers)
    return "" if given == "application/json" else f"Content-Type is {given}"


def _wrong_members(session: Session, call: ReceivedCall) -> str:
    if call.field_problem:
        return call.field_problem
    return "" if call.request is not None else "the body is not JSON"


def _not_accepted(session: Session, call: ReceivedCall) -> str:
    judges = (_wrong_key, _wrong_request_id, _wrong_signature, _wrong_content_type, _wrong_members)
    if call.refusal is None or any(judge(session, call) for judge in judges):
        return ""
    if call.refusal.fault in (*_UNRELATED, *_CONTENT):
        return ""
    return f"the hub refused: {call.refusal.message}"
