"""Dependency injection by name. A component is created on first use, and the parameter names of its factory select the
components that the factory receives.

A cold start imports only the modules of the components that its request uses.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from dataclasses import MISSING
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Any, Concatenate, Protocol, TypeVar, overload

A = TypeVar("A")
X = TypeVar("X")
Y = TypeVar("Y")
Z = TypeVar("Z")


class _Part:
    """A descriptor for a component. The component is an instance of the annotated class, which is imported from
    ``module``.
    """

    def __init__(self, module: str) -> None:
        self._module = module

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    def __get__(self, container: Container | None, owner: type[Container]) -> Any:
        if container is None:
            return self
        factory = getattr(import_module(self._module), owner.__annotations__[self._name])
        made = container.__dict__[self._name] = container.make(factory)
        return made


def part(module: str) -> Any:
    """Declare a component of a container. Its class is the annotated class, which is imported from ``module``."""
    return _Part(module)


class Call(Protocol):
    """A function that calls a flow. Keyword-only parameters that are not in ``given`` receive the components with the
    same names.

    A flow that calls other flows has a parameter ``call``.
    """

    @overload
    def __call__(self, function: Callable[..., A], /, **given: Any) -> A: ...

    @overload
    def __call__(self, function: Callable[Concatenate[X, ...], A], first: X, /, **given: Any) -> A: ...

    @overload
    def __call__(self, function: Callable[Concatenate[X, Y, ...], A], first: X, second: Y, /, **given: Any) -> A: ...

    @overload
    def __call__(
        self, function: Callable[Concatenate[X, Y, Z, ...], A], first: X, second: Y, third: Z, /, **given: Any
    ) -> A: ...


class Container:
    """The components of one package of the service. ``parents`` provide further components."""

    parents: Sequence[object] = ()
    call: Call

    def make(self, factory: Callable[..., Any], **given: Any) -> Any:
        """Call a factory with ``given``. All other parameters receive the components with the same names."""
        return factory(**given, **{name: self._find(name) for name in _needs(factory) if name not in given})

    if not TYPE_CHECKING:

        def call(self, function: Callable[..., Any], /, *arguments: Any, **given: Any) -> Any:
            filled = {name: self._find(name) for name in _keyword_only(function) if name not in given}
            return function(*arguments, **given, **filled)

    def _find(self, name: str) -> Any:
        rooms = (self, *self.parents)
        holder = next((each for each in rooms if any(name in vars(of) for of in (each, *type(each).__mro__))), None)
        if holder is None:
            raise LookupError(f"{type(self).__name__} has no {name}")
        return getattr(holder, name)


@cache
def _keyword_only(function: Any) -> tuple[str, ...]:
    code, defaults = function.__code__, function.__kwdefaults__ or {}
    names = code.co_varnames[code.co_argcount : code.co_argcount + code.co_kwonlyargcount]
    return tuple(name for name in names if name not in defaults)


def _needs(factory: Any) -> list[str]:
    if dataclasses.is_dataclass(factory):
        fields = dataclasses.fields(factory)
        return [each.name for each in fields if each.default is MISSING and each.default_factory is MISSING]
    code, defaults = getattr(factory.__init__, "__code__", None), getattr(factory.__init__, "__defaults__", ())
    return list(code.co_varnames[1 : code.co_argcount - len(defaults or ())]) if code else []
