"""Assertions that several checks use: whether a bank refused a call, and in which format."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from chalicelib.foundation.identifiers import new_credential
from chalicelib.openbanking.protocol.version import Version
from infra.conformance import answers
from infra.conformance.caller import Call, Headers
from infra.conformance.check import Check, Level
from infra.conformance.evidence import CheckBlocked, CheckFailed, Evidence
from infra.conformance.session import Session
from infra.conformance.subjects import Subject

SERVER_ERROR = 500
_SHOWN = 10
RunOnSubject = Callable[[Session, Subject], Evidence]


def require_refused(session: Session, subject: Subject, call: Call) -> Evidence:
    """Require that the bank refused a call. Raises: CheckFailed."""
    if call.reply is None:
        raise CheckFailed(call.evidence, "there is no response; a refusal is expected")
    if not answers.is_refusal(session.version, subject.webhook, call.reply):
        raise CheckFailed(call.evidence, "the bank accepted the call")
    return call.evidence


def require_answer(session: Session, subject: Subject, call: Call) -> Mapping[str, Any]:
    """Return the members of the response to an additional valid request. Raises: CheckFailed, if the response is
    unusable.
    """
    if call.reply is None:
        raise CheckFailed(call.evidence, "there is no response")
    reading = answers.read(session.version, subject.webhook, call.members, call.reply)
    if reading.faults:
        raise CheckFailed(call.evidence, "; ".join(reading.faults))
    return reading.members


def refusal_of(session: Session, subject: Subject, call: Call, refused_by: str) -> Mapping[str, Any] | None:
    """Return the members of a refusal; ``None`` if the refusal is not a JSON object.

    Args:
        refused_by: the name of the webhook's check that fails if the bank does not refuse the call.

    Raises:
        CheckBlocked: the bank did not refuse the call.
    """
    if call.reply is None or not answers.is_refusal(session.version, subject.webhook, call.reply):
        raise CheckBlocked(
            f"the bank refused nothing, so there is no error to look at: see {subject.name}.{refused_by}"
        )
    return answers.read_object(call.reply)


def demand(holds: bool, evidence: Evidence, problem: str) -> Evidence:
    """Require that a condition holds. Raises: CheckFailed."""
    if not holds:
        raise CheckFailed(evidence, problem)
    return evidence


def join_first(findings: Sequence[str], separator: str = ", ") -> str:
    """Return the first ten findings, joined."""
    return separator.join(findings[:_SHOWN])


def service_to_bank(version: Version, path: str) -> str:
    """Return the paragraph of the specification that describes a webhook."""
    return f"Specification, Service to bank, version {version}: {path}"


AUTHENTICATION = "Specification, Authentication: {header}"
RULES = "Bank integration: {section}"


def row(
    subject: Subject, name: str, rule: str, paragraph: str, level: Level, expected: str, run: RunOnSubject
) -> Check:
    """Create a check of a webhook."""
    return Check(
        f"{subject.name}.{name}",
        rule,
        paragraph,
        level,
        expected,
        lambda session: run(session, subject),
        subject.webhook.path,
    )


def wrong_key(headers: Headers) -> None:
    """Replace the API key of a call with an invalid key."""
    headers["X-Api-Key"] = new_credential("WRONGKEY")[0]
