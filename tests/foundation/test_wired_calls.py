"""The container passes arguments to functions by name: each parameter has a part with the annotated class."""

import ast
from collections.abc import Callable, Iterator, Mapping
from functools import cached_property
from importlib import import_module
from inspect import Parameter, signature
from typing import Any

import pytest

from chalicelib.bootstrap import Hub
from chalicelib.cards.container import CardContainer
from chalicelib.delivery.container import DeliveryContainer
from chalicelib.foundation.container import Infrastructure
from chalicelib.foundation.settings import Settings
from chalicelib.foundation.wiring import Container
from chalicelib.openbanking.api.bank_api import step
from chalicelib.openbanking.container import OpenBankingContainer
from chalicelib.openbanking.protocol.bank_calls import BANK_CALLS
from chalicelib.sandbox_clock.container import ClockContainer
from chalicelib.statistics.container import StatisticsContainer
from chalicelib.website.authorization.web_tpp_flow import end_consent, exchange_code, refresh_tokens
from chalicelib.website.container import WebsiteContainer
from tests.kit.source_code import MODULES, tree, within

ROOMS = {
    "chalicelib.openbanking": OpenBankingContainer,
    "chalicelib.website": WebsiteContainer,
    "chalicelib.sandbox_clock": ClockContainer,
}
"""The container that provides the arguments for the functions of a package, by package."""
OTHERS: dict[type[Container], tuple[type, ...]] = {
    OpenBankingContainer: (DeliveryContainer, StatisticsContainer),
    WebsiteContainer: (DeliveryContainer, StatisticsContainer, OpenBankingContainer),
    ClockContainer: (DeliveryContainer, StatisticsContainer, OpenBankingContainer, CardContainer),
}
"""The additional containers in which a container finds parts."""


def flows() -> Iterator[tuple[type[Container], str, str, frozenset[str]]]:
    """Yield each function that a container calls, with the container and the names of the arguments that the caller
    passes.
    """
    for module in MODULES:
        known = dict(_known(module))
        for node in ast.walk(tree(module)):
            match node:
                case (
                    ast.Call(func=ast.Attribute(attr="call") | ast.Name(id="call" | "call_hub"), args=[flow, *_])
                    | ast.Call(args=[ast.Attribute(attr="call") | ast.Name(id="call"), flow, *_])
                ):
                    given = frozenset(each.arg for each in node.keywords if each.arg is not None)
                    starred = any(each.arg is None for each in node.keywords)
                    for source, original in _called(flow, known):
                        container = next((kind for room, kind in ROOMS.items() if within(source, room)), None)
                        if container is not None and not starred:
                            yield container, source, original, given


def _called(flow: ast.expr, known: Mapping[str, tuple[str, str]]) -> Iterator[tuple[str, str]]:
    """Yield the functions that an expression calls: one function, or both alternatives of a conditional expression."""
    for node in ast.walk(flow):
        match node:
            case ast.Attribute(value=ast.Name(id=name), attr=function) if ".".join(known.get(name, ())) in MODULES:
                yield ".".join(known[name]), function
            case ast.Name(id=name) if name in known and ".".join(known[name]) not in MODULES:
                yield known[name]


def _known(module: str) -> Iterator[tuple[str, tuple[str, str]]]:
    for node in ast.walk(tree(module)):
        match node:
            case ast.ImportFrom(module=str(source), names=names):
                yield from ((each.asname or each.name, (source, each.name)) for each in names)
            case ast.FunctionDef(name=name):
                yield name, (module, name)


def parts(container: type[Container]) -> dict[str, str]:
    holders = [container, *OTHERS[container], Hub, Infrastructure, Settings, Container]
    return {name: kind for holder in reversed(holders) for name, kind in _parts(holder)}


def _parts(holder: type) -> Iterator[tuple[str, str]]:
    yield "settings", "Settings"
    for name, kind in getattr(vars(holder).get("__init__"), "__annotations__", {}).items():
        yield name, kind.removesuffix(" | None")
    yield from holder.__annotations__.items()
    for name, member in vars(holder).items():
        function = member.func if isinstance(member, cached_property) else getattr(member, "fget", None)
        if function is not None:
            yield name, function.__annotations__["return"]


FLOWS = sorted({(name, container, source, given) for container, source, name, given in flows()}, key=str)


@pytest.mark.parametrize(("name", "container", "source", "given"), FLOWS, ids=[each[0] for each in FLOWS])
def test_the_injected_parameters_of_flows_have_the_types_of_the_objects_of_the_container(
    name: str, container: type[Container], source: str, given: frozenset[str]
) -> None:
    check_filled(getattr(import_module(source), name), container, given)


@pytest.mark.parametrize(
    "flow", [*(step(call.name) for call in BANK_CALLS), exchange_code, refresh_tokens, end_consent]
)
def test_parameters_of_flows_selected_by_name_have_the_types_of_the_objects_of_the_container(
    flow: Callable[..., Any],
) -> None:
    check_filled(flow, WebsiteContainer if within(flow.__module__, "chalicelib.website") else OpenBankingContainer)


def check_filled(flow: Callable[..., Any], container: type[Container], given: frozenset[str] = frozenset()) -> None:
    """Check that the dependency container provides each required parameter of ``flow`` with the same type. Parameters
    in ``given`` are excluded.
    """
    found = parts(container)
    wanted = {
        each.name: each.annotation
        for each in signature(flow).parameters.values()
        if each.kind is Parameter.KEYWORD_ONLY and each.default is Parameter.empty and each.name not in given
    }

    assert {name: found.get(name) for name in wanted} == wanted
