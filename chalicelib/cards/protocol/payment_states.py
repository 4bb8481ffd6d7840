"""States of external payment addresses, payments and mandates, and the actions allowed in each.

As in ``states``, the service, the documentation and the tests share these tables. ``None`` means allowed.
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
"""The results that a provider reports for a payment out, and the resulting states."""
RESULT_RULES: Mapping[str, Mapping[str, Status | None]] = {
    "settled": {"P": None, "S": None, "J": Status.WRONG_STATE, "R": Status.ALREADY_RETURNED},
    "rejected": {"P": None, "S": Status.WRONG_STATE, "J": None, "R": Status.ALREADY_RETURNED},
    "returned": {"P": Status.WRONG_STATE, "S": None, "J": Status.WRONG_STATE, "R": None},
}
"""By result, then by the state of the payment out. Repeating a result changes nothing."""
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
"""By action, then by the address's state. Setting the current status again succeeds, except for B."""

MANDATE_RULES: Mapping[str, Rule] = {"cancelExternalPaymentMandate": {"A": None, "C": Status.ALREADY_CANCELLED}}
"""By action, then by the mandate's state."""


def _only_from(kind: PaymentKind, state: str) -> Mapping[tuple[PaymentKind, str], Status | None]:
    """A rule that allows one kind of payment in one state. Returned payments get an error code of their own."""
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
"""By action, then by the payment's kind and state. The scheme determines which payments in are direct credits."""
