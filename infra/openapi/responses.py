"""Responses of calls: success, and every refusal with its status, code and example.

The refusals are put through the function that answers them at work, so that status, body and headers are its own.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from chalicelib.openbanking.api import answers
from chalicelib.openbanking.protocol import errors, own_answers, v1
from chalicelib.openbanking.protocol.versions import error_form
from infra.openapi.models import meaning, model_of
from infra.openapi.refusal_cases import Case
from infra.openapi.schemas import Json, Schemas

_TIME = 1795253400  # 2026-11-21T09:30:00+00:00
_EXAMPLE_ID = meaning(model_of(errors.Error), "request_id")[1]
_TOKEN_ROUTES = ("/tpp/token", "/tpp/token/revoke")
_STATUS_WORDS = {
    400: "The request is wrong.",
    401: "It is not known who calls, or what is called.",
    403: "It is not allowed.",
    404: "It is not known.",
    409: "It was done before, or is being done.",
    500: "The service failed.",
    502: "The other side failed.",
}

HEADERS: Mapping[str, Json] = {
    "X-Request-Id": {
        "required": True,
        "description": "The request's id: the caller's own, or the one that was made for it",
        "schema": {"type": "string", "format": "uuid"},
        "example": _EXAMPLE_ID,
    },
    "Server-Timing": {
        "required": True,
        "description": "Milliseconds: the service's own as `hub`, and the bank's as `bank` where one was asked",
        "schema": {"type": "string", "pattern": "^(bank;dur=[0-9.]+, )?hub;dur=[0-9.]+$"},
        "example": "bank;dur=84.2, hub;dur=6.1",
    },
    "WWW-Authenticate": {
        "description": "Which credential is missing or not valid, where that is the reason",
        "schema": {"type": "string"},
        "example": 'Bearer realm="causeway", error="invalid_token"',
    },
    "Retry-After": {
        "description": "Seconds after which the same request may succeed, where it may",
        "schema": {"type": "string", "pattern": "^[0-9]+$"},
        "example": "1",
    },
    "Location": {
        "required": True,
        "description": "Where the browser goes on",
        "schema": {"type": "string", "format": "uri"},
        "example": "https://tpp.example.com/callback?error=access_denied",
    },
    "Accepted-At": {
        "required": True,
        "description": "Where the outcome can be read, below the service's own address",
        "schema": {"type": "string", "format": "uri-reference", "pattern": "^/"},
        "example": f"/tpp/requests/{meaning(model_of(own_answers.Accepted), 'request_id')[1]}",
    },
    "Preference-Applied": {
        "required": True,
        "description": "The preference that was followed (RFC 7240)",
        "schema": {"const": "respond-async"},
        "example": "respond-async",
    },
}
_ON_THE_WIRE = {"Accepted-At": "Location"}
"""Headers with another name among the components, since their name has two meanings."""


@dataclass
class Responses:
    """Makes the responses of one document, and collects their shared components."""

    schemas: Schemas
    examples: dict[str, Json] = field(default_factory=dict)
    headers: dict[str, Json] = field(default_factory=dict)

    def refusals(self, route: str, cases: Iterable[Case]) -> Json:
        """The responses to refused requests, by status."""
        answered: defaultdict[int, list[tuple[Case, Json, Mapping[str, Any]]]] = defaultdict(list)
        for case in cases:
            answer = answers.refusal_answer(route, case.refusal, _EXAMPLE_ID, _TIME)
            answered[answer.status_code].append((case, json.loads(answer.body), answer.headers))
        return {str(status): self._refusal(route, status, found) for status, found in sorted(answered.items())}

    def success(self, route: str, schema: Json, examples: Mapping[str, Json], description: str, *extra: str) -> Json:
        """The response to a request that succeeds."""
        return {
            "description": description,
            "headers": self._headers(route, *extra),
            "content": {"application/json": {"schema": schema, "examples": examples}},
        }

    def text(self, route: str, description: str, kind: str, example: str, *extra: str) -> Json:
        """A response of text."""
        content = {kind: {"schema": {"type": "string"}, "example": example}}
        return {"description": description, "headers": self._headers(route, *extra), "content": content}

    def redirect(self, route: str, description: str) -> Json:
        """See Other."""
        return {"description": description, "headers": self._headers(route, "Location")}

    def components(self) -> Json:
        """The shared components of the responses, and the schemas of the document."""
        return {
            "headers": dict(sorted(self.headers.items())),
            "examples": dict(sorted(self.examples.items())),
            "schemas": self.schemas.components(),
        }

    # -- inside

    def _refusal(self, route: str, status: int, found: list[tuple[Case, Json, Mapping[str, Any]]]) -> Json:
        member = "error_code" if _uses_version_1_errors(route) else "code"
        shape: type[Any] = errors.ErrorV1 if member == "error_code" else errors.Error
        model = model_of(errors.TokenError if route in _TOKEN_ROUTES else shape)
        codes = sorted({body[member] for _, body, _ in found})
        extra = [name for name in ("WWW-Authenticate", "Retry-After") if any(name in sent for *_, sent in found)]
        lines = [f"- `{_code(member, body)}`: {case.when}" for case, body, _ in found]
        schema = self.schemas.ref(model) | {"properties": {member: {"enum": codes}}}
        examples = {case.name: self._example(route, case, body) for case, body, _ in found}
        return {
            "description": "\n".join([_STATUS_WORDS[status], "", *dict.fromkeys(lines)]),
            "headers": self._headers(route, *extra),
            "content": {"application/json": {"schema": schema, "examples": examples}},
        }

    def _example(self, route: str, case: Case, body: Json) -> Json:
        prefix = "v1_" if _uses_version_1_errors(route) else "token_" if route in _TOKEN_ROUTES else ""
        name = f"{prefix}{case.name}"
        self.examples[name] = {"summary": case.when, "value": body}
        return {"$ref": f"#/components/examples/{name}"}

    def _headers(self, route: str, *extra: str) -> Json:
        names = ["X-Request-Id", *(["Server-Timing"] if route.startswith("/tpp/") else []), *extra]
        self.headers |= {name: HEADERS[name] for name in names}
        return {_ON_THE_WIRE.get(name, name): {"$ref": f"#/components/headers/{name}"} for name in names}


def _uses_version_1_errors(route: str) -> bool:
    return error_form(route) is v1.VERSION.errors


def _code(member: str, body: Json) -> str:
    additional = [error["code"] for error in body.get("additionalErrors", ())]
    return " / ".join(str(code) for code in dict.fromkeys([body[member], *additional]))
