"""What the members of the card API's messages mean: the sentence below a member in the source of its class.

The classes of ``chalicelib/cards/protocol`` hold the sentences as docstrings below their members, which cost nothing at
run time.
"""

from __future__ import annotations

import ast
import inspect
from collections.abc import Iterator, Mapping
from functools import cache
from importlib import import_module
from itertools import pairwise

from pydantic import BaseModel


def sentence_below(model: type[BaseModel], member: str) -> str | None:
    """The sentence below a member, in the model's class or the nearest of its bases that has one."""
    found = (_sentences(base.__module__).get(base.__name__, {}).get(member) for base in model.__mro__)
    return next((sentence for sentence in found if sentence), None)


@cache
def _sentences(module: str) -> Mapping[str, Mapping[str, str]]:
    """The sentences in a module by class and member."""
    if not module.startswith("chalicelib."):
        return {}
    tree = ast.parse(inspect.getsource(import_module(module)))
    return {each.name: dict(_below_members(each)) for each in tree.body if isinstance(each, ast.ClassDef)}


def _below_members(of_class: ast.ClassDef) -> Iterator[tuple[str, str]]:
    """A class's members with the strings below them, without line breaks and the final full stop."""
    for statement, below in pairwise(of_class.body):
        match statement, below:
            case ast.AnnAssign(target=ast.Name(id=name)), ast.Expr(value=ast.Constant(value=str(text))):
                yield name, " ".join(text.replace("``", "`").split()).removesuffix(".")
