"""Events to TPPs, sent to a client's Events URL (Standard Webhooks), or fetched by the client.

An event has ``type``, ``timestamp`` (the time of the event) and ``data``, whose type is declared in this module.
Members without a value are omitted.
"""

from __future__ import annotations

from typing import NotRequired, TypedDict

from chalicelib.openbanking.protocol.bank_identifiers import LONGEST_PAYMENT_ID
from chalicelib.openbanking.protocol.fields import AN, Timestamp
from chalicelib.openbanking.protocol.listed_names import ScopeName, UnifiedScopeName
from chalicelib.openbanking.protocol.own_answers import StatusNumber
from chalicelib.openbanking.protocol.payment_statuses import UnifiedStatus
from chalicelib.openbanking.protocol.tpp_calls import ConsentType, EndedBy

EXPIRING_SECONDS = 7 * 24 * 3600
"""The number of seconds before a consent's expiry at which ``consent.expiring`` is sent."""


class ConsentAuthorised(TypedDict):
    """A PSU has given consent at the bank."""

    consent_id: str
    """The consent's identifier. Example: ``"5f8d0c1e9b7a463f2d1c0b"``."""
    bic: AN[11]
    """The bank's BIC; a BIC of 8 characters denotes the head office. Example: ``"DEMODEF1"``."""
    state: NotRequired[AN[512]]
    """The ``state`` of the authorization request. Example: ``"lVZ1uF2wC8mJr0d6oKxq3A"``."""
    scopes: list[ScopeName]
    """The scopes that the PSU approved. Example: ``["accounts"]``."""
    unified_scopes: NotRequired[list[UnifiedScopeName]]
    """The unified scopes that the consent includes entirely; may be empty. Absent from events that were recorded before
    unified scopes existed. Example: ``["accounts:read"]``.
    """
    consent_type: ConsentType
    """Whether the consent is reusable; ``one_time`` is allowed with payment scopes only."""
    valid_until: Timestamp
    """The time at which the consent and all its tokens expire. Example: ``"2027-05-20T09:30:00+00:00"``."""


class ConsentCancelled(TypedDict):
    """A PSU has returned from the bank without giving consent."""

    bic: AN[11]
    state: NotRequired[AN[512]]
    error: AN[64]
    """The reason why no consent was given: ``access_denied`` unless the bank specifies another.
    Example: ``"access_denied"``.
    """
    error_description: AN[256]
    """A human-readable reason why no consent was given. Example: ``"The customer declined"``."""


class ConsentRevoked(TypedDict):
    """A consent was revoked by the party in `revoked_by`; the consent's tokens are no longer accepted."""

    consent_id: str
    bic: AN[11]
    revoked_by: EndedBy
    """The party that revoked the consent; ``service`` after the misuse of a code or refresh token. Example: ``"bank"``.
    """


class ConsentEnding(TypedDict):
    """A consent is about to expire, or has expired."""

    consent_id: str
    bic: AN[11]
    valid_until: Timestamp
    """The time at which the consent expires. Example: ``"2026-11-28T09:30:00+00:00"``."""


class PaymentStatusChanged(TypedDict):
    """A bank has reported a new status: a number for a version 1 bank, an ISO 20022 code for a version 2 bank."""

    payment_id: AN[LONGEST_PAYMENT_ID]
    """The payment's identifier at the bank. Example: ``"P2026112100017"``."""
    bic: AN[11]
    consent_id: NotRequired[str | None]
    """The consent of the payment; absent for a direct payment."""
    payment_status: NotRequired[StatusNumber]
    """The payment's status at a version 1 bank. Example: ``4``."""
    transaction_status: NotRequired[AN[4]]
    """The payment's status at a version 2 bank. Example: ``"ACSC"``."""
    status: UnifiedStatus
    """The payment's status in the unified API. Example: ``"executed"``."""
    is_final: bool
    """Whether the status is final; ``executed`` may still become ``settled``. Example: ``true``."""


class TestEvent(TypedDict):
    """An event that is sent on request, to test an Events URL."""

    message: str
    """The text of the test message. Example: ``"This is a test."``."""


EventData = ConsentAuthorised | ConsentCancelled | ConsentRevoked | ConsentEnding | PaymentStatusChanged | TestEvent
