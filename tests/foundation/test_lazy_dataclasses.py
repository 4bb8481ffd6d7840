"""Lazy dataclasses behave like standard dataclasses, but generate their methods on first use."""

import dataclasses
import inspect
from collections.abc import Callable
from dataclasses import KW_ONLY, FrozenInstanceError, field
from typing import Any

import pytest

from chalicelib.foundation import lazy_dataclasses

each_way = pytest.mark.parametrize("dataclass", [dataclasses.dataclass, lazy_dataclasses.dataclass])
Decorator = Callable[..., Any]


def point(dataclass: Decorator, **options: bool) -> Any:
    @dataclass(**options)
    class Point:
        """A dataclass with fields of every kind."""

        x: int
        y: int = 2
        names: list[str] = field(default_factory=list)
        _: KW_ONLY
        unit: str = "mm"
        doubled: int = field(init=False, default=0, compare=False)
        cached: int = field(init=False, repr=False, compare=False)

        def __post_init__(self) -> None:
            object.__setattr__(self, "cached", self.x * 2)

    return Point


@each_way
def test_lazy_dataclasses_support_arguments_defaults_and_factories(dataclass: Decorator) -> None:
    made = point(dataclass, frozen=True, slots=True)
    first, second = made(1), made(1, 3, ["a"], unit="cm")

    assert repr(first).endswith("Point(x=1, y=2, names=[], unit='mm', doubled=0)")
    assert (second.y, second.names, second.unit, second.cached) == (3, ["a"], "cm", 2)
    assert first.names is not made(1).names
    assert dataclasses.asdict(dataclasses.replace(first, y=7, names=["b"]))["y"] == 7


@each_way
@pytest.mark.parametrize("arguments", [(), (1, 2, [], "cm"), (1, 2, [], 4)])
def test_missing_and_superfluous_arguments_of_a_lazy_dataclass_raise_type_error(
    dataclass: Decorator, arguments: tuple[Any, ...]
) -> None:
    with pytest.raises(TypeError, match=r"Point\.__init__\(\)"):
        point(dataclass, frozen=True, slots=True)(*arguments)


@each_way
def test_frozen_instances_of_a_lazy_dataclass_are_immutable(dataclass: Decorator) -> None:
    made = point(dataclass, frozen=True, slots=True)(1)

    with pytest.raises(FrozenInstanceError, match="x"):
        made.x = 2
    with pytest.raises(FrozenInstanceError, match="x"):
        del made.x
    assert made.x == 1


@each_way
def test_mutable_instances_of_a_lazy_dataclass_can_be_changed_and_are_unhashable(dataclass: Decorator) -> None:
    made = point(dataclass, slots=True)(1)
    made.x = 5

    assert made.x == 5
    with pytest.raises(TypeError, match="unhashable"):
        hash(made)
    with pytest.raises(AttributeError):
        made.z = 1


@each_way
def test_lazy_dataclass_equality_and_hash_use_the_compared_fields_of_one_class(dataclass: Decorator) -> None:
    @dataclass(frozen=True, slots=True)
    class Pair:
        a: int
        b: int = field(default=0, compare=False)

    @dataclass(frozen=True, slots=True)
    class Other:
        a: int

    assert Pair(1, 2) == Pair(1, 3) != Pair(2, 2)
    assert hash(Pair(1, 2)) == hash(Pair(1, 3))
    assert Pair(1) != Other(1)  # type: ignore[comparison-overlap]
    assert {Pair(1), Pair(1)} == {Pair(1)}


@each_way
def test_lazy_dataclass_instances_without_eq_are_compared_by_identity(dataclass: Decorator) -> None:
    @dataclass(frozen=True, slots=True, eq=False)
    class Rule:
        a: int

    first = Rule(1)
    assert first != Rule(1)
    assert len({first, Rule(1)}) == 2


@each_way
@pytest.mark.parametrize("options", [{"frozen": frozen, "slots": slots} for frozen in (0, 1) for slots in (0, 1)])
def test_a_lazy_dataclass_subclass_adds_fields_and_preserves_explicit_methods(
    dataclass: Decorator, options: Any
) -> None:
    @dataclass(**options)
    class Base:
        a: int

        def __repr__(self) -> str:
            return f"<{self.a}>"

    @dataclass(**options)
    class Derived(Base):
        b: int = 1
        names: list[str] = field(default_factory=list)

    assert repr(Base(1)) == "<1>"
    assert (Derived(1).a, Derived(1).b, Derived(1, 2).b, Base(3).a) == (1, 1, 2, 3)
    assert Derived(1) == Derived(1, 1) != Base(1)
    first, second = Derived(1), Derived(1)
    assert first.names == []
    assert first.names is not second.names


def test_methods_of_a_lazy_dataclass_are_generated_on_first_call(monkeypatch: pytest.MonkeyPatch) -> None:
    made = point(lazy_dataclasses.dataclass, frozen=True, slots=True)

    assert "args" in inspect.signature(made.__init__).parameters
    made(1)
    assert "args" not in inspect.signature(made.__init__).parameters
    assert "args" in inspect.signature(made.__eq__).parameters
