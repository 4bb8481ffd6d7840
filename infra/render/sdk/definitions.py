"""What a Python module defines, found without importing it."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence

Function = ast.FunctionDef | ast.AsyncFunctionDef
Definition = ast.ClassDef | Function | ast.Assign


def find_definitions(text: str) -> Mapping[str, Definition]:
    """The classes, functions and assigned names of a module, also those for type checkers, in their order."""
    found: dict[str, Definition] = {}
    for node in _statements(ast.parse(text).body):
        if isinstance(node, ast.ClassDef | Function):
            found[node.name] = node
        elif isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            found[node.targets[0].id] = node
    return found


def _statements(body: Sequence[ast.stmt]) -> Iterator[ast.stmt]:
    for node in body:
        yield node
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
            yield from node.body
