"""Queue a hundred due deliveries among a million records, and count the round trips.

The tables are in a separate DynamoDB Local; the queue is in the emulator in this process.
"""

import os
import sys
import time
from collections.abc import Callable

from moto import mock_aws

from chalicelib.bootstrap import Hub
from chalicelib.delivery.delivery_record import TABLE
from chalicelib.delivery.sweeper import sweep
from chalicelib.foundation.settings import Settings
from infra import command
from infra.local.dynamodb_engine import EngineFailed
from infra.local.dynamodb_local import DynamoDBLocal
from infra.local.resources import create_resources
from tests.kit import emulator
from tests.volume.records import load, records
from tests.volume.round_trips import RoundTrips

DUE = 100
GOAL = 8
"""The exclusive upper limit for the round trips of a sweep."""


def main(arguments: list[str] | None = None) -> int:
    parser = command.parser("tests.volume", __doc__)
    parser.add_argument("--records", type=int, default=1_000_000)
    options = parser.parse_args(arguments)
    try:
        return _measure(options.records, DUE)
    except EngineFailed as error:
        sys.exit(f"causeway: {error}.")


def _measure(count: int, due: int) -> int:
    emulator.answer_calls()
    with DynamoDBLocal() as engine, mock_aws():
        os.environ.update(emulator.ENVIRONMENT | {"AWS_ENDPOINT_URL_DYNAMODB": engine.wait()})
        create_resources(emulated=True, dynamodb_apart=True)
        hub = Hub(Settings.from_environment(os.environ))
        items = records(hub.delivery.outbox, count, due, hub.clock.time())
        load(f"{hub.settings.prefix}-{TABLE}", items, _progress(count))
        return _sweep(hub, count, due)


def _sweep(hub: Hub, count: int, due: int) -> int:
    hub.delivery.queue.count_messages()  # a warm process knows the queue's address
    started = time.monotonic()
    with RoundTrips().counted() as trips:
        queued = hub.delivery.call(sweep, first=0)
    seconds = time.monotonic() - started
    waiting = hub.delivery.queue.count_messages()
    print(f"records {count:,}, due {due:,}: {queued:,} queued, {waiting:,} messages in the queue")
    print(f"{trips.made} round trips (goal: fewer than {GOAL}), {trips.calls} calls, {seconds:.2f} s")
    good = queued == waiting == due and trips.made < GOAL
    print("as promised" if good else "NOT as promised")
    return 0 if good else 1


def _progress(count: int) -> Callable[[int], None]:
    started, printed = time.monotonic(), 0

    def print_tenth(written: int) -> None:
        nonlocal printed
        if written * 10 // count > printed:
            printed = written * 10 // count
            print(f"{written:>11,} records written, {time.monotonic() - started:.0f} s", flush=True)

    return print_tenth


if __name__ == "__main__":
    command.run(main)
