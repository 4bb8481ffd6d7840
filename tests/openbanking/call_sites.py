"""Where the service calls its storage: read from the source, so that no list of it has to be kept by hand.

A call counts when a request or a delivery can come to it; what only the operator's command line reaches does not.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache

from chalicelib.foundation.store import Store
from tests.test_structure import MODULES, ROOT, SOURCES, imports, speaks_http, tree, within

ROOMS = tuple(f"chalicelib.{room}" for room in ("openbanking", "statistics", "delivery"))
"""Where requests and deliveries of open banking are decided."""
_OPERATOR = ("infra", "chalicelib.demo_bank.setup")
_GUESTS = ("infra", "chalicelib.demo_bank")
"""What the service itself does not depend on."""
_WIRING = "chalicelib.bootstrap"
_METHODS = {name for name in vars(Store) if not name.startswith("_")}
_CALLS_NOBODY = "wait"


@dataclass(frozen=True, order=True)
class Site:
    """A call of the store in the source."""

    module: str
    line: int
    last_line: int

    def __str__(self) -> str:
        return f"{SOURCES[self.module].relative_to(ROOT)}:{self.line}"


@dataclass(frozen=True)
class Function:
    """A function of the source; ``owner`` is its class, or empty."""

    module: str
    owner: str
    name: str


@cache
def call_sites() -> frozenset[Site]:
    """Every call of the store that a request or a delivery can come to.

    Left out is what only the operator's command line reaches. What nobody seems to reach is not.
    """
    functions = dict(_functions())
    served = {each: node for each, node in functions.items() if not within(each.module, *_GUESTS)}
    service = _reached([each for each in served if _begins_a_request(each)], served)
    operator = _reached([each for each in functions if within(each.module, *_OPERATOR)], functions)
    return frozenset(
        site
        for each, node in functions.items()
        if within(each.module, *ROOMS) and (each in service or each not in operator)
        for site in _sites(each.module, node)
    )


def _begins_a_request(function: Function) -> bool:
    return function.module == _WIRING or (within(function.module, *ROOMS) and speaks_http(function.module))


def _functions() -> Iterator[tuple[Function, ast.AST]]:
    """The functions of all modules; what a module does when it is loaded counts as one without a name."""
    for module in [*MODULES, *(name for name in SOURCES if within(name, "infra"))]:
        loaded = ast.Module([], [])
        for node in tree(module).body:
            match node:
                case ast.ClassDef():
                    for member in node.body:
                        if isinstance(member, ast.FunctionDef):
                            yield Function(module, node.name, member.name), member
                case ast.FunctionDef():
                    yield Function(module, "", node.name), node
                case _:
                    loaded.body.append(node)
        yield Function(module, "", ""), loaded


def _reached(roots: list[Function], functions: dict[Function, ast.AST]) -> set[Function]:
    """The functions that ``roots`` mention, those that these mention, and so on."""
    by_name: dict[tuple[str, str], list[Function]] = {}
    for each in functions:
        by_name.setdefault((each.owner, each.name), []).append(each)
    found: set[Function] = set()
    pending = list(roots)
    while pending:
        each = pending.pop()
        if each not in found:
            found.add(each)
            for owner, name in _mentioned(each.owner, functions[each]):
                known = by_name.get((owner, name), ())
                pending += [other for other in known if owner or other.module in {each.module, *imports(each.module)}]
    return found


def _mentioned(owner: str, node: ast.AST) -> Iterator[tuple[str, str]]:
    """Owner and name of what a function may call: by the names that things go by in this code."""
    for inner in ast.walk(node):
        match inner:
            case ast.Name(id=name):
                yield "", name
            case ast.Attribute(value=ast.Name(id="self" | "cls"), attr=name):
                yield owner, name
            case ast.Attribute(value=value, attr=name):
                for kind in _kinds().get(_last_name(value), ()):
                    yield kind, name


@cache
def _kinds() -> dict[str, set[str]]:
    """The classes that a name stands for: as a member, an argument, a property, or the result of a call."""
    found: dict[str, set[str]] = {}
    for module in MODULES:
        for node in ast.walk(tree(module)):
            match node:
                case ast.AnnAssign(target=ast.Name(id=name), annotation=ast.Name(id=kind)):
                    found.setdefault(name.strip("_"), set()).add(kind)
                case ast.arg(arg=name, annotation=ast.Name(id=kind)):
                    found.setdefault(name.strip("_"), set()).add(kind)
                case ast.FunctionDef(name=name, returns=ast.Name(id=kind)):
                    found.setdefault(name.strip("_"), set()).add(kind)
                case ast.Assign(targets=[ast.Name(id=name)], value=ast.Call(func=ast.Name(id=kind))):
                    found.setdefault(name.strip("_"), set()).add(kind)
    return found


def _sites(module: str, node: ast.AST) -> Iterator[Site]:
    for inner in ast.walk(node):
        match inner:
            case ast.Call(func=ast.Attribute(value=value, attr=name)) if _last_name(value) == "store":
                if name == _CALLS_NOBODY:
                    continue
                assert name in _METHODS, f"{module}:{inner.lineno}: the store has no method {name}"
                yield Site(module, inner.lineno, inner.end_lineno or inner.lineno)


def site_at(module: str, line: int) -> Site | None:
    """The call of the store that a line belongs to; ``None`` outside of the service."""
    if module not in SOURCES:
        return None
    around = [site for site in _sites_in(module) if site.line <= line <= site.last_line]
    return min(around, key=lambda site: site.last_line - site.line, default=None)


@cache
def _sites_in(module: str) -> tuple[Site, ...]:
    return tuple(_sites(module, tree(module)))


def _last_name(node: ast.AST) -> str:
    """``store`` of ``store``, ``self._store`` and ``hub().store``."""
    match node:
        case ast.Attribute(attr=name) | ast.Name(id=name) | ast.Call(func=ast.Attribute(attr=name) | ast.Name(id=name)):
            return str(name).strip("_")
    return ""
