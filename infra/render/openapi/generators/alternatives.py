"""Turns the conditions between an object's members into alternatives that exclude each other.

The conditions (``anyOf``, ``not``, ``if`` and the like) become a formula over the states of members, which is decided
member by member, as in a decision diagram. Each way to its truth is an alternative: an object of which some members are
mandatory, absent, or restricted to some values.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from pydantic.alias_generators import to_pascal

from infra.render.openapi.schemas import Json

Formula = Any
"""``True``, ``False``, ``("in", member, states)``, ``("not", formula)``, or ``("and", formulas)``."""
States = frozenset[str]
"""What a member may be: absent, present or, if a condition mentions values of the member, one of its values."""
Choice = Mapping[str, States]
"""The states of the decided members. Other members may have any state."""

_FEW = 3
CONDITIONS = ("anyOf", "allOf", "not", "if", "then", "dependentRequired")
_ABSENT, _PRESENT = "absent", "present"
_PRINTABLE = re.compile(r"\^\[\^(.+)\]\*\$")
_NOT_BLANK = r"^ *[^ \1][^\1]*$"


def conditions_of(schema: Json) -> Json:
    """Return the conditions between the members of an object."""
    return {key: schema[key] for key in CONDITIONS if key in schema} if "properties" in schema else {}


def alternatives(name: str, schema: Json, conditions: Json) -> Mapping[str, Json]:
    """Return the objects that together are ``schema`` with ``conditions``, by the names of their schemas."""
    formula = _parse(conditions, list(schema["properties"]))
    members = _members(formula)
    domains = {each: _domain(schema, each, formula) for each in schema["properties"] if each in members}
    ways = list(_decide(formula, domains))
    if len(ways) == 1:
        return {name: _restrict(schema, ways[0][0])}
    return {name + _suffix(choice, labels): _restrict(schema, choice) for choice, labels in ways}


# -- Formulas


def _parse(schema: Json, members: Iterable[str]) -> Formula:
    parts = [_is_present(member) for member in schema.get("required", ())]
    parts += [
        _or(_in(member, _ABSENT), _has_value(member, each)) for member, each in schema.get("properties", {}).items()
    ]
    parts += [_parse(each, members) for each in schema.get("allOf", ())]
    if "anyOf" in schema:
        parts.append(_or(*(_parse(each, members) for each in schema["anyOf"])))
    if "not" in schema:
        parts.append(_not(_parse(schema["not"], members)))
    if "if" in schema:
        parts.append(_or(_not(_parse(schema["if"], members)), _parse(schema["then"], members)))
    for member, others in schema.get("dependentRequired", {}).items():
        parts.append(_or(_in(member, _ABSENT), _and(*map(_is_present, others))))
    if "maxProperties" in schema:  # as many as are required
        parts += [_in(member, _ABSENT) for member in members if member not in schema["required"]]
    return _and(*parts)


def _in(member: str, *states: str) -> Formula:
    return "in", member, frozenset(states)


def _is_present(member: str) -> Formula:
    return _not(_in(member, _ABSENT))


def _has_value(member: str, schema: Json) -> Formula:
    """Return the condition on a member's value. A schema that is no list of values only excludes blanks."""
    values = [schema["const"]] if "const" in schema else schema.get("enum")
    return _in(member, *map(str, values)) if values else True


def _not(formula: Formula) -> Formula:
    if isinstance(formula, bool):
        return not formula
    return formula[1] if formula[0] == "not" else ("not", formula)


def _and(*formulas: Formula) -> Formula:
    parts = frozenset(formulas) - {True}
    if False in parts or not parts:
        return not parts
    return next(iter(parts)) if len(parts) == 1 else ("and", parts)


def _or(*formulas: Formula) -> Formula:
    return _not(_and(*map(_not, formulas)))


def _members(formula: Formula) -> frozenset[str]:
    if isinstance(formula, bool):
        return frozenset()
    if formula[0] == "in":
        return frozenset({formula[1]})
    return frozenset().union(*map(_members, formula[1] if formula[0] == "and" else formula[1:]))


