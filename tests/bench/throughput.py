"""Measures requests per second of the service in this process, compared with boto3 replaying the recorded DynamoDB
calls.

The conditions of replayed calls are always true, so boto3 never waits for a concurrent client. Clients are threads of
this process.
"""

import contextlib
import itertools
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from typing import Any

from botocore.exceptions import ClientError

from chalicelib.foundation.aws.calls import Call
from chalicelib.foundation.clock import Clock
from infra.local.dynamodb_local import DynamoDBLocal
from infra.local.resources import create_resources
from tests.bench.boto3_script import Boto3Script
from tests.bench.environment import child, environment
from tests.cards.issuer import BRITAIN, GBP, Issuer
from tests.causeway import Causeway
from tests.kit.storage import observe_calls

CLIENTS = (1, 8, 32)
MANY = 64
"""The number of records in runs that spread the requests over several records."""
GOAL = 0.7
SECONDS, ROUNDS = 4.0, 2
"""The duration of a run in seconds, and the number of times that boto3 and the service run alternately."""
_FUNDS = 1_000_000
PURCHASE = {
    "transaction_type": 0,
    "amount": 1,
    "currency_ison": GBP,
    "entry_mode_type": 5,
    "merchant_country_ison": BRITAIN,
    "mcc": "5411",
    "merchant_name": "Corner Grocer",
    "merchant_id": "GROCER000000001",
    "terminal_id": "TERM0001",
}
TRANSFER = {
    "currency_ison": GBP,
    "amount": 1,
    "destination_account_name": "Ada Lovelace",
    "destination_account_number": "12345678",
    "destination_sort_code": "040004",
}


@dataclass(frozen=True)
class Work:
    """A repeatable request for one record. ``request`` returns whether the request was approved."""

    records: str
    new_record: Callable[[Issuer], int]
    request: Callable[[Issuer, int], bool]


def new_address(issuer: Issuer) -> int:
    return int(issuer.funded_address(_FUNDS)["id"])


def new_card(issuer: Issuer) -> int:
    return issuer.spendable(_FUNDS, card_country_ison=BRITAIN, card_currency_ison=[GBP]).card_id


def transfer(issuer: Issuer, address: int) -> bool:
    reference = issuer.reference()
    answer = issuer.do("transferToExternalPayment", **TRANSFER, epm_address_id=address, request_reference_id=reference)
    return answer.status == "success"


def authorize(issuer: Issuer, card: int) -> bool:
    reference = issuer.reference()
    answer = issuer.sim("simulateAuthorization", **PURCHASE, card_id=card, request_reference_id=reference)
    return answer.status == "success" and bool(answer.data["response_code"] == "00")


WORKS = {"transfers": Work("accounts", new_address, transfer), "authorizations": Work("cards", new_card, authorize)}


@dataclass(frozen=True)
class Speed:
    boto3: float
    service: float

    def __str__(self) -> str:
        return f"{self.service:5.1f} a second, {self.service / self.boto3:.2f} of boto3's {self.boto3:5.1f}"


def recorded_calls(request: Callable[[], object]) -> list[Call]:
    calls: list[Call] = []
    with observe_calls(calls.append):
        request()
    return [call for call in calls if call.service == "dynamodb"]


def script_of(calls: Sequence[Call]) -> Boto3Script:
    return Boto3Script([_repeated_call(call) for call in calls])


def _repeated_call(call: Call) -> dict[str, Any]:
    headers = {"X-Amz-Target": f".{call.operation}"}
    return {"service": call.service, "headers": headers, "members": _repeated(call.body)}


def _repeated(value: Any) -> Any:
    """Make conditions always true, and remove the client token, because DynamoDB ignores repeated tokens."""
    match value:
        case dict():
            members = {name: _repeated(each) for name, each in value.items() if name != "ClientRequestToken"}
            if "ConditionExpression" in members:
                members["ConditionExpression"] = f"{members['ConditionExpression']} OR attribute_not_exists(absent)"
            return members
        case list():
            return [_repeated(each) for each in value]
    return value


@contextlib.contextmanager
def service_on_dynamodb_local() -> Iterator[Issuer]:
    with (
        DynamoDBLocal() as engine,
        child("infra.local.emulator") as emulator,
        environment(AWS_ENDPOINT_URL=emulator, AWS_ENDPOINT_URL_DYNAMODB=engine.wait()),
    ):
        create_resources(emulated=True, dynamodb_apart=True)
        yield Issuer(Causeway.first(Clock()))


def speeds(issuer: Issuer, work: Work) -> Iterator[tuple[int, int, Speed]]:
    requests = [partial(work.request, issuer, work.new_record(issuer)) for _ in range(2 * MANY)]
    assert all(request() for request in requests), "the first request of each record succeeds"
    ours, recorded = requests[:MANY], requests[MANY:]  # a repeated write would set a record back
    scripts = [script_of(recorded_calls(request)) for request in recorded]
    for count, clients in itertools.product((1, MANY), CLIENTS):
        rounds = [(_run(scripts[:count], clients), _run(ours[:count], clients)) for _ in range(ROUNDS)]
        script_done, ours_done = (sum(column) for column in zip(*rounds, strict=True))
        yield count, clients, Speed(script_done / (SECONDS * ROUNDS), ours_done / (SECONDS * ROUNDS))


def _run(requests: Sequence[Callable[[], object]], clients: int) -> int:
    """Return the number of requests that succeed within the measuring time. Each client processes the records in a
    loop.
    """
    barrier = threading.Barrier(clients)

    def count(client: int) -> int:
        barrier.wait()
        done, until = 0, time.perf_counter() + SECONDS
        for number in itertools.count(client, clients):
            succeeds = _succeeds(requests[number % len(requests)])
            if time.perf_counter() > until:
                return done
            done += succeeds
        raise AssertionError("unreachable")

    with ThreadPoolExecutor(clients) as pool:
        return sum(pool.map(count, range(clients)))


def _succeeds(request: Callable[[], object]) -> bool:
    try:
        return request() is not False
    except ClientError as error:
        if error.response["Error"]["Code"] != "TransactionCanceledException":
            raise
        return False
