"""Calls of clients as processes measure and write them, and a table that keeps their rows in memory."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import Any

from chalicelib.foundation.dynamodb.store import Operation, Page, Put
from chalicelib.foundation.metrics import Metrics
from chalicelib.statistics import current_call
from chalicelib.statistics.call_counts import Outcome
from chalicelib.statistics.client_activity import Activity, ActivityReader
from chalicelib.statistics.measurements import Measurements
from tests.kit.time import ManualClock

START = datetime(2026, 3, 2, 9, 0, tzinfo=UTC)
HOUR = int(START.timestamp())
CLIENT = "a-client"


class Table:
    """A store of one table, which may be told to fail; ``transactions`` counts what it was sent."""

    def __init__(self) -> None:
        self.items: dict[tuple[str, str], dict[str, Any]] = {}
        self.transactions = 0
        self.queries: list[str] = []
        self.before: Callable[[], object] = lambda: None

    def transact(self, operations: Sequence[Operation]) -> None:
        self.transactions += 1
        self.before()
        for put in operations:
            assert isinstance(put, Put)
            assert put.condition is None
            self.items[put.item["subject"], put.item["part"]] = put.item

    def query(self, table: str, partition: tuple[str, str], **which: Any) -> Page:
        self.queries.append(partition[1])
        first = which.get("between", ("part", "", "~"))[1]
        rows = [item for (subject, part), item in self.items.items() if subject == partition[1] and part >= first]
        rows.sort(key=lambda item: item["part"], reverse=True)
        limit = which["limit"]
        return Page(rows[:limit], {"part": rows[limit - 1]["part"]} if len(rows) > limit else None)

    def rows(self, table: str, partition: tuple[str, str]) -> list[dict[str, Any]]:
        """No bank is down."""
        return []

    def of(self, kind: str) -> list[dict[str, Any]]:
        """The items whose partition begins so, in the order of their keys."""
        return [item for (subject, _), item in sorted(self.items.items()) if subject.startswith(f"{kind}#")]


def process(table: Table, clock: ManualClock) -> Measurements:
    return Measurements(lambda: table, clock, Metrics("dev"))  # type: ignore[arg-type, return-value]


def read(instance: Measurements, table: Table, clock: ManualClock, client_id: str = CLIENT) -> Activity:
    return ActivityReader(table, clock, instance.activity).of_client(client_id)  # type: ignore[arg-type]


def ask(
    instance: Measurements,
    clock: ManualClock,
    status: int = 200,
    client_id: str | None = CLIENT,
    route: str = "/tpp/accounts",
    bank: Outcome | None = None,
    fault: Any = None,
    seconds: float = 0.25,
) -> None:
    """A request; of a bank, if it is asked, 0.2 s of it."""
    with instance.measure() as call:
        call.method, call.route, call.request_id = "GET", route, "an-id"
        if client_id:
            current_call.record_client(client_id)
        if bank:
            current_call.record_bank_request("ALPHGB21", "AISP", clock.time(), bank, 0.2)
        if fault:
            current_call.record_failure(fault)
        clock.advance(seconds)
        call.status = status
