"""Reads the meaning and example of each message member from the docstring below the member.

A docstring has a sentence, an example in JSON, or both. A name in capitals is a value of ``example_values``::

    country: AN[2] | None = None
    \"\"\"The bank's country. Example: ``"DE"``.\"\"\"

``Example if sent`` excludes the member from the example of the message. ``No example.`` omits the member's example.
If a class does not describe a member, its bases or the first member of the same name in the module describe it.
"""

from __future__ import annotations

import ast
import inspect
import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from itertools import zip_longest
from typing import Any

from infra.render.openapi import example_values

UNKNOWN = object()
"""No docstring has an example."""
_DOCSTRING = re.compile(r"(.*?) ?(?:(No example)|Example( if sent)?: ``(.+)``)\.")


@dataclass(frozen=True, slots=True)
class MemberDoc:
    """The content of the docstring below a member.

    Attributes:
        sentence: the member's meaning, without a full stop; empty if the docstring has only an example.
        example: the member's example in JSON, ``null`` for none; empty if the docstring has only a sentence.
        is_rare: whether the example of the message omits the member.
    """

    sentence: str = ""
    example: str = ""
    is_rare: bool = False


Members = Mapping[str, MemberDoc]


def sentence(model: type, member: str) -> str:
    """Return a member's meaning, without a full stop. Raises: LookupError, if no docstring describes the member."""
    found = next((each.sentence for each in _all_docs(model, member) if each.sentence), None)
    if found is None:
        raise LookupError(f"{model.__module__}.{model.__name__}.{member} has no docstring: add it below the member")
    return found


def example(model: type, member: str, *, is_object: bool) -> Any:
    """Return a member's example; ``None`` if it has none, ``UNKNOWN`` if its type provides the example.

    The example of an object consists of its members' examples, unless the object has its own example.
    """
    docs = _declarations(model, member) if is_object else _all_docs(model, member)
    text = next((each.example for each in docs if each.example), None)
    if text is None:
        return UNKNOWN
    return getattr(example_values, text) if text.isupper() and text.isidentifier() else json.loads(text)


def is_rare(model: type, member: str) -> bool:
    """Return whether the example of the message omits a member."""
    return next((each.is_rare for each in _declarations(model, member) if each.example), False)


def _all_docs(model: type, member: str) -> Iterator[MemberDoc]:
    yield from _declarations(model, member)
    yield from _namesakes(model, member)


def _declarations(model: type, member: str) -> Iterator[MemberDoc]:
    """Return a member's docstrings from its class and then from the base classes, the nearest class first."""
    yield from (_members_of(place)[member] for place in _places(model) if member in _members_of(place))


def _namesakes(model: type, member: str) -> Iterator[MemberDoc]:
    """Return the docstrings of all members of the same name in the module that declares the member, in source order."""
    module = next((place.__module__ for place in _places(model) if member in _members_of(place)), "")
    yield from (each[member] for each in classes(module).values() if member in each)


def _members_of(place: type) -> Members:
    return classes(place.__module__).get(place.__name__, {})


def _places(model: type) -> Iterator[type]:
    """Yield a class, its bases in the source (also of a TypedDict), and the classes that also describe its members."""
    yield model
    source = _trees(model.__module__).get(model.__name__)
    if source is not None:
        names = vars(import_module(model.__module__))
        for base in source.bases:
            if isinstance(base, ast.Name):
                yield from _places(names[base.id])
    for described in vars(model).get("described_in", ()):
        yield from _places(described)


@cache
def classes(module: str) -> Mapping[str, Members]:
    """Return the docstrings of the members of each class of a module, in source order."""
    return {name: dict(_read_members(each)) for name, each in _trees(module).items()}


@cache
def _trees(module: str) -> Mapping[str, ast.ClassDef]:
    """Return the syntax trees of a module's classes; empty for modules of other packages."""
    if not module.startswith(("chalicelib.", "infra.")):
        return {}
    tree = ast.parse(inspect.getsource(import_module(module)))
    return {each.name: each for each in tree.body if isinstance(each, ast.ClassDef)}


def _read_members(source: ast.ClassDef) -> Iterator[tuple[str, MemberDoc]]:
    """Yield the members that a class declares. Each member has the docstring below it, or an empty one."""
    body = [*_flatten(source.body)]
    for statement, below in zip_longest(body, body[1:]):
        match statement, below:
            case ast.AnnAssign(annotation=ast.Name(id="ClassVar") | ast.Subscript(value=ast.Name(id="ClassVar"))), _:
                pass
            case ast.AnnAssign(target=ast.Name(id=name)), ast.Expr(value=ast.Constant(value=str(text))):
                yield name, _read(" ".join(text.split()))
            case ast.AnnAssign(target=ast.Name(id=name)), _:
                yield name, MemberDoc()


def _flatten(body: list[ast.stmt]) -> Iterator[ast.stmt]:
    """Yield the statements of a class, including those that only describe inherited members."""
    for statement in body:
        match statement:
            case ast.If(test=ast.Name(id="TYPE_CHECKING"), body=[_, ast.Expr(), *_]):
                yield from statement.body
            case _:
                yield statement


def _read(text: str) -> MemberDoc:
    found = _DOCSTRING.fullmatch(text)
    if found is None:
        return MemberDoc(_markdown(text))
    said, is_none, rare, example = found.groups()
    return MemberDoc(_markdown(said), "null" if is_none else example, bool(is_none or rare))


def _markdown(text: str) -> str:
    return text.replace("``", "`").removesuffix(".")
