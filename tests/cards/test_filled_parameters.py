"""Tests of parameters that the container injects by name: each parameter has the name and the class of a container
part.
"""

import ast
from collections.abc import Callable, Iterator
from functools import cached_property
from inspect import Parameter, signature
from itertools import chain
from typing import Any

import pytest

from chalicelib.bootstrap import Hub
from chalicelib.cards.actions import ACTIONS, PORTAL_ACTIONS, SIMULATOR_ACTIONS
from chalicelib.cards.authorization.decline_recovery import record_decline
from chalicelib.cards.authorization.hold_release import expire_holds
from chalicelib.cards.container import CardContainer
from chalicelib.cards.events.card_events import send_card_event
from chalicelib.cards.events.event_secrets import create_events_secret, has_events_secret, rotate_events_secret
from chalicelib.cards.payments.provider_completion import ask_provider, finish_due_payments, record_reply
from chalicelib.cards.reconciliation.rolling_proof import next_proof_due, prove_accounts
from chalicelib.delivery.container import DeliveryContainer
from tests.kit.source_code import SOURCES, tree, within

CALLED: tuple[Callable[..., Any], ...] = (
    *(record_decline, expire_holds, send_card_event, finish_due_payments, prove_accounts, next_proof_due),
    *(create_events_secret, has_events_secret, rotate_events_secret, ask_provider, record_reply),
)
"""Functions that are called through the container: jobs, tasks, the provider call, and other functions."""


def of_actions() -> Iterator[Callable[..., Any]]:
    for row in chain(*(table.values() for table in (ACTIONS, SIMULATOR_ACTIONS, PORTAL_ACTIONS))):
        yield from filter(None, (row.handler, row.late, row.unrecorded))


FUNCTIONS: dict[str, Callable[..., Any]] = {
    f"{each.__module__.rpartition('.')[2]}.{each.__name__}": each for each in (*of_actions(), *CALLED)
}


def parts(container: type) -> dict[str, str]:
    found: dict[str, str] = {}
    for kind in reversed(container.__mro__):
        found |= getattr(kind, "__annotations__", {})
        found |= {
            name: each.func.__annotations__["return"]
            for name, each in vars(kind).items()
            if isinstance(each, cached_property)
        }
    return found | {"clock": "Clock"}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_every_injected_parameter_has_the_name_and_the_class_of_an_object_of_the_container(name: str) -> None:
    known = {**parts(Hub), **parts(DeliveryContainer), **parts(CardContainer)}
    asked = {
        each.name: each.annotation
        for each in signature(FUNCTIONS[name]).parameters.values()
        if each.kind is Parameter.KEYWORD_ONLY and each.default is Parameter.empty
    }

    assert {each: known.get(each) for each in asked} == asked


def test_the_checked_functions_include_every_function_passed_to_cards_call() -> None:
    """Functions that are passed as an argument or in a partial are included."""
    found = set()
    for module in (each for each in SOURCES if within(each, "chalicelib", "infra")):
        for node in ast.walk(tree(module)):
            match node:
                case (
                    ast.Call(func=ast.Attribute(value=of, attr="call"), args=[called, *_])
                    | ast.Call(func=ast.Name(id="partial"), args=[ast.Attribute(value=of, attr="call"), called, *_])
                ) if ast.unparse(of).rpartition(".")[2].strip("_") == "cards":
                    found.add(ast.unparse(called).rpartition(".")[2])

    assert "expire_holds" in found
    assert found <= {each.__name__ for each in CALLED}
