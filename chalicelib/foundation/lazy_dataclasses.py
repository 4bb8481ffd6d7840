"""Dataclasses whose methods are generated when they are first called, not when the class is defined.

The standard decorator compiles up to six methods of each class at import, in half a millisecond. A cold start defines
hundreds of classes, of which a request uses only a few.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from types import MemberDescriptorType
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar

T = TypeVar("T")
_MISSING = object()
"""The default value of a parameter, which is replaced by the result of a factory."""

if TYPE_CHECKING:
    from dataclasses import dataclass as dataclass  # noqa: PLC0414 - exported
else:

    def dataclass(cls=None, /, **options: bool):
        """``dataclasses.dataclass`` with the options ``frozen``, ``slots``, ``kw_only`` and ``eq``."""
        return _define(cls, **options) if cls else lambda cls: _define(cls, **options)


def _define(cls: type[T], *, frozen: bool = False, eq: bool = True, **options: bool) -> type[T]:
    names = ["__init__", "__repr__", *(["__eq__"] if eq else ()), *(["__hash__"] if eq and frozen else ())]
    generated = [name for name in names if name not in vars(cls)]
    made: Any = dataclasses.dataclass(init=False, repr=False, eq=False, **options)(cls)
    for name in generated:
        setattr(made, name, _stub(made, name, frozen))
    if eq and not frozen and "__hash__" not in vars(cls):
        made.__hash__ = None
    if frozen:
        made.__setattr__ = made.__delattr__ = _refuse_change
    result: type[T] = made
    return result


def _stub(made: type, name: str, frozen: bool) -> Callable[..., Any]:

    def method(self: object, *args: Any, **kwargs: Any) -> Any:
        generated = _generate_init(made, frozen) if name == "__init__" else _generate(made, name, frozen)
        setattr(made, name, generated)
        return generated(self, *args, **kwargs)

    return method


def _generate_init(made: Any, frozen: bool) -> Any:
    """Generate only ``__init__``, because every class in use needs this method.

    For frozen classes, the standard decorator would also generate two other methods. The generated method sets a slot
    through the slot's descriptor, in half the time of ``object.__setattr__``.
    """
    known: dict[str, Any] = {"_set": object.__setattr__, "_MISSING": _MISSING}
    positional, keywords, lines = ["self"], ["*"], []
    for field in dataclasses.fields(made):
        name = parameter = value = field.name
        if field.default_factory is not dataclasses.MISSING:
            known[f"_make_{name}"] = field.default_factory
            parameter, value = f"{name}=_MISSING", f"_make_{name}() if {name} is _MISSING else {name}"
        elif field.default is not dataclasses.MISSING:
            known[f"_default_{name}"] = field.default
            parameter = f"{name}=_default_{name}"
        if field.init:
            (keywords if field.kw_only else positional).append(parameter)
        elif parameter == name:
            continue
        else:
            value = f"_make_{name}()" if f"_make_{name}" in known else f"_default_{name}"
        if not frozen:
            lines.append(f"    self.{name} = {value}")
        elif isinstance(slot := vars(made).get(name), MemberDescriptorType):
            known[f"_set_{name}"] = slot.__set__
            lines.append(f"    _set_{name}(self, {value})")
        else:
            lines.append(f'    _set(self, "{name}", {value})')
    if hasattr(made, "__post_init__"):
        lines.append("    self.__post_init__()")
    parameters = ", ".join(positional + (keywords if len(keywords) > 1 else []))
    exec("\n".join([f"def __init__({parameters}):", *lines, "    return None"]), known)  # noqa: S102 - of own fields
    known["__init__"].__qualname__ = f"{made.__qualname__}.__init__"
    return known["__init__"]


def _generate(made: type, name: str, frozen: bool) -> Any:
    fields = {field.name: field for field in dataclasses.fields(made)}
    members: dict[str, Any] = {"__module__": made.__module__, "__qualname__": made.__qualname__, **fields}
    members["__annotations__"] = {name: field.type for name, field in fields.items()}
    members["__doc__"] = made.__name__  # otherwise the decorator would generate one from the signature
    wanted = {"init": False, "repr": name == "__repr__", "eq": name in ("__eq__", "__hash__")}
    same: Any = dataclasses.dataclass(frozen=frozen, **wanted)(type(made.__name__, (), members))
    return vars(same)[name]


def _refuse_change(self: object, name: str, *_: object) -> NoReturn:
    raise dataclasses.FrozenInstanceError(f"cannot assign to field {name!r}")
