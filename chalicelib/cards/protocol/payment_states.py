"""States of external payment addresses, payments and mandates, and the actions allowed in each state.

The service, the documentation and the tests all use these tables, as in ``states``. ``None`` means that the action is
allowed.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from chalicelib.cards.protocol.states import Rule
from chalicelib.cards.protocol.status_codes import Status

ADDRESS_STATES = {"A": "active", "S": "suspended", "B": "blocked (final)"}
MANDATE_STATES = {"A": "active", "C": "cancelled (final)"}
PAYMENT_STATES = {"P": "pending", "S": "settled", "J": "rejected", "R": "returned"}
PENDING, SETTLED, REJECTED, RETURNED = "P", "S", "J", "R"
LIVE, CANCELLED = "A", "C"

RESULTS = {"settled": SETTLED, "rejected": REJECTED, "returned": RETURNED}
"""The results that a provider reports for an outbound payment, and the resulting states."""
RESULT_RULES: Mapping[str, Mapping[str, Status | None]] = {
    "settled": {"P": None, "S": None, "J": Status.WRONG_STATE, "R": Status.ALREADY_RETURNED},
    "rejected": {"P": None, "S": Status.WRONG_STATE, "J": None, "R": Status.ALREADY_RETURNED},
    "returned": {"P": Status.WRONG_STATE, "S": None, "J": Status.WRONG_STATE, "R": None},
}
"""The rules for each reported result, keyed by the outbound payment's state. Repeating a result has no effect."""
RESULT_MEANINGS = {result: PAYMENT_STATES[state] for result, state in RESULTS.items()}

PaymentKind = Literal["out", "in", "debit", "return"]
PAYMENT_KINDS: Mapping[PaymentKind, str] = {
    "in": "payment in",
    "out": "payment out",
    "debit": "direct debit",
    "return": "return",
}

ADDRESS_RULES: Mapping[str, Rule] = {
    "changeExternalPaymentAddressStatus": {"A": None, "S": None, "B": Status.FINAL},
    "transferToExternalPayment": {"A": None, "S": Status.WRONG_STATE, "B": Status.WRONG_STATE},
    "simulateMandate": {"A": None, "S": Status.WRONG_STATE, "B": Status.WRONG_STATE},
}
"""The rules for each action, keyed by the address's state. Setting the current status again succeeds, except for status
B.
"""

MANDATE_RULES: Mapping[str, Rule] = {"cancelExternalPaymentMandate": {"A": None, "C": Status.ALREADY_CANCELLED}}
"""The rules for each action, keyed by the mandate's state."""


def _only_from(kind: PaymentKind, state: str) -> Mapping[tuple[PaymentKind, str], Status | None]:
    return {
        (each, letter): Status.ALREADY_RETURNED if letter == RETURNED else Status.WRONG_STATE
        for each in PAYMENT_KINDS
        for letter in PAYMENT_STATES
    } | {(kind, state): None}


PAYMENT_RULES: Mapping[str, Mapping[tuple[PaymentKind, str], Status | None]] = {
    "inboundReturn": _only_from("in", SETTLED),
    "directCreditReturn": _only_from("in", SETTLED),
    "directDebitReturn": _only_from("debit", SETTLED),
    "changeDDExternalPaymentStatus": _only_from("debit", PENDING),
    "simulateDirectDebit": _only_from("debit", PENDING),
}
"""The rules for each action, keyed by the payment's kind and state. The scheme determines whether an inbound payment is
a direct credit.
"""
