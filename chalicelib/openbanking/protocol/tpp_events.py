"""What TPPs are told without asking: the events that are sent to a client's Events URL (Standard Webhooks).

An event is ``type``, ``timestamp`` (when it happened) and ``data``. A row of ``EVENTS`` names a type, the model of its
data, and when it is sent. Models describe; nothing is checked against them at work.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from chalicelib.foundation.fields.field_types import AN, Message, Timestamp
from chalicelib.openbanking.protocol.own_answers import ScopeName, StatusNumber
from chalicelib.openbanking.protocol.payment_enumerations import PAYMENT_ID
from chalicelib.openbanking.protocol.tpp_calls import ConsentType
from chalicelib.openbanking.protocol.tpp_event_types import EventType


class ConsentAuthorised(Message):
    """A PSU has given its consent at the bank."""

    consent_id: str
    bic: AN[11]
    state: AN[512] | None = None
    scopes: list[ScopeName]
    consent_type: ConsentType
    valid_until: Timestamp


class ConsentCancelled(Message):
    """A PSU came back from the bank without a consent."""

    bic: AN[11]
    state: AN[512] | None = None
    error: AN[64]
    error_description: AN[256]


class ConsentRevoked(Message):
    """A consent has ended, by whom: none of its tokens is accepted any more."""

    consent_id: str
    bic: AN[11]
    revoked_by: Literal["tpp", "bank", "operator", "service"]


class ConsentEnding(Message):
    """A consent is about to expire, or has expired."""

    consent_id: str
    bic: AN[11]
    valid_until: Timestamp


class PaymentStatusChanged(Message):
    """A bank has reported a new status: a number from a version 1 bank, an ISO 20022 code from a version 2 bank."""

    payment_id: AN[PAYMENT_ID]
    bic: AN[11]
    consent_id: str | None = None
    payment_status: StatusNumber | None = None
    transaction_status: AN[4] | None = None


class TestEvent(Message):
    """Sent on demand, to try an Events URL."""

    message: str


@dataclass(frozen=True, slots=True)
class EventRow:
    """One type of event: the model of its ``data``, and when it is sent."""

    data: type[Message]
    meaning: str


EVENTS: Mapping[EventType, EventRow] = {
    "consent.authorised": EventRow(ConsentAuthorised, "A PSU has given a consent that this client asked for."),
    "consent.cancelled": EventRow(ConsentCancelled, "A PSU came back from the bank without giving its consent."),
    "consent.revoked": EventRow(ConsentRevoked, "A consent has ended before its time, whoever ended it."),
    "consent.expiring": EventRow(ConsentEnding, "A consent ends in 7 days."),
    "consent.expired": EventRow(ConsentEnding, "A consent has reached its end."),
    "payment.status_changed": EventRow(PaymentStatusChanged, "A bank has reported a new status of a payment."),
    "test": EventRow(TestEvent, "Somebody wants to see whether events arrive."),
}
