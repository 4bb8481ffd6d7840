"""Events to TPPs, sent to a client's Events URL (Standard Webhooks), or fetched by the client.

An event has ``type``, ``timestamp`` (when it occurred) and ``data``, which is one of the types below. Members without a
value are omitted.
"""

from __future__ import annotations

from typing import NotRequired, TypedDict

from chalicelib.foundation.fields.field_types import AN, Timestamp
from chalicelib.openbanking.protocol.bank_identifiers import LONGEST_PAYMENT_ID
from chalicelib.openbanking.protocol.own_answers import ScopeName, StatusNumber
from chalicelib.openbanking.protocol.tpp_calls import ConsentType, EndedBy

EXPIRING_SECONDS = 7 * 24 * 3600
"""Seconds before a consent's expiry at which ``consent.expiring`` is sent."""


class ConsentAuthorised(TypedDict):
    """A PSU has given consent at the bank."""

    consent_id: str
    bic: AN[11]
    state: NotRequired[AN[512]]
    scopes: list[ScopeName]
    consent_type: ConsentType
    valid_until: Timestamp


class ConsentCancelled(TypedDict):
    """A PSU has returned from the bank without giving consent."""

    bic: AN[11]
    state: NotRequired[AN[512]]
    error: AN[64]
    error_description: AN[256]


class ConsentRevoked(TypedDict):
    """A consent was ended by `revoked_by`: its tokens are no longer accepted."""

    consent_id: str
    bic: AN[11]
    revoked_by: EndedBy


class ConsentEnding(TypedDict):
    """A consent is about to expire, or has expired."""

    consent_id: str
    bic: AN[11]
    valid_until: Timestamp


class PaymentStatusChanged(TypedDict):
    """A bank has reported a new status: a number for a version 1 bank, an ISO 20022 code for a version 2 bank."""

    payment_id: AN[LONGEST_PAYMENT_ID]
    bic: AN[11]
    consent_id: NotRequired[str | None]
    payment_status: NotRequired[StatusNumber]
    transaction_status: NotRequired[AN[4]]


class TestEvent(TypedDict):
    """Sent on request, to test an Events URL."""

    message: str


EventData = ConsentAuthorised | ConsentCancelled | ConsentRevoked | ConsentEnding | PaymentStatusChanged | TestEvent
