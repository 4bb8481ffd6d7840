"""The webhooks of the TPP-facing document: the events that a client's Events URL receives (Standard Webhooks)."""

from __future__ import annotations

from collections.abc import Mapping

from chalicelib.openbanking.protocol.event_types import EventType
from chalicelib.openbanking.protocol.events import EVENTS, EventRow
from infra.openapi.document import body, header, json_content
from infra.openapi.models import example
from infra.openapi.schemas import Json, Schemas

TAG = ("Events", "What the service tells a client at its Events URL, without being asked.")
_TIMESTAMP = {
    "type": "string",
    "format": "date-time",
    "description": "When it happened",
    "examples": ["2026-11-21T09:30:00+00:00"],
}
_SIGNATURES = r"^v1,[A-Za-z0-9+/]{43}=( v1,[A-Za-z0-9+/]{43}=)*$"
_RESPONSES: Mapping[str, Json] = {
    "2XX": {"description": "It has arrived. Answer as soon as the event is stored: what it means can be done later."},
    "410": {"description": "This event is not wanted; it is not sent again."},
    "default": {
        "description": "It is sent again, the last time about three days later: after any other status, a redirect "
        "too, and after no answer in 20 seconds. `Retry-After` is honoured within twice the usual wait."
    },
}
_FORMS: Mapping[EventType, Mapping[str, tuple[str, frozenset[str]]]] = {
    "payment.status_changed": {
        "version_1": ("A payment at a bank of version 1", frozenset({"transaction_status"})),
        "version_2": ("A payment at a bank of version 2", frozenset({"payment_status"})),
        "direct": ("A direct payment at a bank of version 2", frozenset({"payment_status", "consent_id"})),
    }
}
"""The events that have several forms: what each form does without."""


def parameters() -> Mapping[str, Json]:
    """The headers that an event comes with."""
    return {
        "WebhookId": header(
            "webhook-id",
            "The event's identifier, the same when it is sent again",
            {"type": "string", "minLength": 1, "maxLength": 64},
            "d24c7a9be0513f86a1c45d",
            required=True,
        ),
        "WebhookTimestamp": header(
            "webhook-timestamp",
            "When it was sent this time, in Unix seconds",
            {"type": "string", "pattern": "^[0-9]+$"},
            "1795253400",
            required=True,
        ),
        "WebhookSignature": header(
            "webhook-signature",
            "`v1,` and the base64 of the HMAC-SHA256 of `<webhook-id>.<webhook-timestamp>.<body>`; a second one, after "
            "a space, while the secret is being replaced",
            {"type": "string", "pattern": _SIGNATURES},
            "v1,K5oZfzN95Z9UVu1EsfQmfVNQhnkZ2pj9o9NDN/H/pI4=",
            required=True,
        ),
    }


def webhooks(schemas: Schemas) -> Mapping[str, Json]:
    """One operation for each type of event."""
    return {name: {"post": _webhook(name, row, schemas)} for name, row in EVENTS.items()}


def _webhook(name: EventType, row: EventRow, schemas: Schemas) -> Json:
    schema = {
        "type": "object",
        "description": row.meaning,
        "properties": {
            "type": {"const": name, "description": "What has happened"},
            "timestamp": _TIMESTAMP,
            "data": schemas.ref(row.data, way="sent") | {"description": "What it is about"},
        },
        "required": ["type", "timestamp", "data"],
    }
    forms = _FORMS.get(name, {"usual": ("Usual", frozenset())})
    shown = {form: (title, _event(name, row, without)) for form, (title, without) in forms.items()}
    return {
        "operationId": f"event_{name.replace('.', '_')}",
        "tags": [TAG[0]],
        "summary": row.meaning.removesuffix("."),
        "description": "Sent to the client's Events URL, signed per Standard Webhooks.",
        "security": [],
        "parameters": [{"$ref": f"#/components/parameters/{each}"} for each in parameters()],
        "requestBody": body(json_content(schema, shown)),
        "responses": dict(_RESPONSES),
    }


def _event(name: EventType, row: EventRow, without: frozenset[str]) -> Json:
    data = {member: value for member, value in example(row.data).items() if member not in without}
    return {"type": name, "timestamp": _TIMESTAMP["examples"][0], "data": data}
