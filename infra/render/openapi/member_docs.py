"""What members mean: the docstrings below them in the source of their classes, which cost nothing at run time.

A class that declares a member anew, without a docstring, keeps the one of its base.
"""

from __future__ import annotations

import ast
import inspect
from collections.abc import Iterator, Mapping
from functools import cache
from importlib import import_module
from itertools import zip_longest


def sentence(model: type, member: str) -> str:
    """What a member means, without a full stop. Raises: LookupError, if no docstring says it."""
    found = _sentences(model.__module__, model.__name__).get(member)
    if found is None:
        raise LookupError(f"{model.__module__}.{model.__name__}.{member} has no docstring: add it below the member")
    return found


@cache
def _sentences(module: str, name: str) -> Mapping[str, str]:
    """The sentences of a class's members, inherited ones included; bases are as in the source, also of TypedDicts."""
    source = _classes(module).get(name)
    if source is None:
        return {}
    names = vars(import_module(module))
    bases = [names[base.id] for base in reversed(source.bases) if isinstance(base, ast.Name)]
    found: dict[str, str] = {}
    for base in bases:
        found |= _sentences(base.__module__, base.__name__)
    return found | {name: text for name, text in read_members(source) if text}


@cache
def _classes(module: str) -> Mapping[str, ast.ClassDef]:
    """The classes of one of our modules."""
    if not module.startswith(("chalicelib.", "infra.")):
        return {}
    tree = ast.parse(inspect.getsource(import_module(module)))
    return {each.name: each for each in tree.body if isinstance(each, ast.ClassDef)}


def read_members(source: ast.ClassDef) -> Iterator[tuple[str, str]]:
    """The members that a class declares, each with the sentence below it, or an empty text."""
    for statement, below in zip_longest(source.body, source.body[1:]):
        match statement, below:
            case ast.AnnAssign(target=ast.Name(id=name)), ast.Expr(value=ast.Constant(value=str(text))):
                yield name, " ".join(text.replace("``", "`").split()).removesuffix(".")
            case ast.AnnAssign(target=ast.Name(id=name)), _:
                yield name, ""
