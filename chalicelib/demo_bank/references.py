"""Named test references: a payment that carries one fails in the way that its name says.

A version 1 payment carries it as ``reference`` (in bulk any payment's), a version 2 payment as
``remittance_information_unstructured`` or as the reference of ``remittance_information_structured``.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

Name = Literal["TEST-NO-FUNDS", "TEST-REFUSED", "TEST-TIMEOUT", "TEST-MALFORMED", "TEST-LATE-REJECT", "TEST-UNKNOWN"]


@dataclass(frozen=True, slots=True)
class SandboxReference:
    """One test reference: when it shows, and what happens."""

    name: Name
    when: Literal["at initiation", "after confirmation"]
    what: str


REFERENCES: tuple[SandboxReference, ...] = (
    SandboxReference(
        "TEST-NO-FUNDS", "at initiation", "The bank refuses: there is not enough money, whatever the balance is."
    ),
    SandboxReference("TEST-REFUSED", "at initiation", "The bank refuses with a code and a message of its own."),
    SandboxReference(
        "TEST-TIMEOUT",
        "at initiation",
        "The bank takes the payment and answers too late: the service gives up after 20 seconds.",
    ),
    SandboxReference(
        "TEST-MALFORMED", "at initiation", "The bank's answer is not of its form: all about the payment is missing."
    ),
    SandboxReference(
        "TEST-LATE-REJECT",
        "after confirmation",
        "20 seconds after the customer has confirmed, the payment is rejected and the money comes back.",
    ),
    SandboxReference(
        "TEST-UNKNOWN",
        "after confirmation",
        "The status is unknown (version 1) or pending (version 2) for 10 minutes; then the payment is settled.",
    ),
)

_BY_NAME = {reference.name: reference for reference in REFERENCES}


def find_reference(texts: Iterable[str | None]) -> str:
    """The first test reference among the texts that a payment carries; empty when there is none."""
    return next((name for text in texts if text and (name := text.strip().upper()) in _BY_NAME), "")
