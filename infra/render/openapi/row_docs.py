"""Reads the purpose of each row in the protocol's tables from the docstring below the row.

A row is an assignment. The first sentence of its docstring is the title of the call::

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


def purpose(key: str, *modules: str) -> Purpose:
    """Return the purpose of the row that contains a text. Raises: LookupError, if the row has no docstring."""
    title, _, description = text(key, *modules).partition(". ")
    return Purpose(title, description)


def text(key: str, *modules: str) -> str:
    """Return the docstring of the row that contains a text. Raises: LookupError, if the row has no docstring."""
    found = next((row_docs(module)[key] for module in modules if row_docs(module).get(key)), None)
    if found is None:
        raise LookupError(f"{key} has no docstring: add it below its row in {modules[0]}")
    return found


@cache
def row_docs(module: str) -> Mapping[str, str]:
    """Return the docstrings of a module's rows, by the row's name and by the first string arguments of the row."""
    found: dict[str, str] = {}
    for row, text in _rows(ast.parse(inspect.getsource(import_module(module)))):
        words = " ".join(text.replace("``", "`").split())
        found |= dict.fromkeys(_keys(row), words)
    return found


def _rows(tree: ast.Module) -> Iterator[tuple[ast.Assign, str]]:
    """Yield the assignments of a module and its functions. Each has the docstring below it, or none."""
    bodies = [tree.body, *(each.body for each in tree.body if isinstance(each, ast.FunctionDef))]
    for body in bodies:
        for row, below in pairwise([*body, ast.Pass()]):
            if isinstance(row, ast.Assign):
                match below:
                    case ast.Expr(value=ast.Constant(value=str(text))):
                        yield row, text
                    case _:
                        yield row, ""


def _keys(row: ast.Assign) -> Iterator[str]:
    if isinstance(row.targets[0], ast.Name):
        yield row.targets[0].id
    values = row.value.args if isinstance(row.value, ast.Call) else [row.value]
    for each in values:
        if isinstance(each, ast.Constant) and isinstance(each.value, str):
            yield each.value
