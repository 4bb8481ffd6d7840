"""Storage access in flows and records: calls of the store, handlers of its errors, and the idempotency table."""

import ast
from collections.abc import Iterator, Sequence

from tests.kit.source_code import FLOWS, within
from tests.shape.modules import Module, Names, matching, parameters

_STORE = "chalicelib.foundation.dynamodb.store.Store"
_WRITES = {"transact", "put", "update", "delete"}
_NAMES = {"store", "_store"}
_STORE_ERROR = "chalicelib.foundation.dynamodb.errors.StoreError"
_OWN_ERRORS = ("chalicelib.foundation", "chalicelib.delivery", "chalicelib.demo_bank")
"""The packages that are permitted to handle store errors."""
_SUPPRESS = "contextlib.suppress"
_IDEMPOTENCY = "idempotency"


def store_writes(modules: Sequence[Module]) -> list[str]:
    """Return the places where flows write directly to the store.

    A write is a use of ``transact``, ``put``, ``update`` or ``delete`` of an object that is named ``store`` or
    ``_store``, or annotated as ``Store``, in ``**/flows/**`` and ``**/*_flow.py``. A reference to such a method counts
    as a call.
    """
    names = Names(modules)
    return [found for module in matching(modules, FLOWS) for found in _writes(module, names)]


def _writes(module: Module, names: Names) -> Iterator[str]:
    stores = _NAMES | set(_annotated_stores(module, names))
    for node in module.nodes:
        match node:
            case ast.Attribute(value=ast.Name(id=name) | ast.Attribute(attr=name), attr=method):
                if name in stores and method in _WRITES:
                    yield module.place(node, ast.unparse(node))


def _annotated_stores(module: Module, names: Names) -> Iterator[str]:
    annotated = [each for function in module.functions for each in parameters(function)]
    fields = [node for node in module.nodes if isinstance(node, ast.AnnAssign)]
    for name, annotation in (
        *((each.arg, each.annotation) for each in annotated),
        *((ast.unparse(each.target).rpartition(".")[2], each.annotation) for each in fields),
    ):
        if _STORE in names.resolve(module, annotation):
            yield name


def store_error_handlers(modules: Sequence[Module]) -> list[str]:
    """Return the handlers of store errors outside ``foundation``, ``delivery`` and ``demo_bank``.

    A handler is an ``except`` or a ``suppress`` that names ``StoreError`` or a subclass, directly, by an alias or in a
    tuple. A handler of only ``Exception`` does not count.
    """
    names = Names(modules)
    errors = names.subclasses(_STORE_ERROR)
    others = [module for module in modules if not within(module.name, *_OWN_ERRORS)]
    return [found for module in others for found in _handlers(module, names, errors)]


def _handlers(module: Module, names: Names, errors: set[str]) -> Iterator[str]:
    for node in module.nodes:
        match node:
            case ast.ExceptHandler(type=ast.expr() as wanted):
                handled = [wanted]
            case ast.Call(func=function, args=handled) if _SUPPRESS in names.resolve(module, function):
                pass
            case _:
                continue
        found = {name for each in handled for name in names.resolve(module, each)} & errors
        if found:
            yield module.place(node, ", ".join(sorted(name.rpartition(".")[2] for name in found)))


def idempotency_modules(modules: Sequence[Module]) -> list[str]:
    return [module.path for module in modules if _IDEMPOTENCY in module.name.rpartition(".")[2]]


def idempotency_tables(modules: Sequence[Module]) -> list[str]:
    return [module.path for module in modules if any(map(_is_idempotency, module.nodes))]


def _is_idempotency(node: ast.AST) -> bool:
    return isinstance(node, ast.Constant) and node.value == _IDEMPOTENCY
