"""Builds the responses of calls: the success response, and every refusal with status, code and example.

The status, body and headers of refusals are created with the function that the service uses at run time.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from chalicelib.openbanking.api import answers
from chalicelib.openbanking.protocol import errors, own_answers, v1_version
from chalicelib.openbanking.protocol.versions import errors_of
from infra.render.openapi.example_values import NONCE
from infra.render.openapi.models import member_example, model_of
from infra.render.openapi.refusal_cases import Case
from infra.render.openapi.schemas import Json, Schemas

_TIME = 1795253400  # 2026-11-21T09:30:00+00:00
_EXAMPLE_ID = member_example(model_of(errors.Error), "requestId")
_TOKEN_ROUTES = ("/tpp/token", "/tpp/token/revoke", "/oauth/par", "/oauth/introspect")
_STATUS_WORDS = {
    400: "The request is invalid.",
    401: "Authentication failed, or the call does not exist.",
    403: "The request is not allowed.",
    404: "The resource does not exist.",
    409: "The request conflicts with an earlier or a running one.",
    429: "Too many requests.",
    500: "The service failed.",
    502: "The bank failed.",
}

HEADERS: Mapping[str, Json] = {
    "X-Request-Id": {
        "required": True,
        "description": "The request's id in lower case: the caller's own, or a generated one",
        "schema": {"type": "string", "format": "uuid"},
        "example": _EXAMPLE_ID,
    },
    "Server-Timing": {
        "required": True,
        "description": "Durations in milliseconds: `hub` for the service itself, `bank` for the bank if it was called",
        "schema": {"type": "string", "pattern": "^(bank;dur=[0-9.]+, )?hub;dur=[0-9.]+$"},
        "example": "bank;dur=84.2, hub;dur=6.1",
    },
    "WWW-Authenticate": {
        "description": "The credential that is missing or not valid, or that the call takes",
        "schema": {"type": "string"},
        "example": 'Bearer realm="causeway", error="invalid_token"',
    },
    "DPoP-Nonce": {
        "description": "A nonce for the next DPoP proof, on every response to a request with `DPoP` (RFC 9449)",
        "schema": {"type": "string"},
        "example": NONCE,
    },
    "Retry-After": {
        "description": "Seconds after which the same request may succeed; present only if it may",
        "schema": {"type": "string", "pattern": "^[0-9]+$"},
        "example": "1",
    },
    "Location": {
        "required": True,
        "description": "The URL to which the browser is redirected",
        "schema": {"type": "string", "format": "uri"},
        "example": "https://tpp.example.com/callback?error=access_denied",
    },
    "Accepted-At": {
        "required": True,
        "description": "The path of the outcome, relative to the service's URL",
        "schema": {"type": "string", "format": "uri-reference", "pattern": "^/"},
        "example": f"/tpp/requests/{member_example(model_of(own_answers.Accepted), 'request_id')}",
    },
    "Preference-Applied": {
        "required": True,
        "description": "The preference that was applied (RFC 7240)",
        "schema": {"const": "respond-async"},
        "example": "respond-async",
    },
}
_ON_THE_WIRE = {"Accepted-At": "Location"}
"""The HTTP header names of header components with a different name. The ``Location`` header has two components, because
the header has two meanings.
"""


@dataclass
class Responses:
    """Builds the responses of one document and collects their shared components."""

    schemas: Schemas
    examples: dict[str, Json] = field(default_factory=dict)
    headers: dict[str, Json] = field(default_factory=dict)

    def refusals(self, route: str, cases: Iterable[Case], *headers: str) -> Json:
        """Return the error responses by HTTP status. Every response may have the ``headers``."""
        answered: defaultdict[int, list[tuple[Case, Json, Mapping[str, Any]]]] = defaultdict(list)
        for case in cases:
            answer = answers.error_response(route, case.refusal, _EXAMPLE_ID, _TIME)
            answered[answer.status_code].append((case, json.loads(answer.body), answer.headers))
        return {str(status): self._refusal(route, status, found, headers) for status, found in sorted(answered.items())}

    def success(self, route: str, schema: Json, examples: Mapping[str, Json], description: str, *extra: str) -> Json:
        """Return a success response."""
        return {
            "description": description,
            "headers": self._headers(route, *extra),
            "content": {"application/json": {"schema": schema, "examples": examples}},
        }

    def text(self, route: str, description: str, kind: str, example: str, *extra: str) -> Json:
        """Return a text response."""
        content = {kind: {"schema": {"type": "string"}, "example": example}}
        return {"description": description, "headers": self._headers(route, *extra), "content": content}

    def redirect(self, route: str, description: str) -> Json:
        """Return a redirect response (303 See Other)."""
        return {"description": description, "headers": self._headers(route, "Location")}

    def components(self) -> Json:
        """Return the components that responses have in common, and the document's schemas."""
        return {
            "headers": dict(sorted(self.headers.items())),
            "examples": dict(sorted(self.examples.items())),
            "schemas": self.schemas.components(),
        }

    # -- internals

    def _refusal(
        self, route: str, status: int, found: list[tuple[Case, Json, Mapping[str, Any]]], headers: Sequence[str]
    ) -> Json:
        member = "error_code" if _uses_version_1_errors(route) else "code"
        shape: type[Any] = errors.ErrorV1 if member == "error_code" else errors.Error
        model = model_of(errors.TokenError if route in _TOKEN_ROUTES else shape)
        codes = sorted({body[member] for _, body, _ in found})
        extra = [name for name in ("WWW-Authenticate", "Retry-After") if any(name in sent for *_, sent in found)]
        lines = [f"- `{_code(member, body)}`: {case.when()}" for case, body, _ in found]
        schema = self.schemas.ref(model) | {"properties": {member: {"enum": codes}}}
        examples = {case.name: self._example(route, case, body) for case, body, _ in found}
        return {
            "description": "\n".join([_STATUS_WORDS[status], "", *dict.fromkeys(lines)]),
            "headers": self._headers(route, *extra, *headers),
            "content": {"application/json": {"schema": schema, "examples": examples}},
        }

    def _example(self, route: str, case: Case, body: Json) -> Json:
        prefix = "v1_" if _uses_version_1_errors(route) else "token_" if route in _TOKEN_ROUTES else ""
        name = f"{prefix}{case.name}"
        self.examples[name] = {"summary": case.when(), "value": body}
        return {"$ref": f"#/components/examples/{name}"}

    def _headers(self, route: str, *extra: str) -> Json:
        names = ["X-Request-Id", *(["Server-Timing"] if route.startswith("/tpp/") else []), *extra]
        self.headers |= {name: HEADERS[name] for name in names}
        return {_ON_THE_WIRE.get(name, name): {"$ref": f"#/components/headers/{name}"} for name in names}


def _uses_version_1_errors(route: str) -> bool:
    return errors_of(route) is v1_version.VERSION.errors


def _code(member: str, body: Json) -> str:
    additional = [error["code"] for error in body.get("additionalErrors", ())]
    return " / ".join(str(code) for code in dict.fromkeys([body[member], *additional]))
