"""The dependency container creates a part on first use, from the parts named in the part's parameters."""

from __future__ import annotations  # a container reads the names of its annotations

from dataclasses import field

import pytest

from chalicelib.foundation.lazy_dataclasses import dataclass
from chalicelib.foundation.wiring import Container, part


@dataclass(frozen=True, slots=True)
class Engine:
    fuel: str
    pistons: int
    hours: list[int] = field(default_factory=list)


class Car:
    def __init__(self, engine: Engine, colour: str, doors: int = 5) -> None:
        self.engine, self.colour, self.doors = engine, colour, doors


class Roof:
    def __init__(self, straw: str) -> None:
        self.straw = straw


@dataclass(frozen=True)
class Depot:
    fuel: str
    pistons: int = 4

    @property
    def colour(self) -> str:
        return "red"


class Garage(Container):
    """A container with two complete parts, and one part with a parameter for which the container has no part."""

    engine: Engine = part(__name__)
    car: Car = part(__name__)
    roof: Roof = part(__name__)

    def __init__(self) -> None:
        self.parents = (Depot("diesel"),)


def test_a_container_creates_a_dependency_from_other_dependencies_and_preset_values() -> None:
    garage = Garage()

    assert garage.car.engine is garage.engine
    assert (garage.car.colour, garage.car.doors) == ("red", 5)
    assert garage.engine == Engine("diesel", 4)


def test_an_object_of_the_container_is_created_once_on_first_use() -> None:
    garage = Garage()
    assert "engine" not in vars(garage)

    assert garage.car is garage.car
    assert garage.engine is not Garage().engine


def test_the_error_for_a_missing_object_of_the_container_names_the_object() -> None:
    with pytest.raises(LookupError, match="Garage has no straw"):
        _ = Garage().roof


def drive(distance: int, *, car: Car, colour: str, speed: int = 50) -> tuple[int, Car, str, int]:
    return distance, car, colour, speed


def test_a_flow_receives_the_objects_named_by_its_keyword_only_parameters() -> None:
    garage = Garage()

    assert garage.call(drive, 7) == (7, garage.car, "red", 50)


def test_a_preset_value_replaces_a_dependency_of_the_container() -> None:
    assert Garage().call(drive, 7, colour="blue", speed=90)[2:] == ("blue", 90)


def test_a_flow_that_requires_a_missing_object_of_the_container_is_not_called() -> None:
    def thatch(*, straw: str) -> None:
        raise AssertionError(straw)

    with pytest.raises(LookupError, match="Garage has no straw"):
        Garage().call(thatch)
