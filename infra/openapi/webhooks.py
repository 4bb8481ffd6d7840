"""The events of the documents: headers, envelope and responses (Standard Webhooks)."""

from __future__ import annotations

from collections.abc import Mapping

from infra.openapi.document import body, header, json_content
from infra.openapi.schemas import Json

HAPPENED = "2026-11-21T09:30:00+00:00"
_TIMESTAMP = {"type": "string", "format": "date-time", "description": "When it happened", "examples": [HAPPENED]}
_SIGNATURES = r"^v1,[A-Za-z0-9+/]{43}=( v1,[A-Za-z0-9+/]{43}=)*$"
_RESPONSES: Mapping[str, Json] = {
    "2XX": {"description": "It has arrived. Answer as soon as the event is stored: what it means can be done later."},
    "410": {"description": "This event is not wanted; it is not sent again."},
    "default": {
        "description": "It is sent again, the last time about three days later: after any other status, a redirect "
        "too, and after no answer in 20 seconds. `Retry-After` is honoured within twice the usual wait."
    },
}


def parameters() -> Mapping[str, Json]:
    """The headers of an event."""
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


def example(event: str, data: Json) -> Json:
    """The body of an event."""
    return {"type": event, "timestamp": HAPPENED, "data": data}


def operation(
    event: str, meaning: str, data: Json, shown: Mapping[str, tuple[str, Json]], *, tag: str, receiver: str
) -> Json:
    """The operation for an event type, from the schema of its data and titled examples of whole bodies."""
    schema = {
        "type": "object",
        "description": meaning,
        "properties": {
            "type": {"const": event, "description": "What has happened"},
            "timestamp": _TIMESTAMP,
            "data": data | {"description": "What it is about"},
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
        "requestBody": body(json_content(schema, shown)),
        "responses": dict(_RESPONSES),
    }
