"""In the throughput comparison, boto3 can replay the service's DynamoDB calls repeatedly."""

import pytest

from tests.bench.throughput import WORKS, recorded_calls, script_of
from tests.cards.issuer import Issuer
from tests.causeway import Causeway

OPERATIONS = {
    "transfers": [
        *("BatchGetItem", "BatchGetItem", "TransactWriteItems"),  # until the provider is called
        *("PutItem", "TransactWriteItems"),
    ],
    "authorizations": ["BatchGetItem", "BatchGetItem", "PutItem", "TransactWriteItems"],
}


@pytest.mark.parametrize("name", OPERATIONS)
def test_boto3_can_replay_the_recorded_dynamodb_calls_of_a_request_repeatedly(causeway: Causeway, name: str) -> None:
    issuer, work = Issuer(causeway), WORKS[name]
    record = work.new_record(issuer)
    assert work.request(issuer, record)
    causeway.clock.advance(1)  # past the card's last row

    calls = recorded_calls(lambda: work.request(issuer, record))
    first, *parallel, last = [call.operation for call in calls]

    if name == "authorizations":  # the second read is made beside a reservation
        parallel.sort()
    assert [first, *parallel, last] == OPERATIONS[name]
    script = script_of(calls)
    for _ in range(2):
        script()
