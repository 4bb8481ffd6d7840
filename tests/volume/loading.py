"""Loading: items written into DynamoDB Local as fast as it takes them.

It is spoken to directly: boto3 would need more of the processor than the engine does, and signatures are not checked.
"""

from __future__ import annotations

import http.client
import json
import os
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from itertools import islice
from threading import local
from urllib.parse import urlsplit

from chalicelib.foundation.dynamodb.store import Item
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
    """Write packed items; ``progress`` is told of how many are written after every batch."""
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
    said = answer.read()
    assert answer.status == 200, said
    assert not json.loads(said).get("UnprocessedItems"), said
    return len(items)


def _connection() -> http.client.HTTPConnection:
    """This thread's connection."""
    if not hasattr(_thread, "connection"):
        address = urlsplit(os.environ["AWS_ENDPOINT_URL_DYNAMODB"])
        _thread.connection = http.client.HTTPConnection(address.netloc, timeout=PATIENCE_SECONDS)
    connection: http.client.HTTPConnection = _thread.connection
    return connection
