"""How large the code is: its statements, its longest modules and functions."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Sequence

from tests.shape.modules import Module

LONGEST_MODULE, LONGEST_FUNCTION = 400, 40
"""Lines of a module, and statements of a function."""


def statements(modules: Iterable[Module]) -> int:
    """All ``ast.stmt`` nodes, those inside others and imports included, without documentation.

    Documentation is every statement that is only a string: a docstring, or the description of an attribute above it.
    """
    return sum(_statements(module.nodes) for module in modules)


def _statements(nodes: Iterable[ast.AST]) -> int:
    return sum(isinstance(node, ast.stmt) and not _is_string(node) for node in nodes)


def _is_string(node: ast.stmt) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)


def lines(modules: Iterable[Module], path: str) -> int:
    """The lines of the module with a path, 0 if there is none."""
    return sum(len(module.text.splitlines()) for module in modules if module.path == path)


def long_modules(modules: Iterable[Module]) -> list[str]:
    """The modules of more than 400 lines."""
    found = [(module.path, lines([module], module.path)) for module in modules]
    return [f"{path} {length}" for path, length in found if length > LONGEST_MODULE]


def long_functions(modules: Sequence[Module]) -> list[str]:
    """The functions of more than 40 statements, those of functions inside them included, without documentation."""
    found = [
        (module.place(each, each.name), _statements(ast.walk(each)) - 1)
        for module in modules
        for each in module.functions
    ]
    return [f"{place} {count}" for place, count in found if count > LONGEST_FUNCTION]
