"""Modules whose shape is counted: those of this repository, or the source of a test."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

from tests.kit.source_code import ROOT, SOURCES, parse, path_matches, within

Function = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(frozen=True)
class Module:
    """A module by its ``path`` from the root of the repository, and its source."""

    path: str
    text: str

    @cached_property
    def name(self) -> str:
        return self.path.removesuffix(".py").replace("/", ".").removesuffix(".__init__")

    @cached_property
    def tree(self) -> ast.Module:
        return parse(self.text)

    @cached_property
    def nodes(self) -> Sequence[ast.AST]:
        """All nodes, in the order of their lines."""
        return sorted(ast.walk(self.tree), key=lambda node: getattr(node, "lineno", 0))

    @property
    def functions(self) -> list[Function]:
        return [node for node in self.nodes if isinstance(node, Function)]

    @property
    def classes(self) -> list[ast.ClassDef]:
        return [node for node in self.nodes if isinstance(node, ast.ClassDef)]

    def place(self, node: ast.stmt | ast.expr | ast.excepthandler, about: str = "") -> str:
        """The file and line of a node, with what is there."""
        return f"{self.path}:{node.lineno} {about}".rstrip()


def read(folder: str) -> list[Module]:
    """The modules of ``chalicelib`` or ``infra``, in the order of their paths."""
    paths = [path for name, path in SOURCES.items() if within(name, folder)]
    return [Module(path.relative_to(ROOT).as_posix(), path.read_text(encoding="utf-8")) for path in paths]


def matching(modules: Iterable[Module], globs: tuple[str, ...]) -> list[Module]:
    """The modules whose path matches one of ``globs``."""
    return [module for module in modules if path_matches(module.path, globs)]
