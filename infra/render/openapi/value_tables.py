"""The meanings of member values, for members with a fixed list of values."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from chalicelib.openbanking.protocol.payment_enumerations import SCHEME_MEANINGS
from chalicelib.openbanking.protocol.payment_statuses import CODES, NUMBERS, UNIFIED_MEANINGS
from chalicelib.openbanking.protocol.tpp_calls import ConsentState
from chalicelib.openbanking.protocol.v2_account_messages import BALANCE_TYPES

_STATES: Mapping[ConsentState, str] = {
    "authorised": "valid",
    "expired": "at its end",
    "revoked": "ended before that",
    "spent": "a one-time consent that was used for a payment, also after its end",
}

TABLES: Mapping[str, Mapping[Any, str]] = {
    "tpp_calls.ConsentsQuery.status": _STATES,
    "own_answers.ConsentEntry.status": _STATES,
    "own_answers.BankConsent.status": {**_STATES, "unknown": "not a consent at this bank, or not its token"},
    "payment_scheme": SCHEME_MEANINGS,
    "v2.Balance.balance_type": BALANCE_TYPES,
    "transaction_status": CODES.meanings,
    "v2.InitiationAnswer.status": CODES.meanings,
    "v1.PaymentRecord.status": NUMBERS.meanings,
    "own_answers.payment_status": NUMBERS.meanings,
    "tpp_events.payment_status": NUMBERS.meanings,
    "answers.UnifiedInitiation.status": UNIFIED_MEANINGS,
    "answers.UnifiedStatusEntry.status": UNIFIED_MEANINGS,
    "answers.UnifiedPaymentStatus.status": UNIFIED_MEANINGS,
    "tpp_events.PaymentStatusChanged.status": UNIFIED_MEANINGS,
    "bank_calls.PaymentsStatus.payment_status": NUMBERS.meanings,
    "bank_calls.PaymentsStatusV2.payment_status": CODES.meanings,
}
"""The meanings of each value of enumerated members. A key is a member name, optionally with the module and the class of
the member.
"""
