"""Classes and factories that only combine objects of the containers are detected."""

import pytest

from tests.shape.collaborators import Collaborators
from tests.shape.modules import Module

CONTAINER = Module(
    "chalicelib/cards/container.py",
    """
from functools import cached_property, partial
from chalicelib.cards.parts import Clients, Clock, Limits, Relay, Settings, Store

class CardContainer:
    clients: Clients = part("chalicelib.cards.parts")

    def __init__(self, settings: Settings) -> None:
        self.settings = settings

    @cached_property
    def store(self) -> Store:
        return open_store()

    @cached_property
    def relay(self) -> Relay:
        return Relay(self.store, partial(Limits, Clock()))

    def amount(self) -> Money: ...
""",
)
PARTS = "\n".join(
    f"class {name}: ..." for name in ["Clients", "Clock", "Limits", "Money", "Relay", "Settings", "Store"]
)
MODULES = [CONTAINER, Module("chalicelib/cards/parts.py", PARTS)]
IMPORTS = (
    "from functools import partial\nfrom chalicelib.foundation.lazy_dataclasses import dataclass\n"
    "from chalicelib.cards.parts import Clock, Money, Settings, Store\n"
)


def with_(source: str) -> Collaborators:
    return Collaborators([*MODULES, Module("chalicelib/cards/flows/one.py", IMPORTS + source)])


def test_the_container_analysis_lists_injected_objects_called_classes_and_properties() -> None:
    names = {name.rpartition(".")[2] for name in Collaborators(MODULES).made}

    assert names == {"CardContainer", "Clients", "Clock", "Limits", "Relay", "Settings", "Store"}


@pytest.mark.parametrize(
    "fields", ["store: Store", "store: Store\n    clock: Clock | None", "settings: Settings\n    store: 'Store'"]
)
def test_a_dataclass_whose_fields_are_all_injected_objects_is_counted(fields: str) -> None:
    found = with_(f"@dataclass(frozen=True)\nclass Flow:\n    {fields}")

    assert found.dataclasses() == ["chalicelib/cards/flows/one.py:5 Flow"]


@pytest.mark.parametrize(
    "fields",
    ["store: Store\n    amount: Money", "store: Store\n    seen: int", "store: Store = None", "pass", "'Nothing.'"],
)
def test_a_dataclass_with_a_field_that_is_not_an_injected_object_is_not_counted(fields: str) -> None:
    assert with_(f"@dataclass\nclass Flow:\n    {fields}").dataclasses() == []


def test_a_class_without_the_dataclass_decorator_is_not_counted_as_a_dataclass() -> None:
    assert with_("class Flow:\n    store: Store").dataclasses() == []


def test_a_class_whose_constructor_has_only_injected_objects_as_parameters_is_counted() -> None:
    found = with_("class Flow:\n    def __init__(self, store: Store) -> None:\n        self._store = store")

    assert found.classes() == ["chalicelib/cards/flows/one.py:4 Flow"]


@pytest.mark.parametrize(
    "init",
    [
        "def __init__(self, amount: Money) -> None: self.amount = amount",
        "def __init__(self, store: Store) -> None: self.cache = {}",
        "def __init__(self, store) -> None: self.store = store",
        "def __init__(self) -> None: ...",
        "def use(self, store: Store) -> None: ...",
    ],
)
def test_a_class_that_receives_or_stores_objects_that_are_not_injected_is_not_counted(init: str) -> None:
    assert with_(f"class Flow:\n    {init}").classes() == []


@pytest.mark.parametrize(
    "body", ["def flow(): ...\n    return flow", "return lambda: store", "return partial(act, store)"]
)
def test_a_factory_that_has_only_injected_objects_as_parameters_is_counted(body: str) -> None:
    found = with_(f"def new_flow(store: Store):\n    {body}")

    assert found.factories() == ["chalicelib/cards/flows/one.py:4 new_flow"]


@pytest.mark.parametrize("source", ["def act(store: Store): return store", "def act(): return lambda: 1"])
def test_a_function_that_does_not_return_a_function_is_not_counted_as_a_factory(source: str) -> None:
    assert with_(source).factories() == []


def test_a_dependency_container_is_not_counted_as_a_class_of_injected_objects() -> None:
    assert Collaborators(MODULES).classes() == []
