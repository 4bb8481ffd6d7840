"""Measures the processor time of unified reads, compared with the native reads of the same bank responses.

The service runs in this process with scripted banks. The storage runs in another process, whose time does not count.
"""

import contextlib
from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any

from chalicelib.foundation import jsontext
from chalicelib.foundation.clock import Clock
from chalicelib.foundation.http.outbound import Reply
from infra.local.resources import create_resources
from tests.bench.environment import child, environment
from tests.bench.json_overhead import Call
from tests.bench.measured_requests import Request, http_event
from tests.causeway import Causeway
from tests.openbanking.examples import BY_WEBHOOK, Row
from tests.openbanking.relay import Relay
from tests.openbanking.unified.transaction_lists import entry
from tests.openbanking.unified_reads import UNIFIED, bank_list, query_of

TRANSACTIONS = 100
GOALS = {"transactions": 1.15, "accounts": 1.05}
TITLES = {"transactions": f"{TRANSACTIONS} transactions", "accounts": "one account"}


@contextlib.contextmanager
def service() -> Iterator[Relay]:
    """Run the service in this process, with a client and scripted banks of both versions."""
    with child("infra.local.emulator") as emulator, environment(AWS_ENDPOINT_URL=emulator):
        create_resources(emulated=True, dynamodb_apart=False)
        causeway = Causeway.first(Clock())
        causeway.tpp.client = causeway.hub.openbanking.clients.create(owner="bench@example.com", title="Bench").client
        with causeway.installed():
            yield Relay(causeway)


def sides(relay: Relay, version: int, read: str) -> tuple[Call, Call]:
    """Return two functions that read the same response of a bank: in the bank's form, and in the unified form."""
    row = UNIFIED[version, read]
    relay.bank_answers(row, Reply(200, jsontext.dumps(_answer(row, read)).encode(), {}, 0.01))
    native = BY_WEBHOOK[row.webhook]
    page = {"record_count": TRANSACTIONS} if version == 1 else {"booking_status": "both"}
    queries = query_of(read, **(page if read == "transactions" else {})), query_of(read)
    return _call(relay, native, queries[0]), _call(relay, row, queries[1])


def _answer(row: Row, read: str) -> Any:
    if read == "accounts":
        return row.answer
    entries = [entry(row.version, f"T-{number}", f"-{number}.50") for number in range(TRANSACTIONS)]
    return bank_list(row.version, read, entries)


def _call(relay: Relay, row: Row, query: Mapping[str, Any]) -> Call:
    import app

    headers = {"x-api-key": relay.causeway.tpp.client_id, "authorization": f"Bearer {relay.bearer(row.version)}"}
    parameters = {name: [str(value)] for name, value in query.items()}
    request = Request(http_event(row.method, row.call, headers, multiValueQueryStringParameters=parameters or None))
    request()
    return partial(app.app, request.event, None)
