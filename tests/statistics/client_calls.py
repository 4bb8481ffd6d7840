"""A simulated process that measures calls, and an in-memory table to which the process writes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import Any

from chalicelib.foundation.dynamodb.store import Operation, Page, Put, StoreUnavailable
from chalicelib.foundation.metrics import Metrics
from chalicelib.statistics import current_call
from chalicelib.statistics.call_counts import TABLE, Blamed, CallCounts, HourlyCounters, Outcome, Service
from chalicelib.statistics.client_activity import Activity, ActivityReader
from chalicelib.statistics.downtimes import PARTITION
from chalicelib.statistics.measurements import BATCH_SIZE, Measurements
from tests.kit.time import ManualClock

START = datetime(2026, 3, 2, 9, 0, tzinfo=UTC)
HOUR = int(START.timestamp())
CLIENT, BIC = "a-client", "ALPHGB21"


def fail() -> None:
    raise StoreUnavailable("DynamoDB cannot be reached")


class Table:
    """An in-memory store with one table. It calls ``before`` and ``after`` around each of its ``transactions``."""

    def __init__(self) -> None:
        self.items: dict[tuple[str, str], dict[str, Any]] = {}
        self.transactions: list[list[Put]] = []
        self.queries: list[str] = []
        self.before: Callable[[], object] = lambda: None
        self.after: Callable[[], object] = lambda: None

    def transact(self, operations: Sequence[Operation]) -> None:
        puts = [each for each in operations if isinstance(each, Put)]
        assert len(puts) == len(operations) <= BATCH_SIZE
        assert all(put.table == TABLE and put.condition is None for put in puts)
        self.transactions.append(puts)
        self.before()
        self.items |= {(put.item["subject"], put.item["part"]): put.item for put in puts}
        self.after()

    def query(self, table: str, partition: tuple[str, str], **which: Any) -> Page:
        self.queries.append(partition[1])
        first = which.get("between", ("part", "", "~"))[1]
        rows = [item for (subject, part), item in self.items.items() if subject == partition[1] and part >= first]
        rows.sort(key=lambda item: item["part"], reverse=True)
        limit = which["limit"]
        return Page(rows[:limit], {"part": rows[limit - 1]["part"]} if len(rows) > limit else None)

    def rows(self, table: str, partition: tuple[str, str]) -> list[dict[str, Any]]:
        """Return an empty list of open downtimes."""
        assert (table, partition) == (TABLE, PARTITION)
        return []

    def of(self, kind: str) -> list[dict[str, Any]]:
        return [item for (subject, _), item in sorted(self.items.items()) if subject.startswith(f"{kind}#")]

    @property
    def counters(self) -> list[HourlyCounters]:
        return [HourlyCounters.from_item(item) for item in self.items.values()]

    @property
    def total(self) -> CallCounts:
        return CallCounts.total(
            tally for hourly in self.counters for tallies in hourly.minutes.values() for tally in tallies.values()
        )


class Instance(Measurements):
    """A process that measures calls and writes the counters to its table."""

    def __init__(self, table: Table | None = None, clock: ManualClock | None = None) -> None:
        self.table, self.clock = table or Table(), clock or ManualClock(START)
        super().__init__(lambda: self.table, self.clock, Metrics("dev"))  # type: ignore[arg-type, return-value]

    def another(self) -> Instance:
        return Instance(self.table, self.clock)

    def read_activity(self, client_id: str = CLIENT) -> Activity:
        return self.reader.of_client(client_id)

    @property
    def reader(self) -> ActivityReader:
        return ActivityReader(self.table, self.clock, self.activity)  # type: ignore[arg-type]

    def call(
        self,
        status: int = 200,
        *,
        client_id: str | None = CLIENT,
        route: str = "/tpp/accounts",
        bank: Outcome | None = None,
        fault: Blamed | None = None,
        seconds: float = 0.25,
    ) -> None:
        """Measure a client's request. If the request calls a bank, 0.2 s of its time belong to the bank."""
        with self.measure() as call:
            call.method, call.route, call.request_id = "GET", route, "an-id"
            if client_id:
                current_call.record_client(client_id)
            if bank:
                current_call.record_bank_request(BIC, "AISP", self.clock.time(), bank, 0.2)
            if fault:
                current_call.record_failure(fault)
            self.clock.advance(seconds)
            call.status = status

    def call_bank(
        self, bic: str = BIC, service: Service = "AISP", outcome: Outcome = "answered", status: int = 200
    ) -> None:
        """Measure a request of 0.25 s, of which 0.2 s are spent at the bank."""
        with self.measure() as call:
            current_call.record_concern(bic, service)
            at = self.clock.time()
            self.clock.advance(0.2)
            current_call.record_bank_request(bic, service, at, outcome, 0.2)
            self.clock.advance(0.05)
            call.status = status
