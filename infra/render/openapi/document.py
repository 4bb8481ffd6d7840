"""The parts that all OpenAPI documents share."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from chalicelib.foundation.version import VERSION
from infra.render.openapi.example_values import OWN_ADDRESS
from infra.render.openapi.schemas import Json

UUID = {"type": "string", "format": "uuid"}


def document(
    title: str,
    introduction: str,
    *,
    summary: str = "",
    tags: Sequence[tuple[str, str]],
    paths: Mapping[str, Json],
    components: Json,
    webhooks: Mapping[str, Json] | None = None,
) -> Json:
    """Return a complete OpenAPI document."""
    return {
        "openapi": "3.1.1",
        "info": {
            "title": title,
            **({"summary": summary} if summary else {}),
            "version": VERSION,
            "description": introduction,
            "contact": {"name": "Causeway", "url": f"{OWN_ADDRESS}/docs"},
            "license": {"name": "Apache-2.0", "identifier": "Apache-2.0"},
        },
        "servers": [{"url": OWN_ADDRESS, "description": "This service"}],
        "tags": [{"name": name, "description": text} for name, text in tags],
        "paths": paths,
        **({"webhooks": webhooks} if webhooks else {}),
        "components": components,
    }


def header(name: str, description: str, schema: Json, example: str, *, required: bool = False) -> Json:
    """Return a request header."""
    return {
        "name": name,
        "in": "header",
        "required": required,
        "description": description,
        "schema": schema,
        "example": example,
    }


def body(content: Json) -> Json:
    return {"required": True, "content": content}


def json_content(schema: Json, examples: Mapping[str, tuple[str, Json]]) -> Json:
    """Return JSON content with titled examples."""
    entries = {name: {"summary": title, "value": value} for name, (title, value) in examples.items()}
    return {"application/json": {"schema": schema, "examples": entries}}


def form_content(schema: Json, examples: Mapping[str, tuple[str, Json]]) -> Json:
    """Return form content with titled examples. The examples are objects."""
    (content,) = json_content(schema, examples).values()
    return {"application/x-www-form-urlencoded": content}


ANY_REQUEST_ID = header(
    "X-Request-Id",
    "The request's id, a UUID; echoed, or made when it is absent or none",
    {"type": "string"},
    "fdfd4e95-a65f-44f4-8807-2ce2f6b89e89",
)
