"""Field types in the notation of the card API's specification, with additional notations for other types."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from decimal import Decimal
from typing import Any, get_args

from pydantic.fields import FieldInfo

from chalicelib.cards.protocol import fields
from chalicelib.foundation.fields import field_types, list_rules, number_rules
from infra.render.openapi.cards.schemas import rule_in
from infra.render.openapi.models import is_list, models_in

TYPES: Mapping[str, str] = {
    "N 1-20": "A whole number of 1 to 20 digits: a JSON number or a string of digits. Returned as a number; "
    "[some parsers change those above 2^53](../concepts/card-requests.md#numbers)",
    "digits 4": "4 digits with significant leading zeros: a string or a JSON number. Returned as a string",
    "1 to 300": "A whole number in that range",
    "AN 1-50": "1 to 50 ASCII letters and digits",
    "A 1-3": "1 to 3 ASCII letters",
    "ANS 1-100": "1 to 100 printable characters of any script, no-break spaces, soft hyphens and joiners; "
    "not only invisible ones",
    "AS 1-50": "1 to 50 name characters: letters of any script, spaces, `' \u2019 - .`, "
    "no-break spaces, soft hyphens and joiners",
    "flag": "0 or 1, as a number or a string; true and false are refused",
    "choice": "One of a list of values",
    "currency": "An ISO 4217 numeric code, with or without leading zeros. Codes without minor units are refused "
    "(2005): metals, units of account, 963 (tests) and 999 (no currency)",
    "country": "An ISO 3166-1 numeric code, with or without leading zeros",
    "date": "`YYYY-MM-DD`",
    "IBAN": "An IBAN without spaces, with valid check digits; lower case is accepted",
    "email 6-100": "An email address of 6 to 100 characters, `name@example.com`, with letters of any script. "
    "Quoted names, bracketed addresses and domains of a single label are refused (2005)",
    "IPv4 7-15": "Four decimal numbers from 0 to 255 without leading zeros, separated by dots. Other forms are "
    "refused (2005)",
    "page": f"An object with `item_count`, 1 to {fields.PAGE}, and `offset`, 0 or more: the number of "
    "entries and the first one",
    "list of …": f"A JSON list, a comma-separated string, or one value; at most {fields.ENTRIES} entries. An "
    "empty list is treated as absent",
    "series": "A string of entries separated by commas",
    "texts": "A JSON list of strings",
    "object": "A JSON object",
    "number, text, list": "JSON types; in responses only",
}
"""The type notations and their meanings."""

_FORMS = {"email": "email {}", "ipv4": "IPv4 {}", "date": "date", "": "IBAN"}
_BARE: dict[type, str] = {int: "number", str: "text", Decimal: "number"}
_TEXTS = {
    rule.characters: name
    for name in ("AN", "A", "ANS", "AS")
    if isinstance(rule := field_types.rule_of(getattr(fields, name)[1]), field_types.TextRule)
}


def field_notation(field: FieldInfo) -> str:
    """Return the type notation of a model's field."""
    rule = rule_in(field)
    if rule is not None:
        return rule_notation(rule)
    if is_list(field.annotation):
        return "list"
    if next(models_in(field.annotation), None) is not None:
        return "object"
    return " or ".join(_BARE[part] for part in (field.annotation, *get_args(field.annotation)) if part in _BARE)


def rule_notation(rule: field_types.ValueRule) -> str:
    """Return the type notation of a rule. Raises: LookupError, if the rule has no notation."""
    return _NOTATIONS[type(rule)](rule)


def _length(shortest: int, longest: int) -> str:
    return str(longest) if shortest == longest else f"{shortest}-{longest}"


def _choices(rule: number_rules.OneOfRule) -> str:
    return "flag" if rule.meanings is fields.FLAG else "choice"


_NOTATIONS: Mapping[type[field_types.ValueRule], Callable[[Any], str]] = {
    number_rules.IntegerRule: lambda rule: f"N {_length(rule.shortest, rule.longest)}",
    number_rules.NumericIdRule: lambda rule: f"digits {_length(rule.shortest, rule.longest)}",
    number_rules.RangeRule: lambda rule: f"{rule.lowest} to {rule.highest}",
    field_types.TextRule: lambda rule: f"{_TEXTS[rule.characters]} {_length(rule.shortest, rule.longest)}",
    number_rules.OneOfRule: _choices,
    number_rules.NumberWordRule: _choices,
    number_rules.CodeWordRule: lambda _: "choice",
    number_rules.CodeRule: lambda rule: "currency" if "currency" in rule.called else "country",
    fields.PaginatorRule: lambda _: "page",
    field_types.FormRule: lambda rule: _FORMS[rule.format].format(_length(rule.shortest, rule.longest)),
    list_rules.ListRule: lambda rule: f"list of {rule_notation(rule.entry)}",
    list_rules.SeriesRule: lambda _: "series",
    list_rules.TextsRule: lambda _: "texts",
    list_rules.ObjectRule: lambda _: "object",
}
