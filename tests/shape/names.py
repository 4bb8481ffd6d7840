"""What a name in a module stands for: imports, aliases and tuples are followed to the classes and functions."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator

from tests.shape.modules import Function, Module

Bindings = dict[str, list[ast.expr | str]]
"""What the names of a module are bound to: expressions, or the full names of what is imported or defined."""
_COLLECTIONS = {"tuple", "frozenset", "set", "list"}


class Names:
    """The names of ``modules``, wherever in their module they are bound: all that a name may stand for counts."""

    def __init__(self, modules: Iterable[Module]) -> None:
        self._modules = {module.name: module for module in modules}
        self._bindings: dict[str, Bindings] = {}
        self._pending: set[str] = set()

    def resolve(self, module: Module, expression: ast.expr | None) -> frozenset[str]:
        """The full names, as ``package.module.Class``, that an expression names; of a call, there are none.

        A tuple, a union and a sum have the names of their parts, a generic type has that of the type. What no module
        here defines has the name that it is imported by, and a builtin its own.
        """
        return frozenset() if expression is None else frozenset(self._named(module, expression))

    def classes(self) -> dict[str, tuple[Module, ast.ClassDef]]:
        """All classes by their full names."""
        modules = self._modules.values()
        return {f"{module.name}.{each.name}": (module, each) for module in modules for each in module.classes}

    def subclasses(self, root: str) -> set[str]:
        """The full names of a class and of everything that inherits from it."""
        bases = {name: self.bases(module, each) for name, (module, each) in self.classes().items()}
        found = {root}
        while new := {name for name, above in bases.items() if above & found} - found:
            found |= new
        return found

    def bases(self, module: Module, node: ast.ClassDef) -> frozenset[str]:
        return frozenset().union(*(self.resolve(module, base) for base in node.bases))

    def _named(self, module: Module, node: ast.expr) -> Iterator[str]:
        match node:
            case ast.Name(id=name):
                yield from self._bound(module, name)
            case ast.Attribute():
                yield from self._attribute(module, node)
            case ast.Constant(value=str(name)) if name.isidentifier():
                yield from self._bound(module, name)
            case ast.Subscript(value=value) | ast.Starred(value=value):
                yield from self._named(module, value)
            case _:
                for part in _parts(node):
                    yield from self._named(module, part)

    def _bound(self, module: Module, name: str) -> Iterator[str]:
        key, bindings = f"{module.name}.{name}", self._bindings_of(module)
        if name not in bindings:
            yield name
        elif key not in self._pending:
            self._pending.add(key)
            for each in bindings[name]:
                yield from self._follow(each, key) if isinstance(each, str) else self._named(module, each)
            self._pending.discard(key)

    def _attribute(self, module: Module, node: ast.Attribute) -> Iterator[str]:
        root, *rest = ast.unparse(node).split(".")
        for each in self._bindings_of(module).get(root, []):
            if isinstance(each, str):
                yield from self._follow(".".join([each, *rest]), "")

    def _follow(self, full: str, asked: str) -> Iterator[str]:
        """What a full name stands for, unless it is what was ``asked``: a definition."""
        package, _, name = full.rpartition(".")
        source = self._modules.get(package)
        known = source is not None and full != asked and name in self._bindings_of(source)
        yield from self._bound(source, name) if source is not None and known else (full,)

    def _bindings_of(self, module: Module) -> Bindings:
        if module.name not in self._bindings:
            self._bindings[module.name] = _bindings(module)
        return self._bindings[module.name]


def _bindings(module: Module) -> Bindings:
    found: Bindings = {}
    for node in module.nodes:
        for name, value in _binding(module, node):
            found.setdefault(name, []).append(value)
    return found


def _binding(module: Module, node: ast.AST) -> Iterator[tuple[str, ast.expr | str]]:
    match node:
        case ast.ImportFrom(module=str(source), names=names):
            yield from ((each.asname or each.name, f"{source}.{each.name}") for each in names)
        case ast.Import(names=names):
            for each in names:
                first = each.name.partition(".")[0]
                yield (each.asname, each.name) if each.asname else (first, first)
        case ast.ClassDef(name=name) | ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
            yield name, f"{module.name}.{name}"
        case ast.Assign(targets=[ast.Name(id=name)], value=value):
            yield name, value
        case ast.AnnAssign(target=ast.Name(id=name), value=ast.expr() as value):
            yield name, value


def _parts(node: ast.expr) -> list[ast.expr]:
    match node:
        case ast.Tuple(elts=parts) | ast.List(elts=parts) | ast.Set(elts=parts):
            return parts
        case ast.BinOp(left=one, right=other) | ast.IfExp(body=one, orelse=other):
            return [one, other]
        case ast.Call(func=ast.Name(id=name), args=parts) if name in _COLLECTIONS:
            return parts
    return []


def parameters(function: Function) -> list[ast.arg]:
    """The parameters of a function, without ``self`` and ``cls``, in their order."""
    given = function.args
    found = [*given.posonlyargs, *given.args, *given.kwonlyargs, given.vararg, given.kwarg]
    return [each for each in found if each is not None and each.arg not in ("self", "cls")]
