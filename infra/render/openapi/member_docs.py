"""What the members of messages mean, and their examples: the docstrings below them, read from the source.

A docstring has a sentence, an example in JSON, or both; a name in capitals is a value of ``example_values``::

    country: AN[2] | None = None
    \"\"\"The bank's country. Example: ``"DE"``.\"\"\"

``Example if sent`` is left out of the example of the message; ``No example.`` leaves out the example of the member.
What a class does not say is said by its bases, or by the first member of the same name in the module.
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
    """The docstring below a member.

    Attributes:
        sentence: what it means, without a full stop; empty if the docstring has an example only.
        example: its example in JSON, ``null`` for none; empty if the docstring has a sentence only.
        is_rare: whether the example of the message leaves it out.
    """

    sentence: str = ""
    example: str = ""
    is_rare: bool = False


Members = Mapping[str, MemberDoc]


def sentence(model: type, member: str) -> str:
    """What a member means, without a full stop. Raises: LookupError, if no docstring says it."""
    found = next((each.sentence for each in _all_docs(model, member) if each.sentence), None)
    if found is None:
        raise LookupError(f"{model.__module__}.{model.__name__}.{member} has no docstring: add it below the member")
    return found


def example(model: type, member: str, *, is_object: bool) -> Any:
    """The example below a member; ``None`` for none, ``UNKNOWN`` if the type's own does.

    An object's example is made of its members', unless it has one itself.
    """
    docs = _declarations(model, member) if is_object else _all_docs(model, member)
    text = next((each.example for each in docs if each.example), None)
    if text is None:
        return UNKNOWN
    return getattr(example_values, text) if text.isupper() and text.isidentifier() else json.loads(text)


def is_rare(model: type, member: str) -> bool:
    """Whether the example of the message leaves a member out."""
    return next((each.is_rare for each in _declarations(model, member) if each.example), False)


def _all_docs(model: type, member: str) -> Iterator[MemberDoc]:
    yield from _declarations(model, member)
    yield from _namesakes(model, member)


def _declarations(model: type, member: str) -> Iterator[MemberDoc]:
    """The docstrings of a member in its class and the bases, the nearest first."""
    yield from (_members_of(place)[member] for place in _places(model) if member in _members_of(place))


def _namesakes(model: type, member: str) -> Iterator[MemberDoc]:
    """The docstrings of the members of the same name in the module that declares a member, the first one first."""
    module = next((place.__module__ for place in _places(model) if member in _members_of(place)), "")
    yield from (each[member] for each in classes(module).values() if member in each)


def _members_of(place: type) -> Members:
    return classes(place.__module__).get(place.__name__, {})


def _places(model: type) -> Iterator[type]:
    """A class and its bases as in the source, also of TypedDicts; then the classes that describe its members, too."""
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
    """The docstrings of the members of each class of a module, in its order."""
    return {name: dict(_read_members(each)) for name, each in _trees(module).items()}


@cache
def _trees(module: str) -> Mapping[str, ast.ClassDef]:
    """The classes of one of our modules."""
    if not module.startswith(("chalicelib.", "infra.")):
        return {}
    tree = ast.parse(inspect.getsource(import_module(module)))
    return {each.name: each for each in tree.body if isinstance(each, ast.ClassDef)}


def _read_members(source: ast.ClassDef) -> Iterator[tuple[str, MemberDoc]]:
    """The members that a class declares, each with the docstring below it, which may be missing."""
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
    """The statements of a class, with those that only describe inherited members."""
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
