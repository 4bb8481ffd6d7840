"""Reads the modules of the SDK with griffe, without importing them: classes, methods, members and docstrings."""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache

import griffe

from infra.render.sdk_package import SOURCE

Method = griffe.Function | griffe.Attribute
"""A method or a property. griffe represents a property as an attribute."""
Definition = griffe.Class | Method
_SECTION = re.compile(r"^    # (?:-- )?(\w.+)$")


@dataclass(frozen=True)
class Member:
    """An attribute of a dataclass. ``default`` is Python source code. The name of the attribute in JSON may differ."""

    name: str
    annotation: str
    default: str | None
    meaning: str
    wire_name: str


@cache
def module(name: str) -> griffe.Module:
    """Return the module or package with this full name, which starts with ``causeway``."""
    package = griffe.load("causeway", search_paths=[SOURCE], allow_inspection=False) if name == "causeway" else None
    found = package or module("causeway")[name.partition(".")[2]]
    assert isinstance(found, griffe.Module)
    return found


@cache
def definitions(name: str) -> Mapping[str, Definition]:
    """Return the definitions of a module in source order, without imported names."""
    found = {key: each for key, each in module(name).members.items() if isinstance(each, Definition)}
    return dict(sorted(found.items(), key=lambda item: item[1].lineno or 0))


def docstring(node: Definition) -> str:
    return node.docstring.value if node.docstring else ""


def methods(node: griffe.Class) -> Sequence[Method]:
    """Return the public methods and properties of a class in source order."""
    found = [each for each in node.members.values() if isinstance(each, griffe.Function | griffe.Attribute)]
    public = [each for each in found if not each.name.startswith("_") and (each.is_function or is_property(each))]
    return sorted(public, key=lambda each: each.lineno or 0)


def inherited_methods(node: griffe.Class) -> Sequence[Method]:
    """Return the public methods and properties of the package's base classes, except those of all dataclasses."""
    return [method for base in node.mro() if base.name != "Record" for method in methods(base)]


def is_property(node: Method) -> bool:
    return "property" in node.labels


def section_of(node: Definition) -> str:
    """Return the section comment above a method in the source of its class; empty if there is none."""
    assert node.parent is not None
    assert isinstance(node.filepath, type(SOURCE))
    lines = node.filepath.read_text("utf-8").splitlines()
    above = (_SECTION.match(line) for line in reversed(lines[node.parent.lineno or 0 : node.lineno]))
    section = next((comment[1] for comment in above if comment), "")
    return section[:1].upper() + section[1:]


def is_dataclass(node: griffe.Class) -> bool:
    return any(str(each.value).startswith("dataclass") for each in node.decorators)


def members(node: griffe.Class) -> Sequence[Member]:
    """Return the public attributes of a dataclass; an empty list for other classes."""
    if not is_dataclass(node):
        return []
    found = [each for each in node.members.values() if isinstance(each, griffe.Attribute) and each.annotation]
    names = node.members.get("NAMES")
    renamed = ast.literal_eval(str(names.value)) if isinstance(names, griffe.Attribute) else {}
    return [
        Member(each.name, str(each.annotation), _default(each), docstring(each), renamed.get(each.name, each.name))
        for each in found
        if not each.name.startswith("_") and each.name != "NAMES" and not is_property(each)
    ]


def _default(attribute: griffe.Attribute) -> str | None:
    value = attribute.value
    if isinstance(value, griffe.ExprCall):
        given = [each for each in value.arguments if isinstance(each, griffe.ExprKeyword)]
        return next((str(each.value) for each in given if each.name in {"default", "default_factory"}), None)
    return None if value is None else str(value)


def constructor(node: griffe.Class) -> griffe.Function | None:
    """Return the constructor that a class defines; ``None`` for dataclasses, whose constructors are generated."""
    found = None if is_dataclass(node) else node.members.get("__init__")
    return found if isinstance(found, griffe.Function) else None


def parameters(function: griffe.Function) -> Sequence[griffe.Parameter]:
    return [each for each in function.parameters if each.name not in {"self", "cls"}]
