"""Names and sizes of modules. The modules are those of this repository, or source texts in tests.

``Names`` resolves names to classes and functions through imports, aliases and tuples.
"""

import ast
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from tests.kit.source_code import ROOT, SOURCES, parse, path_matches, within

Function = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(frozen=True)
class Module:
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
        return sorted(ast.walk(self.tree), key=lambda node: getattr(node, "lineno", 0))

    @property
    def functions(self) -> list[Function]:
        return [node for node in self.nodes if isinstance(node, Function)]

    @property
    def classes(self) -> list[ast.ClassDef]:
        return [node for node in self.nodes if isinstance(node, ast.ClassDef)]

    def place(self, node: ast.stmt | ast.expr | ast.excepthandler, about: str = "") -> str:
        return f"{self.path}:{node.lineno} {about}".rstrip()


def read(folder: str) -> list[Module]:
    paths = [path for name, path in SOURCES.items() if within(name, folder)]
    return [Module(path.relative_to(ROOT).as_posix(), path.read_text(encoding="utf-8")) for path in paths]


def matching(modules: Iterable[Module], globs: tuple[str, ...]) -> list[Module]:
    return [module for module in modules if path_matches(module.path, globs)]


Bindings = dict[str, list[ast.expr | str]]
"""The values of a module's names: expressions, or the full names of imported or defined objects."""
_COLLECTIONS = {"tuple", "frozenset", "set", "list"}


class Names:
    """The names of ``modules`` in all scopes. A name can have several meanings, and all meanings count."""

    def __init__(self, modules: Iterable[Module]) -> None:
        self._modules = {module.name: module for module in modules}
        self._bindings: dict[str, Bindings] = {}
        self._pending: set[str] = set()

    def resolve(self, module: Module, expression: ast.expr | None) -> frozenset[str]:
        """Return the full names (``package.module.Class``) that an expression refers to. Return no names for a call.

        A tuple, union or sum returns the names of all its parts, and a generic type returns the name of the type. A
        name that no module in ``modules`` defines is returned as imported, and a builtin name is returned unchanged.
        """
        return frozenset() if expression is None else frozenset(self._named(module, expression))

    def classes(self) -> dict[str, tuple[Module, ast.ClassDef]]:
        modules = self._modules.values()
        return {f"{module.name}.{each.name}": (module, each) for module in modules for each in module.classes}

    def subclasses(self, root: str) -> set[str]:
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

    def _follow(self, full: str, origin: str) -> Iterator[str]:
        """Return the definitions to which a full name refers, or ``origin`` itself if the name is defined there."""
        package, _, name = full.rpartition(".")
        source = self._modules.get(package)
        known = source is not None and full != origin and name in self._bindings_of(source)
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
    given = function.args
    found = [*given.posonlyargs, *given.args, *given.kwonlyargs, given.vararg, given.kwarg]
    return [each for each in found if each is not None and each.arg not in ("self", "cls")]


LONGEST_MODULE, LONGEST_FUNCTION = 400, 40
"""The maximum number of lines of a module, and the maximum number of statements of a function."""


def statements(modules: Iterable[Module]) -> int:
    """Return all ``ast.stmt`` nodes, including nested statements and imports, without documentation strings."""
    return sum(_statements(module.nodes) for module in modules)


def _statements(nodes: Iterable[ast.AST]) -> int:
    return sum(isinstance(node, ast.stmt) and not _is_string(node) for node in nodes)


def _is_string(node: ast.stmt) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)


def lines(modules: Iterable[Module], path: str) -> int:
    return sum(len(module.text.splitlines()) for module in modules if module.path == path)


def long_modules(modules: Iterable[Module]) -> list[str]:
    found = [(module.path, lines([module], module.path)) for module in modules]
    return [f"{path} {length}" for path, length in found if length > LONGEST_MODULE]


def long_functions(modules: Sequence[Module]) -> list[str]:
    """Return the functions of more than 40 statements. Statements of inner functions count."""
    found = [
        (module.place(each, each.name), _statements(ast.walk(each)) - 1)
        for module in modules
        for each in module.functions
    ]
    return [f"{place} {count}" for place, count in found if count > LONGEST_FUNCTION]
