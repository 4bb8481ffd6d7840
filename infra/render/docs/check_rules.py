"""Finds the page and section of docs/ that explain the rule of a check."""

from __future__ import annotations

from chalicelib.openbanking.protocol.version import Version
from infra.render.docs.apis import anchor

INTEGRATION = "concepts/bank-integration.md"
_INTEGRATION_RULE = "Bank integration: "
_WEBHOOK = "Specification, Service to bank, version "
_CALL = "Specification, Bank to service, version "
_SECTIONS = {
    "Specification, Authentication: X-Signature": "Signatures",
    "Specification, Authentication: ": "Headers",
    "Specification, Flows: authorization flow": "Consents",
    "Specification, Flows: payment flow": "Payments",
    "Specification, Service to bank: redirect after confirmation": "Payments",
    "Specification, States and transitions: consent token": "End of a consent",
    "Specification, States and transitions: payment flow": "Status reports",
    "Specification, Events: error response to a webhook": "Answers",
    "Specification, Errors: error response": "Answers",
}
"""The beginnings of rules in the specification, with the sections of ``INTEGRATION`` that explain these rules. The
first matching beginning applies.
"""


def section_of(rule: str, version: Version) -> str:
    """Return the page and anchor for a rule of a ``paragraph``, such as ``concepts/bank-integration.md#headers``."""
    reference = f"reference/bank-api-v{version}.md"
    path = rule.rpartition(": ")[2]
    if rule.startswith(_WEBHOOK):
        return f"{reference}#{anchor(path)}"
    if rule.startswith(_CALL):
        return f"{reference}#{anchor(f'POST {version.base}{path}')}"
    if rule.startswith(_INTEGRATION_RULE):
        return f"{INTEGRATION}#{anchor(path.partition(', ')[0])}"
    found = next((section for begin, section in _SECTIONS.items() if rule.startswith(begin)), None)
    return f"{INTEGRATION}#{anchor(found)}" if found else f"{reference}#webhooks-to-the-bank"
