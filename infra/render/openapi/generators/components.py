"""The components of a document for generators. Each is made when it is first referenced."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from infra.render.openapi.generators.alternatives import alternatives, conditions_of
from infra.render.openapi.generators.members import Sender, plain_header, simplify
from infra.render.openapi.schemas import Json

SCHEMAS = "#/components/schemas/"


class Components:
    """Simplifies the components of an exact document."""

    def __init__(self, exact: Json) -> None:
        self._exact = exact
        self._made: dict[str, Json] = {"parameters": {}, "headers": {}, "schemas": {}}

    def build(self) -> Json:
        """Return all referenced components."""
        return {kind: dict(sorted(made.items())) for kind, made in self._made.items() if made}

    def schema(self, exact: Json, sender: Sender) -> Json:
        """Return a schema of an operation."""
        found: Json = self._resolve(simplify(exact, sender), sender)
        return found

    def parameter(self, exact: Json) -> Json:
        """Return a parameter, or the reference to it."""
        if "$ref" in exact:
            return self._component("parameters", exact, self.parameter)
        schema = exact["schema"]
        made = plain_header(schema) if exact["in"] == "header" else self.schema(schema, "caller")
        return {**_without_examples(exact), "schema": made}

    def header(self, exact: Json) -> Json:
        """Return a response header, or the reference to it."""
        if "$ref" in exact:
            return self._component("headers", exact, self.header)
        return {**_without_examples(exact), "schema": {"type": "string"}}

    def add(self, name: str, schema: Json) -> Json:
        """Add a schema that the exact document does not name. Return the reference to it."""
        self._made["schemas"][name] = schema
        return {"$ref": f"{SCHEMAS}{name}"}

    # -- internals

    def _component(self, kind: str, reference: Json, make: Callable[[Json], Json]) -> Json:
        name = reference["$ref"].rpartition("/")[2]
        if name not in self._made[kind]:
            self._made[kind][name] = make(self._exact[kind][name])
        return reference

    def _resolve(self, value: Any, sender: Sender) -> Any:
        """Make all referenced schemas, and replace their names."""
        if isinstance(value, list):
            return [self._resolve(each, sender) for each in value]
        if not isinstance(value, dict):
            return value
        if isinstance(value.get("$ref"), str):
            return {"$ref": SCHEMAS + self._named(value["$ref"].removeprefix(SCHEMAS), sender)}
        return {key: self._resolve_inside(key, each, sender) for key, each in value.items()}

    def _resolve_inside(self, key: str, value: Any, sender: Sender) -> Any:
        if key != "mapping":
            return self._resolve(value, sender)
        return {name: self._resolve({"$ref": each}, sender)["$ref"] for name, each in value.items()}

    def _named(self, exact_name: str, sender: Sender) -> str:
        name = _name_of(exact_name)
        if name not in self._made["schemas"]:
            self._made["schemas"][name] = {}  # a schema may refer to itself
            self._make(name, self._exact["schemas"][exact_name], sender)
        return name

    def _make(self, name: str, exact: Json, sender: Sender) -> None:
        conditions = conditions_of(exact)
        plain = self.schema({key: value for key, value in exact.items() if key not in conditions}, sender)
        found = alternatives(name, plain, conditions) if conditions and sender == "caller" else {name: plain}
        self._made["schemas"] |= found
        if name not in found:
            references = [{"$ref": f"{SCHEMAS}{each}"} for each in found]
            self._made["schemas"][name] = {"description": plain["description"], "oneOf": references}


def _name_of(exact_name: str) -> str:
    """Return the name of a schema. Generators call their own types ``…Response``."""
    found = exact_name.removesuffix("Response")
    return exact_name if found == exact_name else f"{found}Answer"


def _without_examples(exact: Json) -> Json:
    return {key: value for key, value in exact.items() if key not in ("example", "examples")}
