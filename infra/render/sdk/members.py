"""Converts the types of schema members to Python types."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

Schema = Mapping[str, Any]

AMOUNTS = {"amount", "balance"}
"""Members that may be numbers or strings, and represent an amount of money."""
WHOLE = {"limit", "current_page", "status", "consentDuration", "paymentDuration"}
"""Members that may be numbers or strings, and represent an integer."""
IDENTIFIERS = {
    *("id", "card_number", "account_number", "receiver_account_number", "sort_code"),
    *("bban", "internal_account_id", "payment_id", "paymentId", "resource_id", "transaction_id"),
    *("account_ids", "accountIds", "account_numbers", "accountNumbers"),
}
"""Members that may be numbers or strings, and represent an identifier. They become strings, because all digits are
significant.
"""
SECRETS = {
    *("access_token", "refresh_token", "token", "authorization_code", "code_verifier"),
    *("accessToken", "access_tokens", "accessTokens"),
    *("client_secret", "client_assertion"),
}
"""Members that never appear in a ``repr``. ``code`` is one only where it is an authorization code."""
ADDED = {"unified_scopes", "PaymentStatusChanged.status", "PaymentStatusChanged.is_final"}
"""Members, of all or of one class, that hubs of version 1.0 do not send: optional here, so that the package works with
these hubs, and with events that they recorded.
"""
AMOUNT_TEXTS = {"value"}
"""Members that are texts, and mean a sum of money."""
TEXTS = {"date-time": "datetime.datetime", "date": "datetime.date"}


@dataclass(frozen=True)
class Member:
    """A field of a dataclass."""

    name: str
    wire_name: str
    annotation: str
    optional: bool
    constant: str | None
    secret: bool
    meaning: str


class Types:
    """Converts the schemas of one document to Python types."""

    def __init__(self, aliases: Mapping[tuple[Any, ...], str], requested: set[str]) -> None:
        self.aliases = aliases
        self.requested = requested

    def members(self, name: str, schema: Schema) -> list[Member]:
        """Return the fields of the dataclass ``name``, in the document's order."""
        required = {each for each in schema.get("required", ()) if not {each, f"{name}.{each}"} & ADDED}
        return [self._member(name, schema, wire, member, wire in required) for wire, member in members_of(schema)]

    def _member(self, owner: str, schema: Schema, wire: str, member: Schema, required: bool) -> Member:
        constant = repr(member["const"]) if required and "const" in member else None
        return Member(
            snake_case(wire),
            wire,
            self.annotation(wire, member, owner, optional=not required),
            not required,
            constant,
            wire in SECRETS or (wire == "code" and "grant_type" in schema["properties"]),
            meaning(member, limits=owner in self.requested),
        )

    def annotation(self, name: str, schema: Schema, owner: str, *, optional: bool = False) -> str:
        """Return the Python type of a member, for example ``str``, ``Decimal`` or ``tuple[AccountV1, ...] | None``."""
        inner = self._required_type(name, schema, owner)
        return f"{inner} | None" if (optional or nullable(schema)) and inner != "Any" else inner

    def _required_type(self, name: str, schema: Schema, owner: str) -> str:
        if "$ref" in schema:
            return str(schema["$ref"]).rsplit("/", 1)[-1]
        if "anyOf" in schema:
            options = [option for option in schema["anyOf"] if option.get("type") != "null"]
            return self._required_type(name, options[0], owner) if len(options) == 1 else "Any"
        if "const" in schema:
            return f"Literal[{schema['const']!r}]"
        if "enum" in schema:
            return self.choice(schema)
        kinds = [kind for kind in type_names(schema.get("type", ())) if kind != "null"]
        if kinds == ["array"]:
            item = self.annotation(name, schema["items"], owner)
            return f"Sequence[{item}]" if owner in self.requested else f"tuple[{item}, ...]"
        return self._scalar(name, kinds, schema)

    def choice(self, schema: Schema) -> str:
        """Return the name of an enumeration. For an enumeration without a name, return a ``Literal`` of its values."""
        values = choices(schema)
        return self.aliases.get(values) or f"Literal[{', '.join(map(repr, values))}]"

    @staticmethod
    def _scalar(name: str, kinds: list[str], schema: Schema) -> str:
        if len(kinds) == 2:
            return _number_or_text(name)
        if kinds == ["string"]:
            return "Decimal" if name in AMOUNT_TEXTS else TEXTS.get(schema.get("format", ""), "str")
        return {"integer": "int", "boolean": "bool", "object": "Mapping[str, Any]"}[kinds[0]] if kinds else "Any"


def choices(schema: Schema) -> tuple[Any, ...]:
    """Return the values of an enumeration without ``null``. A string is also omitted if the number it represents is a
    value.
    """
    numbers = {str(value) for value in schema["enum"] if isinstance(value, int)}
    return tuple(value for value in schema["enum"] if value is not None and value not in numbers)


def _number_or_text(name: str) -> str:
    for names, annotation in ((AMOUNTS, "Decimal"), (WHOLE, "int"), (IDENTIFIERS, "str")):
        if name in names:
            return annotation
    raise KeyError(f"{name} is a number or a text: name it in infra/render/sdk/members.py")


def members_of(schema: Schema) -> list[tuple[str, Schema]]:
    """Return the names and schemas of an object's members."""
    return list(schema.get("properties", {}).items())


def nullable(schema: Schema) -> bool:
    """Return whether a schema allows ``null``."""
    return "null" in type_names(schema.get("type", ())) or any(
        option.get("type") == "null" for option in schema.get("anyOf", ())
    )


def type_names(kind: Any) -> list[str]:
    """Return the type names in a schema's ``type``."""
    return [kind] if isinstance(kind, str) else list(kind)


def snake_case(name: str) -> str:
    """Convert a name to snake case, for example ``requestId`` to ``request_id``."""
    return "".join(f"_{letter.lower()}" if letter.isupper() else letter for letter in name)


def meaning(schema: Schema, *, limits: bool) -> str:
    """Return a member's description. If ``limits`` is true, the description includes the maximum length."""
    text = str(schema.get("description", "")).strip()
    longest = schema.get("maxLength")
    if limits and longest and "enum" not in schema and "const" not in schema and "digits" not in text:
        text += f"; at most {longest} characters"
    return text
