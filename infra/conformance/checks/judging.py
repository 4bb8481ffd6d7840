"""What checks have in common: judging whether a bank refused a call, and in which form."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from chalicelib.openbanking.protocol.version import Version
from infra.conformance import answers
from infra.conformance.caller import Call
from infra.conformance.check import CheckFailed, CheckSkipped, Evidence
from infra.conformance.session import Session
from infra.conformance.subjects import Subject

SERVER_ERROR = 500


def require_refused(session: Session, subject: Subject, call: Call) -> Evidence:
    """Raises: CheckFailed: the bank did not refuse the call."""
    if call.reply is None:
        raise CheckFailed(call.evidence, "there is no response; a refusal is expected")
    if not answers.is_refusal(session.version, subject.webhook, call.reply):
        raise CheckFailed(call.evidence, "the bank accepted the call")
    return call.evidence


def refusal_of(session: Session, subject: Subject, call: Call) -> Mapping[str, Any] | None:
    """The members of a refusal; ``None`` if it is no JSON object.

    Raises:
        CheckSkipped: the bank did not refuse the call.
    """
    if call.reply is None or not answers.is_refusal(session.version, subject.webhook, call.reply):
        raise CheckSkipped("the bank refused nothing, so there is no error to look at")
    return answers.read_object(call.reply)


def demand(holds: bool, evidence: Evidence, problem: str) -> Evidence:
    """Raises: CheckFailed: the condition does not hold."""
    if not holds:
        raise CheckFailed(evidence, problem)
    return evidence


def service_to_bank(version: Version, path: str) -> str:
    """The paragraph of a webhook."""
    return f"Specification, Service to bank, version {version}: {path}"


AUTHENTICATION = "Specification, Authentication: {header}"
RULES = "Bank integration: {section}"
