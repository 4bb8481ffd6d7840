"""Transfers cost little more than their calls of DynamoDB: the bare script beside them makes the same ones."""

from __future__ import annotations

from tests.bench.against_bare import bare
from tests.bench.bare_transfer import BareTransfer
from tests.bench.same_calls import calls_of, calls_of_client
from tests.bench.transfers import Transfers
from tests.causeway import Causeway


def test_the_bare_transfer_script_makes_the_same_dynamodb_calls(causeway: Causeway) -> None:
    ours, script = Transfers(causeway.hub, causeway.card_credentials), bare(BareTransfer, causeway.hub)
    address = ours.address()

    by_script = calls_of_client(script._dynamodb, lambda: script(address))

    assert by_script == calls_of(lambda: ours(address))
    assert [name for name, _ in by_script] == [
        *("BatchGetItem", "BatchGetItem", "TransactWriteItems"),  # until the provider is called
        *("PutItem", "TransactWriteItems"),
    ]
