"""Authorizations cost little more than their calls of DynamoDB: the bare script beside them makes the same ones."""

from __future__ import annotations

from typing import Any

from tests.bench.against_bare import bare
from tests.bench.authorizations import Authorizations
from tests.bench.bare_authorization import BareAuthorization
from tests.bench.same_calls import calls_of, calls_of_client
from tests.causeway import Causeway


def test_the_bare_authorization_script_makes_the_same_dynamodb_calls(causeway: Causeway) -> None:
    ours, script = Authorizations(causeway.hub, causeway.card_credentials), bare(BareAuthorization, causeway.hub)
    card = ours.card()

    causeway.clock.advance(1)  # past the card's last row
    by_us = _in_order(calls_of(lambda: ours(card)))
    by_script = _in_order(calls_of_client(script._dynamodb, lambda: script(card)))

    assert by_script == by_us
    assert [name for name, _ in by_script] == ["BatchGetItem", "BatchGetItem", "PutItem", "TransactWriteItems"]


def _in_order(calls: list[Any]) -> list[Any]:
    """Calls with the second read before the reservation that is made at the same time."""
    first, *parallel, last = calls
    return [first, *sorted(parallel, key=lambda call: str(call[0])), last]
