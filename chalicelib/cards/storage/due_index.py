"""Indexes of due times, and parallel processing of due items."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Sequence
from functools import partial
from typing import Literal

from chalicelib.foundation import log
from chalicelib.foundation.clock import Clock
from chalicelib.foundation.dynamodb.conditions import Attr
from chalicelib.foundation.dynamodb.sharded_index import ShardedIndex
from chalicelib.foundation.dynamodb.store import Item, Store, StoreError
from chalicelib.foundation.lazy_dataclasses import dataclass
from chalicelib.foundation.metrics import Metrics
from chalicelib.foundation.parallel import pieces, together

AT_ONCE = 20
"""The maximum number of items handled in parallel."""
MOST = 2_000
"""The maximum number of items per run. The next run continues with the remaining items."""
POSTPONE_SECONDS = 60
"""The number of seconds after which a failed item is retried."""

_Outcome = Literal["moved on", "stuck", "not due"]


@dataclass(frozen=True, slots=True)
class DueItems:
    """The due items of an index of due times. ``what`` names an item in logs and metrics, for example "payment"."""

    store: Store
    clock: Clock
    metrics: Metrics
    due: ShardedIndex
    what: str

    def run(self, handle: Callable[[Item], bool], until: float = math.inf) -> int:
        """Process all due items until ``until``, a monotonic clock time.

        Returns the number of items that progressed. A failed item is retried later and does not delay other items.
        Items that did not progress or were not reached are counted as stuck.
        """
        outcomes: Counter[_Outcome] = Counter()
        rows = self.due.rows(self.store, until=self.clock.time(), limit=MOST)
        begun = 0
        for piece in pieces(rows, AT_ONCE):
            if self.clock.monotonic() > until:
                break
            begun += len(piece)
            outcomes.update(self._run(handle, piece))
        self.metrics.write({"StuckClaims": outcomes["stuck"] + len(rows) - begun}, Kind=self.what)
        return outcomes["moved on"]

    def _run(self, handle: Callable[[Item], bool], rows: Sequence[Item]) -> list[_Outcome]:
        """Handle the items of one account one after another, to avoid conflicts. Handle different accounts in
        parallel.
        """
        lanes: dict[object, list[Item]] = {}
        for item in self.store.batch_get([(self.due.table, _key(row)) for row in rows]):
            if item is not None:
                lanes.setdefault(item.get("account_id", item["owner"]), []).append(item)
        seen = together([partial(self._run_lane, handle, items) for items in lanes.values()])
        return [outcome for lane in seen for outcome in lane]

    def _run_lane(self, handle: Callable[[Item], bool], items: Sequence[Item]) -> list[_Outcome]:
        return [self._run_one(handle, item) for item in items]

    def _run_one(self, handle: Callable[[Item], bool], item: Item) -> _Outcome:
        if item.get("due_at", self.clock.time() + 1) > self.clock.time():  # the index was behind
            return "not due"
        try:
            return "moved on" if handle(item) else "stuck"
        except Exception:
            log.exception(f"{self.what} not finished", kind=item["part"], id=item["id"])
            self._postpone(item)
            return "stuck"

    def _postpone(self, item: Item) -> None:
        later = {"due_at": self.clock.time() + POSTPONE_SECONDS}
        try:
            self.store.update(self.due.table, _key(item), set=later, condition=Attr("due_at").eq(item["due_at"]))
        except StoreError:
            log.warning(f"{self.what} not postponed", kind=item["part"], id=item["id"])


def _key(row: Item) -> Item:
    return {"owner": row["owner"], "part": row["part"]}
