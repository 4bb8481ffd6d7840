"""Builds the document for generators from an exact document."""

from __future__ import annotations

from collections.abc import Iterator

from pydantic.alias_generators import to_pascal

from infra.render.openapi.generators.components import SCHEMAS, Components
from infra.render.openapi.generators.members import Sender
from infra.render.openapi.generators.method_names import method_name
from infra.render.openapi.schemas import Json

_PREFACE = """\
This is the contract for code generators, in OpenAPI 3.0. What a caller may send is narrower than in the exact document,
which the same URL without `for` returns: a number that may be a string is a string, a value that may be a list is a
list, an optional member is never null, and alternatives exclude each other. Calls that the service makes have the
receiver's server. The fragment of a path tells actions apart; clients do not send it.
"""
_JSON = "application/json"
_BANK = {"url": "https://bank.example.com", "description": "The bank"}
_RECEIVER = {"url": "https://receiver.example.com", "description": "Your Events URL, which may have another path"}
_UNKNOWN = ("mutualTLS",)
"""The types of security schemes that OpenAPI 3.0 lacks."""


def simplify(exact: Json) -> Json:
    """Return the document for generators."""
    schemes = exact["components"].get("securitySchemes", {})
    kept = {name: scheme for name, scheme in schemes.items() if scheme["type"] not in _UNKNOWN}
    components = Components(exact["components"])
    paths: Json = {}
    for path, methods in _Operations(exact, components, kept).build():
        paths.setdefault(path, {}).update(methods)
    return {
        "openapi": "3.0.3",
        "info": _info(exact["info"]),
        "servers": exact["servers"],
        "tags": exact["tags"],
        "paths": paths,
        "components": {**({"securitySchemes": kept} if kept else {}), **components.build()},
    }


def _info(exact: Json) -> Json:
    about, _, _ = exact["description"].partition("\n\n")
    kept = {name: exact[name] for name in ("title", "version", "contact")}
    return {**kept, "description": f"{about}\n\n{_PREFACE}", "license": {"name": exact["license"]["name"]}}


class _Operations:
    def __init__(self, exact: Json, components: Components, schemes: Json) -> None:
        self._exact = exact
        self._components = components
        self._schemes = schemes
        self._of_banks = "bankKey" in schemes

    def build(self) -> Iterator[tuple[str, Json]]:
        """Yield paths with operations. A path occurs once for each method."""
        for path, methods in self._exact["paths"].items():
            for method, operation in methods.items():
                for fragment, each in self._actions(operation):
                    yield path + fragment, {method: self._operation(each, "caller", "service")}
        webhooks = {name: methods["post"] for name, methods in self._exact["webhooks"].items()}
        if self._of_banks:
            for name, operation in webhooks.items():
                yield f"/{name}", {"servers": [_BANK], "post": self._operation(operation, "service", "caller")}
        else:
            yield "/events", {"servers": [_RECEIVER], "post": self._event(list(webhooks.values()))}

    # -- internals

    def _actions(self, operation: Json) -> Iterator[tuple[str, Json]]:
        """Yield an exact operation for each card action, with the fragment of its path, or the operation itself."""
        content = operation.get("requestBody", {}).get("content", {}).get(_JSON, {})
        if "discriminator" not in content.get("schema", {}):
            yield "", operation
            return
        for name, reference in content["schema"]["discriminator"]["mapping"].items():
            request = reference.removeprefix(SCHEMAS)
            summary, _, rules = self._exact["components"]["schemas"][request]["description"].partition("\n\n")
            yield (
                f"#{name}",
                {
                    **operation,
                    "operationId": name,
                    "summary": summary.removesuffix("."),
                    "description": rules,
                    "requestBody": {"required": True, "content": _content({"$ref": reference})},
                    "responses": {"200": _action_response(operation["responses"]["200"], request)},
                },
            )

    def _operation(self, exact: Json, request: Sender, response: Sender) -> Json:
        made = {
            **exact,
            "operationId": method_name(exact["operationId"], of_banks=self._of_banks),
            "security": [each for each in exact["security"] if each.keys() <= self._schemes.keys()],
            "parameters": [self._components.parameter(each) for each in exact["parameters"]],
            "responses": {status: self._holder(each, response) for status, each in exact["responses"].items()},
        }
        return made | ({"requestBody": self._holder(exact["requestBody"], request)} if "requestBody" in exact else {})

    def _holder(self, exact: Json, sender: Sender) -> Json:
        """Return a body or a response. Of several media types, the first remains."""
        made = dict(exact)
        if "headers" in exact:
            made["headers"] = {name: self._components.header(each) for name, each in exact["headers"].items()}
        if "content" in exact:
            kind, content = next(iter(exact["content"].items()))
            made["content"] = {kind: {"schema": self._components.schema(content["schema"], sender)}}
        return made

    def _event(self, exact: list[Json]) -> Json:
        """Return the operation of the receiver of all events."""
        union = _union("type", dict(map(self._event_reference, exact)))
        made = self._operation(exact[0], "service", "caller")
        body = {"required": True, "content": _content(self._components.add("Event", union))}
        return made | {"operationId": "receive_event", "summary": "Receive an event", "requestBody": body}

    def _event_reference(self, operation: Json) -> tuple[str, Json]:
        schema = operation["requestBody"]["content"][_JSON]["schema"]
        name = schema["properties"]["type"]["const"]
        title = to_pascal(name.replace(".", "_"))
        return name, self._components.add(f"{title}Notification", self._components.schema(schema, "service"))


def _action_response(exact: Json, request: str) -> Json:
    """Return the exact response to an action as a union of success and error."""
    names = {"success": f"{request.removesuffix('Request')}Response", "error": "ErrorResponse"}
    union = _union("status", {status: {"$ref": f"{SCHEMAS}{name}"} for status, name in names.items()})
    return {**exact, "description": "Success or an error, depending on `status`.", "content": _content(union)}


def _union(member: str, references: Json) -> Json:
    mapping = {value: each["$ref"] for value, each in references.items()}
    return {"oneOf": [*references.values()], "discriminator": {"propertyName": member, "mapping": mapping}}


def _content(schema: Json) -> Json:
    return {_JSON: {"schema": schema}}
