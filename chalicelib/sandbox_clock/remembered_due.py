"""The next due time of work, cached until this process writes data that could change this time.

Without the cache, a clock advance of a year in daily steps would query five indexes with eight shards each 365 times,
usually with the same result.
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from chalicelib.foundation.aws.calls import Call, Members, Proceed, add_observer
from chalicelib.foundation.clock import Clock
from chalicelib.foundation.moved_clock import CACHED_SECONDS
from chalicelib.statistics.days import DAY_SECONDS

_WRITES = ("PutItem", "UpdateItem", "DeleteItem", "BatchWriteItem", "TransactWriteItems")
_KIND_IN = {"demo-banks": "id", "ledger": "owner"}
"""The key attribute that begins with the kind of record, by table."""
_AHEAD_SECONDS = 30 * DAY_SECONDS
"""The number of seconds by which a query extends beyond the time of interest, so that later clock advances can use its
result.
"""


class WriteCounts:
    """Counts the write operations of this process, including those with an unknown outcome.

    A subject is a table, or a table and a kind of record, such as ``demo-banks/due``. ``prefix`` is the prefix of the
    stage's table names.
    """

    def __init__(self, prefix: str) -> None:
        self._counts: Counter[str] = Counter()
        self._lock = threading.Lock()
        self._prefix = prefix
        add_observer(self._count)

    def of(self, *subjects: str) -> int:
        """Return the number of completed writes to any of ``subjects``."""
        with self._lock:
            return sum(self._counts[subject] for subject in subjects)

    def _count(self, call: Call, proceed: Proceed) -> Members:
        if call.service != "dynamodb" or call.operation not in _WRITES:
            return proceed(call)
        try:
            return proceed(call)
        finally:
            subjects = [subject for written in _written(call.body) for subject in self._subjects(*written)]
            with self._lock:
                self._counts.update(subjects)

    def _subjects(self, table: str, item: Mapping[str, Any]) -> tuple[str, ...]:
        name = table.removeprefix(f"{self._prefix}-")
        record = str(item[_KIND_IN[name]]["S"]) if name in _KIND_IN else ""
        return (name, f"{name}/{record.partition('#')[0]}") if record else (name,)


def _written(params: Mapping[str, Any]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    if "TableName" in params:
        yield params["TableName"], params.get("Item") or params["Key"]
    for member in params.get("TransactItems", ()):
        for write in member.values():
            yield write["TableName"], write.get("Item") or write["Key"]
    for table, requests in params.get("RequestItems", {}).items():
        for request in requests:
            yield table, request["PutRequest"]["Item"] if "PutRequest" in request else request["DeleteRequest"]["Key"]


class RememberedDue:
    """A query for the next due time. Its result is cached until the next relevant write, for at most a second.

    Args:
        next_due: returns the next due time up to a given time, in Unix seconds.
        count_writes: returns the number of writes of this process that could have changed the result.
        clock: measures the age of a result, because other processes also write.
    """

    def __init__(self, next_due: Callable[[int], int | None], count_writes: Callable[[], int], clock: Clock) -> None:
        self._next_due = next_due
        self._count_writes = count_writes
        self._clock = clock
        self._valid: tuple[int, float, int] = (-1, 0.0, 0)
        """The number of writes and the monotonic time before the query, and the end of the queried period."""
        self._due: int | None = None

    def __call__(self, _after: int, until: int) -> int | None:
        writes, now = self._count_writes(), self._clock.monotonic()
        known_writes, asked_at, asked_until = self._valid
        if writes != known_writes or now - asked_at >= CACHED_SECONDS or until > asked_until:
            self._due = self._next_due(until + _AHEAD_SECONDS)
            self._valid = (writes, now, until + _AHEAD_SECONDS)
        return self._due if self._due is not None and self._due <= until else None
