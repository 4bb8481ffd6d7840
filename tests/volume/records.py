"""Functions that create millions of delivery records with the production write operations, and load them into DynamoDB
Local.

The HTTP calls are direct, with a dummy signature, because boto3 would need more processor time than DynamoDB Local.
"""

import http.client
import json
import os
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from itertools import islice
from threading import local
from urllib.parse import urlsplit

from chalicelib.delivery.delivery_plan import DAY, NOTIFICATION
from chalicelib.delivery.delivery_record import (
    DUE,
    FAILED,
    FAILED_OF_CLIENT,
    OF_BANK,
    OF_CLIENT,
    Delivery,
    update_claim,
    update_end,
    update_retry,
)
from chalicelib.delivery.outbox import Outbox
from chalicelib.foundation.dynamodb.items import pack
from chalicelib.foundation.dynamodb.store import Item, Update
from tests.kit.time import PATIENCE_SECONDS

BATCH = 25
_CONNECTIONS = 4
_SCOPE = "Credential=test/20260302/eu-west-1/dynamodb/aws4_request"
_HEADERS = {
    "X-Amz-Target": "DynamoDB_20120810.BatchWriteItem",
    "Content-Type": "application/x-amz-json-1.0",
    "Authorization": f"AWS4-HMAC-SHA256 {_SCOPE}, SignedHeaders=host, Signature=0",
}
_thread = local()


def load(table: str, items: Iterable[Item], progress: Callable[[int], None]) -> None:
    """Write packed items. After every batch, call ``progress`` with the number of written items."""
    batches = _batches(items)
    written = 0
    with ThreadPoolExecutor(_CONNECTIONS) as pool:
        under_way: set[Future[int]] = set()
        while True:
            under_way |= {
                pool.submit(_write, table, batch) for batch in islice(batches, 4 * _CONNECTIONS - len(under_way))
            }
            if not under_way:
                return
            done, under_way = wait(under_way, return_when=FIRST_COMPLETED)
            written += sum(each.result() for each in done)
            progress(written)


def _batches(items: Iterable[Item]) -> Iterator[list[Item]]:
    iterator = iter(items)
    while batch := list(islice(iterator, BATCH)):
        yield batch


def _write(table: str, items: list[Item]) -> int:
    body = json.dumps({"RequestItems": {table: [{"PutRequest": {"Item": item}} for item in items]}})
    connection = _connection()
    connection.request("POST", "/", body, _HEADERS)
    answer = connection.getresponse()
    content = answer.read()
    assert answer.status == 200, content
    assert not json.loads(content).get("UnprocessedItems"), content
    return len(items)


def _connection() -> http.client.HTTPConnection:
    if not hasattr(_thread, "connection"):
        address = urlsplit(os.environ["AWS_ENDPOINT_URL_DYNAMODB"])
        _thread.connection = http.client.HTTPConnection(address.netloc, timeout=PATIENCE_SECONDS)
    connection: http.client.HTTPConnection = _thread.connection
    return connection


BANKS, CLIENTS = 100, 1000
_FAILURE = {"at": 0, "milliseconds": 20_000, "error": "no answer came in time"}


def records(outbox: Outbox, count: int, due: int, now: int) -> Iterator[Item]:
    """Yield ``count`` stored deliveries, of which ``due`` deliveries are due at ``now``. The due deliveries are evenly
    distributed.

    Of ten other deliveries, eight have been delivered, one has failed, and one has a later attempt.
    """
    recorded = outbox.record("event", "consent.revoked", receiver="", consent_id="a-consent")
    new = recorded.operations[0].item
    due_now, *others = (pack(item) for item in (new, _waiting(new, now), _failed(new, now), _delivered(new, now)))
    others += [others[-1]] * 7
    for number in range(count):
        yield _renamed(due_now if number % (count // due) == 0 else others[number % 10], number)


def _waiting(new: Item, now: int) -> Item:
    return _after(new, now, lambda claimed: update_retry(claimed, now + DAY, _FAILURE))


def _failed(new: Item, now: int) -> Item:
    return _after(new, now, lambda claimed: update_end(claimed, NOTIFICATION, "failed", _FAILURE, None, now))


def _delivered(new: Item, now: int) -> Item:
    entry = {"at": now, "status": 204}
    return _after(new, now, lambda claimed: update_end(claimed, NOTIFICATION, "delivered", entry, None, now))


def _after(new: Item, now: int, outcome: Callable[[Delivery], Update]) -> Item:
    claimed, claim = update_claim(Delivery.from_item(new), "a-claim", now, sending=True)
    return _applied(_applied(new, claim), outcome(claimed))


def _applied(item: Item, update: Update) -> Item:
    return {name: value for name, value in {**item, **update.set}.items() if name not in update.remove}


def _renamed(template: Item, number: int) -> Item:
    delivery_id, bic, client_id = f"volume-{number:015}", f"BANK{number % BANKS:04}", f"client-{number % CLIENTS:04}"
    own: Item = {"delivery_id": delivery_id, "bic": bic, "client_id": client_id, "receiver": f"client#{client_id}"}
    own |= OF_BANK.entry(delivery_id, bic) | OF_CLIENT.entry(delivery_id, client_id)
    for index in (DUE, FAILED):
        own |= index.entry(delivery_id) if index.partition in template else {}
    own |= FAILED_OF_CLIENT.entry(delivery_id, client_id) if FAILED.partition in template else {}
    return {**template, **pack(own)}
