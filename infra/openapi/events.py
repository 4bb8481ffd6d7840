"""The webhooks of the TPP-facing document: the events that a client's Events URL receives."""

from __future__ import annotations

from collections.abc import Mapping

from chalicelib.openbanking.protocol.tpp_event_types import EventType
from chalicelib.openbanking.protocol.tpp_events import EVENTS, EventRow
from infra.openapi import models
from infra.openapi.schemas import Json, Schemas
from infra.openapi.webhooks import example, operation

TAG = ("Events", "What the service tells a client at its Events URL, without being asked.")
_FORMS: Mapping[EventType, Mapping[str, tuple[str, frozenset[str]]]] = {
    "payment.status_changed": {
        "version_1": ("A payment at a bank of version 1", frozenset({"transaction_status"})),
        "version_2": ("A payment at a bank of version 2", frozenset({"payment_status"})),
        "direct": ("A direct payment at a bank of version 2", frozenset({"payment_status", "consent_id"})),
    }
}
"""The events that have several forms: what each form does without."""


def webhooks(schemas: Schemas) -> Mapping[str, Json]:
    """One operation for each type of event."""
    return {name: {"post": _webhook(name, row, schemas)} for name, row in EVENTS.items()}


def _webhook(name: EventType, row: EventRow, schemas: Schemas) -> Json:
    forms = _FORMS.get(name, {"usual": ("Usual", frozenset())})
    shown = {form: (title, _event(name, row, without)) for form, (title, without) in forms.items()}
    data = schemas.ref(row.data, way="sent")
    return operation(name, row.meaning, data, shown, tag=TAG[0], receiver="client")


def _event(name: EventType, row: EventRow, without: frozenset[str]) -> Json:
    data = models.example(row.data)
    return example(name, {member: value for member, value in data.items() if member not in without})
