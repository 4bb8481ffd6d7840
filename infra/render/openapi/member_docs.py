"""Reads the meaning and example of each message member from the docstring below the member.

A docstring has a sentence, an example in JSON, or both. A name in capital letters refers to a value in
``example_values``::

    country: AN[2] | None = None
    \"\"\"The bank's country. Example: ``"DE"``.\"\"\"

``Example if sent`` excludes the member from the example of the message. ``No example.`` means that the member has no
example. If a class has no docstring for a member, the docstring in a base class applies. A class can replace the
docstring of an inherited member with a docstring that names the member. The type and the position of the member do not
change::

    \"\"\"Inherited ``country``: The country of the bank's head office.\"\"\"

If a member has no docstring, the first member with this name in the module provides the example. This first member also
provides the sentence if the two members have the same type (``| None`` is ignored), and if their classes are two models
or two typed dictionaries.
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
from itertools import chain, zip_longest
from typing import Any

from infra.render.openapi import example_values

UNKNOWN = object()
"""A marker value for members without an example in their docstrings."""
_INHERITED = re.compile(r"Inherited ``(\w+)``: (.+)")
_NOT_REQUIRED = re.compile(r"^NotRequired\[(.+)\]$")
_DOCSTRING = re.compile(r"(.*?) ?(?:(No example)|Example( if sent)?: ``(.+)``)\.")


@dataclass(frozen=True, slots=True)
class MemberDoc:
    """The content of the docstring below a member.

    Attributes:
        sentence: the member's meaning, without a full stop; empty if the docstring has only an example.
        example: the member's example in JSON, ``null`` for none; empty if the docstring has only a sentence.
        is_rare: whether the example of the message omits the member.
        kind: the member's type as declared, without ``| None`` and ``NotRequired``; empty for an inherited member.
    """

    sentence: str = ""
    example: str = ""
    is_rare: bool = False
    kind: str = ""


def sentence(model: type, member: str) -> str:
    """Return a member's meaning, without a full stop. Raises: LookupError, if no docstring describes the member."""
    docs = chain(_declarations(model, member), _namesakes_of_same_kind(model, member))
    found = next((each.sentence for each in docs if each.sentence), None)
    if found is None:
        raise LookupError(f"{model.__module__}.{model.__name__}.{member} has no docstring: add it below the member")
    return found


def example(model: type, member: str, *, is_object: bool) -> Any:
    """Return a member's example: ``None`` if the member has no example, ``UNKNOWN`` if the member's type provides the
    example.

    The example of an object consists of the examples of its members, unless the object has a separate example.
    """
    namesakes = () if is_object else (doc for _, doc in _namesakes(model, member))
    text = next((each.example for each in chain(_declarations(model, member), namesakes) if each.example), None)
    if text is None:
        return UNKNOWN
    return getattr(example_values, text) if text.isupper() and text.isidentifier() else json.loads(text)


def is_rare(model: type, member: str) -> bool:
    """Return whether the example of the message omits a member."""
    return next((each.is_rare for each in _declarations(model, member) if each.example), False)


def _declarations(model: type, member: str) -> Iterator[MemberDoc]:
    yield from (_members_of(place)[member] for place in _places(model) if member in _members_of(place))


def _namesakes(model: type, member: str) -> Iterator[tuple[type, MemberDoc]]:
    module = next((place.__module__ for place in _places(model) if member in _members_of(place)), "")
    found = ((name, members[member]) for name, members in classes(module).items() if member in members)
    yield from ((vars(import_module(module))[name], doc) for name, doc in found)


def _namesakes_of_same_kind(model: type, member: str) -> Iterator[MemberDoc]:
    kind = next((each.kind for each in _declarations(model, member) if each.kind), None)
    yield from (doc for owner, doc in _namesakes(model, member) if doc.kind == kind and _root(owner) is _root(model))


def _root(model: type) -> type:
    """Return the class from which a model or a typed dictionary descends: ``BaseModel`` or ``TypedDict``."""
    return list(_places(model))[-1]


def _members_of(place: type) -> Mapping[str, MemberDoc]:
    return classes(place.__module__).get(place.__name__, {})


def _places(model: type) -> Iterator[type]:
    """Yield a class, its base classes in the source (also for a TypedDict), and the classes that also describe its
    members.
    """
    yield model
    source = _trees(model.__module__).get(model.__name__)
    names = vars(import_module(model.__module__))
    for base in source.bases if source else ():
        if isinstance(base, ast.Name):
            yield from _places(names.get(base.id, object))
    for described in vars(model).get("described_in", ()):
        yield from _places(described)


@cache
def classes(module: str) -> Mapping[str, Mapping[str, MemberDoc]]:
    """Return the docstrings of the members of each class of a module, in source order."""
    return {name: dict(_read_members(each)) for name, each in _trees(module).items()}


@cache
def _trees(module: str) -> Mapping[str, ast.ClassDef]:
    if not module.startswith(("chalicelib.", "infra.")):
        return {}
    tree = ast.parse(inspect.getsource(import_module(module)))
    return {each.name: each for each in tree.body if isinstance(each, ast.ClassDef)}


def _read_members(source: ast.ClassDef) -> Iterator[tuple[str, MemberDoc]]:
    """Yield the members that a class declares or describes again, each with its docstring. The docstring is empty if
    there is none.
    """
    for statement, below in zip_longest(source.body, source.body[1:]):
        match statement:
            case ast.AnnAssign(target=ast.Name(id=name)) if not _kind(statement.annotation).startswith("ClassVar"):
                text = _docstring(below)
                yield name, _read("" if _INHERITED.fullmatch(text) else text, _kind(statement.annotation))
            case ast.Expr() if inherited := _INHERITED.fullmatch(_docstring(statement)):
                name, text = inherited.groups()
                yield name, _read(text)


def _docstring(statement: ast.stmt | None) -> str:
    return " ".join((ast.get_docstring(ast.Module([statement] if statement else [], [])) or "").split())


def _kind(annotation: ast.expr) -> str:
    return _NOT_REQUIRED.sub(r"\1", ast.unparse(annotation)).removesuffix(" | None")


def _read(text: str, kind: str = "") -> MemberDoc:
    found = _DOCSTRING.fullmatch(text)
    if found is None:
        return MemberDoc(_markdown(text), kind=kind)
    said, is_none, rare, example = found.groups()
    return MemberDoc(_markdown(said), "null" if is_none else example, bool(is_none or rare), kind)


def _markdown(text: str) -> str:
    return text.replace("``", "`").removesuffix(".")
