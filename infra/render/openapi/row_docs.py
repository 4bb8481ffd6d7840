"""Reads the purpose of each row in the protocol's tables from the docstring below the row.

A row is an assignment. The name of a webhook's row is its path, and the name of every other row is its variable. The
first sentence of the docstring is the title of the call::

    ACCOUNTS = RelayedCall("accounts", "GET", "/tpp/accounts", "AISP")
    \"\"\"List the PSU's accounts. The accounts that the PSU approved, as returned by the bank.\"\"\"
"""

from __future__ import annotations

import ast
import inspect
from collections.abc import Iterator, Mapping
from functools import cache
from importlib import import_module
from itertools import pairwise
from typing import NamedTuple


class Purpose(NamedTuple):
    """The title of a call, and its short description."""

    title: str
    text: str


def purpose(name: str, module: str) -> Purpose:
    """Return the title and the description of a call from the docstring of its protocol table row.

    Raises:
        LookupError: if the row has no docstring.
    """
    title, _, description = text(name, module).partition(". ")
    return Purpose(title, description)


def purpose_of(row: object, module: str) -> Purpose:
    """Return the purpose of a row that is stored in a module variable. Raises: LookupError, if the row has no
    docstring.
    """
    return purpose(name_of(row, module), module)


def name_of(row: object, module: str) -> str:
    return next(name for name, each in vars(import_module(module)).items() if each is row)


def text(name: str, module: str) -> str:
    """Return the docstring of a protocol table row.

    Raises:
        LookupError: if the row has no docstring.
    """
    found = row_docs(module).get(name)
    if found is None:
        raise LookupError(f"{name} has no docstring: add it below its row in {module}")
    return found


@cache
def row_docs(module: str) -> Mapping[str, str]:
    """Return the docstrings of a module's rows by the row's name."""
    rows = _rows(ast.parse(inspect.getsource(import_module(module))))
    return {name: " ".join(text.replace("``", "`").split()) for name, text in rows}


def _rows(tree: ast.Module) -> Iterator[tuple[str, str]]:
    """Yield the name and docstring of each row that has a docstring, in the module, its functions and its classes."""
    for body in (tree.body, *(each.body for each in tree.body if isinstance(each, ast.FunctionDef | ast.ClassDef))):
        for pair in pairwise(body):
            match pair:
                case (
                    ast.Assign(value=ast.Call(func=ast.Name(id="Webhook"), args=[ast.Constant(value=str(path)), *_])),
                    ast.Expr(value=ast.Constant(value=str(text))),
                ):
                    yield path, text
                case ast.Assign(targets=[ast.Name(id=name)]), ast.Expr(value=ast.Constant(value=str(text))):
                    yield name, text
