"""Functions that detect classes and factories that only store or bind other objects of the containers."""

import ast
from collections.abc import Iterator, Sequence

from tests.kit.source_code import BOOTSTRAP
from tests.shape.modules import Function, Module, Names, matching, parameters

_CONTAINERS = ("chalicelib/**/*container.py", *BOOTSTRAP)
_PROPERTIES = {"property", "functools.cached_property"}
_DATACLASS = "dataclass"
_PARTIAL = "functools.partial"


class Collaborators:
    """A search for classes that containers create, and for classes and functions that combine only objects of these
    classes.
    """

    def __init__(self, modules: Sequence[Module]) -> None:
        self._names = Names(modules)
        self._classes = self._names.classes()
        self._containers = matching(modules, _CONTAINERS)
        self._others = [module for module in modules if module not in self._containers]
        self.made = {name for module in self._containers for name in self._made(module)} & self._classes.keys()
        """The full names of the containers, and of the classes that containers create or receive.

        These classes are the types of a container's parts and properties, the types of the parameters of ``__init__``,
        and the classes that a container calls or passes to ``partial``.
        """

    def dataclasses(self) -> list[str]:
        """Return dataclasses in which every field has the type of a container object and no default value.

        Classes that inherit fields are not included.
        """
        return [
            module.place(each, each.name)
            for module in self._others
            for each in module.classes
            if any(map(_is_dataclass, each.decorator_list)) and self._are_made(module, _fields(each))
            if not any(
                _fields(self._classes[base][1]) for base in self._names.bases(module, each) & self._classes.keys()
            )
        ]

    def classes(self) -> list[str]:
        """Return classes whose ``__init__`` only assigns parameters, and whose parameters are all objects of the
        containers.
        """
        return [
            module.place(each, each.name)
            for module in self._others
            for each in module.classes
            for init in each.body
            if isinstance(init, ast.FunctionDef) and init.name == "__init__"
            if self._take_made(module, init) and _assigns_names_only(init)
        ]

    def factories(self) -> list[str]:
        """Return functions that take only objects of containers, and return an inner function, lambda or partial."""
        return [
            module.place(each, each.name)
            for module in self._others
            for each in module.functions
            if self._take_made(module, each) and any(self._is_function(module, each, node) for node in _returned(each))
        ]

    def _made(self, module: Module) -> Iterator[str]:
        resolve = self._names.resolve
        yield from (f"{module.name}.{each.name}" for each in module.classes)
        for node in module.nodes:
            match node:
                case ast.FunctionDef(name="__init__"):
                    for each in parameters(node):
                        yield from resolve(module, each.annotation)
                case ast.FunctionDef(decorator_list=[*decorators], returns=returns):
                    if any(resolve(module, each) & _PROPERTIES for each in decorators):
                        yield from resolve(module, returns)
                case ast.AnnAssign(annotation=annotation):
                    yield from resolve(module, annotation)
                case ast.Call(func=function, args=arguments):
                    called = resolve(module, function)
                    yield from called
                    yield from resolve(module, arguments[0]) if _PARTIAL in called else ()

    def _are_made(self, module: Module, annotations: Sequence[ast.expr | None]) -> bool:
        found = [self._names.resolve(module, each) for each in annotations]
        return bool(found) and all(each and each <= self.made for each in found)

    def _take_made(self, module: Module, function: Function) -> bool:
        return self._are_made(module, [each.annotation for each in parameters(function)])

    def _is_function(self, module: Module, factory: Function, returned: ast.expr) -> bool:
        inside = {node.name for node in ast.walk(factory) if isinstance(node, Function) and node is not factory}
        match returned:
            case ast.Name(id=name):
                return name in inside
            case ast.Call(func=called):
                return _PARTIAL in self._names.resolve(module, called)
        return isinstance(returned, ast.Lambda)


def _is_dataclass(decorator: ast.expr) -> bool:
    called = decorator.func if isinstance(decorator, ast.Call) else decorator
    return ast.unparse(called).rpartition(".")[2] == _DATACLASS


def _fields(node: ast.ClassDef) -> list[ast.expr | None]:
    """Return the annotations of the fields. The annotation of a field with a default is ``None``."""
    return [each.annotation if each.value is None else None for each in node.body if isinstance(each, ast.AnnAssign)]


def _assigns_names_only(init: ast.FunctionDef) -> bool:
    assigned = [node.value for node in ast.walk(init) if isinstance(node, ast.Assign | ast.AnnAssign | ast.AugAssign)]
    return all(isinstance(value, ast.Name) for value in assigned)


def _returned(function: Function) -> list[ast.expr]:
    return [node.value for node in ast.walk(function) if isinstance(node, ast.Return) and node.value is not None]
