"""Python modules as the reference of the SDK shows them: definitions, members, methods and docstrings.

Modules are parsed, not imported: the reference shows annotations as they are written, and needs no dependencies.
"""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import TypeVar

from infra.render.sdk.definitions import Definition, Function, find_definitions
from infra.render.sdk.source import SOURCE

Node = TypeVar("Node", bound=ast.stmt)
_SECTION = re.compile(r"^    # (?:-- )?(\w.+)$")


@dataclass(frozen=True)
class Member:
    """An attribute of a dataclass, and its name in JSON."""

    name: str
    annotation: ast.expr
    default: ast.expr | None
    meaning: str
    wire_name: str


@dataclass(frozen=True)
class Method:
    """A public method or property; ``section`` is the comment that groups it with those around it."""

    node: Function
    section: str = ""

    @property
    def name(self) -> str:
        return self.node.name

    @property
    def is_property(self) -> bool:
        return any(ast.unparse(each) == "property" for each in self.node.decorator_list)


@cache
def text_of(module: str) -> str:
    """The source of a module or package."""
    file = SOURCE.joinpath(*module.split("."))
    return (file / "__init__.py" if file.is_dir() else file.with_suffix(".py")).read_text("utf-8")


@cache
def definitions(module: str) -> Mapping[str, Definition]:
    """What a module or package defines, in its order."""
    return find_definitions(text_of(module))


@cache
def texts_of_names(module: str) -> Mapping[str, str]:
    """The docstrings below a module's assigned names."""
    return {
        ast.unparse(node.targets[0]): text
        for node, text in _with_docstrings(ast.parse(text_of(module)).body, ast.Assign)
    }


def _with_docstrings(body: Sequence[ast.stmt], kind: type[Node]) -> Iterator[tuple[Node, str]]:
    """Each statement of a kind, and the docstring below it."""
    for node, after in zip(body, [*body[1:], None], strict=True):
        if isinstance(node, kind):
            yield node, _text(after)


def _text(node: ast.stmt | None) -> str:
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
        return inspect.cleandoc(node.value.value)
    return ""


def docstring(node: ast.ClassDef | Function) -> str:
    return ast.get_docstring(node) or ""


def is_dataclass(node: ast.ClassDef) -> bool:
    return any(ast.unparse(each).startswith("dataclass") for each in node.decorator_list)


def members(node: ast.ClassDef) -> list[Member]:
    """The public attributes of a dataclass."""
    renamed: Mapping[str, str] = {}
    found = []
    for statement, meaning in _with_docstrings(node.body, ast.AnnAssign):
        name = ast.unparse(statement.target)
        if name == "NAMES" and statement.value is not None:
            renamed = ast.literal_eval(statement.value)
        elif not name.startswith("_"):
            found.append(Member(name, statement.annotation, _default(statement), meaning, renamed.get(name, name)))
    return found


def _default(statement: ast.AnnAssign) -> ast.expr | None:
    """The default of an attribute, also in ``field(default=…)``."""
    value = statement.value
    if isinstance(value, ast.Call):
        return next((each.value for each in value.keywords if each.arg in {"default", "default_factory"}), None)
    return value


def methods(node: ast.ClassDef) -> list[Method]:
    """The public methods of a class, in their order."""
    return [Method(each) for each in node.body if isinstance(each, Function) and not each.name.startswith("_")]


def methods_by_section(module: str, node: ast.ClassDef) -> list[Method]:
    """The public methods of a class, each with the comment that is above it and those around it."""
    lines = text_of(module).splitlines()
    found = []
    for each in methods(node):
        above = (_SECTION.match(line) for line in reversed(lines[node.lineno : each.node.lineno]))
        section = next((comment[1] for comment in above if comment), "")
        found.append(Method(each.node, section[:1].upper() + section[1:]))
    return found


def parameters(node: Function) -> set[str]:
    return {each.arg for each in (*node.args.args, *node.args.kwonlyargs)}


def constructor(node: ast.ClassDef) -> Function | None:
    return next((each for each in node.body if isinstance(each, Function) and each.name == "__init__"), None)


def bases(node: ast.ClassDef) -> list[str]:
    return [ast.unparse(each) for each in node.bases]


def alternatives(annotation: ast.expr) -> list[ast.expr]:
    """The parts of a union."""
    if isinstance(annotation, ast.BinOp) and isinstance(annotation.op, ast.BitOr):
        return [*alternatives(annotation.left), *alternatives(annotation.right)]
    return [annotation]


def values_of(annotation: ast.expr) -> list[str]:
    """The values of a ``Literal``, as they are written; none of another type."""
    if not isinstance(annotation, ast.Subscript) or ast.unparse(annotation.value) != "Literal":
        return []
    inner = annotation.slice
    return [unparse(each) for each in (inner.elts if isinstance(inner, ast.Tuple) else [inner])]


def unparse(node: ast.AST) -> str:
    """Source with the quotation marks of the project."""
    return ast.unparse(node).replace("'", '"')


def names_in(node: ast.AST) -> Iterable[str]:
    """The names that an annotation mentions, in their order."""
    return re.findall(r"[A-Za-z_]\w*", ast.unparse(node))