def _assume(formula: Formula, member: str, state: str) -> Formula:
    """Return what remains of a formula if a member has a state."""
    if isinstance(formula, bool):
        return formula
    if formula[0] == "in":
        return state in formula[2] if formula[1] == member else formula
    if formula[0] == "not":
        return _not(_assume(formula[1], member, state))
    return _and(*(_assume(each, member, state) for each in formula[1]))


# -- Decisions


def _domain(schema: Json, member: str, formula: Formula) -> Sequence[str]:
    values = schema["properties"][member].get("enum", [])
    is_compared = any(_assume(formula, member, value) != _assume(formula, member, _PRESENT) for value in values)
    may_be_absent = [] if member in schema.get("required", ()) else [_ABSENT]
    return [*may_be_absent, *(values if is_compared else [_PRESENT])]


def _decide(formula: Formula, domains: Mapping[str, Sequence[str]]) -> Iterator[tuple[Choice, list[str]]]:
    """Yield the choices with which a formula is true, with labels of what distinguishes each."""
    if isinstance(formula, bool):
        yield from [({}, [])] if formula else []
        return
    member = min(domains.keys() & _members(formula), key=lambda each: _rank(formula, each, domains))
    groups = _split(formula, member, domains[member])
    for rest, states in groups.items():
        label = _label(member, states, domains[member]) if len(groups) > 1 else []
        for choice, labels in _decide(rest, domains):
            yield {member: frozenset(states), **choice}, [*label, *labels]


def _rank(formula: Formula, member: str, domains: Mapping[str, Sequence[str]]) -> tuple[int, bool, int]:
    """Return the order in which members are decided: first those whose decision leaves least to decide."""
    left = sum(len(_members(rest)) for rest in _split(formula, member, domains[member]))
    return left, _PRESENT in domains[member], list(domains).index(member)


def _split(formula: Formula, member: str, domain: Sequence[str]) -> Mapping[Formula, list[str]]:
    """Return what remains of a formula, with the states of a member that lead there."""
    found: dict[Formula, list[str]] = {}
    for state in domain:
        found.setdefault(_assume(formula, member, state), []).append(state)
    return {rest: states for rest, states in found.items() if rest is not False}


def _label(member: str, states: Sequence[str], domain: Sequence[str]) -> list[str]:
    if _ABSENT in states:
        return []
    values = states if set(states) != set(domain) - {_ABSENT} else []
    return [to_pascal(member) + "Or".join(values)]


def _suffix(choice: Choice, labels: Sequence[str]) -> str:
    """Return the end of an alternative's name: what distinguishes the alternative, or else the few members it needs."""
    needed = labels or [to_pascal(member) for member, states in choice.items() if _ABSENT not in states]
    return f"With{'And'.join(needed)}" if labels or 0 < len(needed) < _FEW else "Otherwise"


def _restrict(schema: Json, choice: Choice) -> Json:
    """Return an object whose members have the chosen states."""
    absent = {member for member, states in choice.items() if states == {_ABSENT}}
    present = [member for member, states in choice.items() if _ABSENT not in states]
    properties = {
        name: _limit(member, choice.get(name, frozenset()), is_needed=name in present)
        for name, member in schema["properties"].items()
        if name not in absent
    }
    required = [name for name in properties if name in present or name in schema.get("required", ())]
    return schema | {"properties": properties} | ({"required": required} if required else {})


def _limit(member: Json, states: States, *, is_needed: bool) -> Json:
    found = dict(member)
    if states - {_ABSENT, _PRESENT}:
        found["enum"] = [value for value in member["enum"] if value in states]
    if is_needed and "pattern" in found:
        found["pattern"] = _PRINTABLE.sub(_NOT_BLANK, found["pattern"])
    return found | ({"minItems": 1} if is_needed and member.get("type") == "array" else {})
