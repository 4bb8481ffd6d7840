"""Tests that the documented response types equal the return types of the flows."""

import ast
import inspect
from collections.abc import Callable, Iterator
from typing import Any, get_type_hints, is_typeddict

import pytest

from chalicelib.openbanking.api import bank_api, oauth_api, tpp_api
from chalicelib.openbanking.flows import deferred_calls, tpp_events
from chalicelib.openbanking.flows.bank import directory
from chalicelib.openbanking.flows.consent import authorization, introspection, pushed_authorization, states, tokens
from chalicelib.openbanking.protocol import oauth_metadata, own_answers
from infra.render.openapi.own_calls import BANK_STEPS, OWN_CALLS, OwnCall, returned_by
from tests.kit.source_code import modules_matching, tree

ANSWERING = (
    tpp_api,
    oauth_api,
    authorization,
    pushed_authorization,
    introspection,
    tokens,
    states,
    deferred_calls,
    directory,
    tpp_events,
)


def functions(holder: object) -> Iterator[Callable[..., object]]:
    for each in vars(holder).values():
        if inspect.isfunction(each):
            yield each
        elif inspect.isclass(each) and inspect.ismodule(holder) and each.__module__ == holder.__name__:
            yield from functions(each)


RETURNED = {
    function.__name__: get_type_hints(function, include_extras=True)["return"]
    for module in ANSWERING
    for function in functions(module)
    if "return" in function.__annotations__
}


def view(call: OwnCall) -> Callable[..., Any]:
    routes = tpp_api.tpp_routes if call.path.startswith("/tpp") else oauth_api.oauth_routes
    return routes.views[call.path][call.method]


@pytest.mark.parametrize("call", OWN_CALLS, ids=lambda call: call.path)
def test_every_call_returns_its_documented_response_type(call: OwnCall) -> None:
    documented = returned_by(call.answered_by)
    source = ast.parse(inspect.getsource(view(call)))
    calls = [
        node for node in ast.walk(source) if isinstance(node, ast.Call) and ast.unparse(node.func) == "json_answer"
    ]

    assert is_typeddict(documented)
    assert documented.__module__ in (own_answers.__name__, oauth_metadata.__name__)
    assert calls
    for answer in calls:
        assert RETURNED[made_by(answer.args[0], source)] is documented


def made_by(value: ast.expr, source: ast.Module) -> str:
    if isinstance(value, ast.Name):
        assigned = [node for node in ast.walk(source) if isinstance(node, ast.Assign)]
        (value,) = [node.value for node in assigned if ast.unparse(node.targets[0]) == value.id]
    assert isinstance(value, ast.Call)
    name = ast.unparse(value.func).rpartition(".")[2]
    return ast.unparse(value.args[0]) if name == "call" else name


@pytest.mark.parametrize("name", BANK_STEPS)
def test_every_bank_call_returns_its_documented_response_type(name: str) -> None:
    step = bank_api.step(name)

    assert step is BANK_STEPS[name]
    assert is_typeddict(returned_by(step))


def test_api_and_flows_build_no_untyped_response() -> None:
    free = {"build_bank_request", "build_unified_request", "_build_request"}  # what a bank is sent
    for module in modules_matching(("chalicelib/openbanking/api/**", "chalicelib/openbanking/flows/**")):
        for node in ast.walk(tree(module)):
            if isinstance(node, ast.FunctionDef) and node.returns is not None and node.name not in free:
                assert "dict[str, Any]" not in ast.unparse(node.returns), f"{module}.{node.name}"
            if isinstance(node, ast.Call) and ast.unparse(node.func) == "json_answer":
                assert not isinstance(node.args[0], ast.Dict), f"{module}:{node.lineno}"
