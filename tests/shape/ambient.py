"""Ambient contexts: request state that a function can read without a parameter."""

import ast
from collections.abc import Iterator, Sequence

from tests.shape.modules import Function, Module, Names

_CONTEXT, _LOCAL = "contextvars.ContextVar", "threading.local"
OF_THE_PROCESS = {
    "chalicelib.bootstrap._hub",
    "chalicelib.foundation.aws.calls._observers",
    "chalicelib.foundation.aws.signing.skew_seconds",
    "chalicelib.foundation.metrics.write_line",
    "chalicelib.foundation.security_refusals._metrics",
}
"""Attributes of modules that functions replace and that have the same value for all requests of a process."""


def ambient_contexts(modules: Sequence[Module]) -> list[str]:
    """Return the contexts by place and name.

    The result contains each ``ContextVar``, and each ``threading.local`` or object of a derived class. It also contains
    each attribute of a module or class that a function replaces, except the attributes in ``OF_THE_PROCESS``. State in
    collections, and in objects that exist as long as the process, is not detected.
    """
    names = Names(modules)
    makers = {_CONTEXT} | names.subclasses(_LOCAL)
    owners = {*(module.name for module in modules), *names.classes()}
    found: list[str] = []
    for module in modules:
        found += _made(module, names, makers)
        found += [place for place, name in _replaced(module, names, owners) if name not in OF_THE_PROCESS]
    return found


def _made(module: Module, names: Names, makers: set[str]) -> Iterator[str]:
    titles = dict(_titles(module))
    for node in module.nodes:
        if isinstance(node, ast.Call) and names.resolve(module, node.func) & makers:
            yield module.place(node, titles.get(node, ""))


def _titles(module: Module) -> Iterator[tuple[ast.expr, str]]:
    for node in module.nodes:
        match node:
            case (
                ast.Assign(targets=[target, *_], value=value) | ast.AnnAssign(target=target, value=ast.expr() as value)
            ):
                yield value, ast.unparse(target)


def _replaced(module: Module, names: Names, owners: set[str]) -> list[tuple[str, str]]:
    """Return each attribute that a function replaces, with the replacement's place and the attribute's full name."""
    places: dict[str, str] = {}
    for function in module.functions:
        shared = {name for node in ast.walk(function) if isinstance(node, ast.Global) for name in node.names}
        for target in _targets(function):
            for full in _full_names(target, shared, module, names, owners):
                places[full] = module.place(target, ast.unparse(target))
    return [(place, full) for full, place in places.items()]


def _targets(function: Function) -> Iterator[ast.expr]:
    for node in ast.walk(function):
        match node:
            case ast.Assign(targets=targets):
                yield from targets
            case ast.AugAssign(target=target) | ast.AnnAssign(target=target):
                yield target


def _full_names(target: ast.expr, shared: set[str], module: Module, names: Names, owners: set[str]) -> Iterator[str]:
    match target:
        case ast.Name(id=name) if name in shared:
            yield f"{module.name}.{name}"
        case ast.Attribute(value=ast.Name(id="cls"), attr=name):
            yield f"{module.name}.cls.{name}"
        case ast.Attribute(value=ast.Name() as value, attr=name):
            yield from (f"{owner}.{name}" for owner in names.resolve(module, value) & owners)
