"""Builds the events of the documents: headers, envelope and responses (Standard Webhooks)."""

from __future__ import annotations

from collections.abc import Mapping

from infra.render.openapi.document import body, header, json_content
from infra.render.openapi.example_values import HAPPENED
from infra.render.openapi.schemas import Json

_TIMESTAMP = {"type": "string", "format": "date-time", "description": "When the event occurred", "examples": [HAPPENED]}
_SIGNATURES = r"^v1,[A-Za-z0-9+/]{43}=( v1,[A-Za-z0-9+/]{43}=)*$"
_RESPONSES: Mapping[str, Json] = {
    "2XX": {"description": "Delivered. Respond as soon as you have stored the event, and process it afterwards."},
    "410": {"description": "The event is not wanted and is not sent again."},
    "default": {
        "description": "The event is sent again, for the last time about three days later. Redirects and "
        "responses that take more than 20 seconds also count as failures. `Retry-After` is "
        "honoured up to twice the usual wait."
    },
}


def parameters() -> Mapping[str, Json]:
    """Return the headers of an event."""
    return {
        "WebhookId": header(
            "webhook-id",
            "The event's identifier, identical for every delivery attempt",
            {"type": "string", "minLength": 1, "maxLength": 64},
            "d24c7a9be0513f86a1c45d",
            required=True,
        ),
        "WebhookTimestamp": header(
            "webhook-timestamp",
            "When this attempt was sent, in Unix seconds",
            {"type": "string", "pattern": "^[0-9]+$"},
            "1795253400",
            required=True,
        ),
        "WebhookSignature": header(
            "webhook-signature",
            "`v1,` followed by the base64 of the HMAC-SHA256 of `<webhook-id>.<webhook-timestamp>.<body>`; during "
            "a secret rotation, a second signature follows after a space",
            {"type": "string", "pattern": _SIGNATURES},
            "v1,K5oZfzN95Z9UVu1EsfQmfVNQhnkZ2pj9o9NDN/H/pI4=",
            required=True,
        ),
    }


def example(event: str, data: Json) -> Json:
    """Return an example of an event's body."""
    return {"type": event, "timestamp": HAPPENED, "data": data}


def operation(
    event: str, meaning: str, data: Json, examples: Mapping[str, tuple[str, Json]], *, tag: str, receiver: str
) -> Json:
    """Return the operation for an event type. ``examples`` are titled examples of complete bodies."""
    schema = {
        "type": "object",
        "description": meaning,
        "properties": {
            "type": {"const": event, "description": "The event type"},
            "timestamp": _TIMESTAMP,
            "data": data | {"description": "The event data"},
        },
        "required": ["type", "timestamp", "data"],
    }
    return {
        "operationId": f"event_{event.replace('.', '_')}",
        "tags": [tag],
        "summary": meaning.removesuffix("."),
        "description": f"Sent to the {receiver}'s Events URL, signed per Standard Webhooks.",
        "security": [],
        "parameters": [{"$ref": f"#/components/parameters/{each}"} for each in parameters()],
        "requestBody": body(json_content(schema, examples)),
        "responses": dict(_RESPONSES),
    }
