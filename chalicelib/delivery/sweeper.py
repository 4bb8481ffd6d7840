"""The sweeper queues deliveries that were never queued, or whose message may be lost.

A due delivery may still have a message in a long queue. So the delivery's record contains the time at which the sweeper
last queued the delivery, and the interval grows each time (``delivery_plan.next_sweep``). This limits duplicate
messages in a long queue.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial

from chalicelib.delivery.delivery_plan import SWEEP_WAITS, DeliveryPlan, Plans, next_sweep
from chalicelib.delivery.delivery_record import DUE, SWEPT, Delivery, record_key, update_sweep
from chalicelib.delivery.outbox import Outbox
from chalicelib.foundation.aws.queues import Queue
from chalicelib.foundation.clock import Clock
from chalicelib.foundation.dynamodb.store import Busy, ConditionFailed, Item, Store
from chalicelib.foundation.metrics import Metrics
from chalicelib.foundation.parallel import WIDTH, pieces, together

BACKLOG = 20_000
"""The queue length at which the sweeper stops adding deliveries. The deliveries remain due."""
_READ = 100
"""The number of records in one read."""
_MARKED_TOGETHER = 20
"""The number of deliveries in one transaction. DynamoDB allows 100 writes in a transaction."""
_TRIES = 5
"""The maximum number of attempts at a transaction. Each retry omits the deliveries that have changed since they were
read.
"""

Choose = Callable[[Iterable[Delivery]], Sequence[Delivery]]
"""A function that selects some of the due deliveries and returns them in their original order."""


def sweep(
    first: int = SWEEP_WAITS[0],
    choose: Choose = list,
    *,
    store: Store,
    clock: Clock,
    queue: Queue,
    outbox: Outbox,
    metrics: Metrics,
    plans: Plans,
) -> int:
    """Queue the deliveries that are due: first deliveries with a waiting caller, then the longest overdue deliveries.

    A delivery without a waiting caller is queued only if it has been due for at least ``first`` seconds. After a clock
    advance, ``first`` is 0, because the clock advance does not shorten the queue's delays. ``choose`` omits deliveries
    that would only be postponed. Returns the number of queued deliveries. The age of the oldest due delivery is
    measured even if the queue is full.
    """
    room, now = max(BACKLOG - queue.count_messages(), 0), clock.time()
    # If there is room for n, fewer than BACKLOG - n of these have a message: they cannot hide those that have none.
    rows = DUE.rows(store, until=now, limit=BACKLOG if room else 1)
    metrics.write({"DueDeliveries": len(rows), "OldestDueSeconds": now - rows[0][DUE.time] if rows else 0})
    if not room:
        return 0
    if len(rows) == BACKLOG:  # deliveries with a waiting caller may be hidden by so many older ones
        waiting = now - max(plan.lifetime for plan in plans.values() if plan.has_caller)
        rows = [*DUE.rows(store, since=waiting, until=now, limit=BACKLOG, newest_first=True), *rows]
    due = choose(each for each in _read(store, rows) if _is_next(each, plans[each.kind], now, first))
    found = sorted(due, key=lambda delivery: not plans[delivery.kind].has_caller)
    groups = [partial(_queue_unchanged, store, outbox, group, now) for group in pieces(found[:room], _MARKED_TOGETHER)]
    return sum(sum(together(wave)) for wave in pieces(groups, WIDTH))


def _read(store: Store, rows: Sequence[Item]) -> Iterator[Delivery]:
    numbers = dict.fromkeys(row["delivery_id"] for row in rows)
    for piece in pieces([record_key(number) for number in numbers], _READ * WIDTH):
        read = together([partial(store.batch_get, keys, SWEPT) for keys in pieces(piece, _READ)])
        yield from (Delivery.from_item(item) for items in read for item in items if item is not None)


def _queue_unchanged(store: Store, outbox: Outbox, deliveries: Sequence[Delivery], now: int) -> int:
    """Queue the deliveries that have not changed since they were read. Return the number of queued deliveries.

    Deliveries that the queue refuses remain due.
    """
    marked = _write(store, [(each, now) for each in deliveries])
    batches = pieces([each.delivery_id for each in marked], Queue.BATCH)
    refused = {delivery_id for batch in batches for delivery_id in outbox.send(batch)}
    _write(store, [(replace(each, swept_at=now), each.swept_at) for each in marked if each.delivery_id in refused])
    return len(marked) - len(refused)


def _write(store: Store, changes: Sequence[tuple[Delivery, int | None]]) -> Sequence[Delivery]:
    """Record when each delivery was last queued. Return the deliveries that had not changed since they were read."""
    for _ in range(_TRIES):
        if not changes:
            break
        try:
            store.transact([update_sweep(*change) for change in changes])
        except ConditionFailed as failure:
            if failure.repeated and all(
                _has_mark(failure.items[number], changes[number][1]) for number in failure.failed
            ):
                return [delivery for delivery, _ in changes]  # the response to this write was lost
            changes = [change for number, change in enumerate(changes) if number not in failure.failed]
        except Busy:  # workers are busy with them
            break
        else:
            return [delivery for delivery, _ in changes]
    return ()


def _has_mark(item: Item | None, swept_at: int | None) -> bool:
    return item is not None and item.get("swept_at") == swept_at


def _is_next(delivery: Delivery, plan: DeliveryPlan, now: int, first: int) -> bool:
    if delivery.due_at is None or delivery.due_at > now:
        return False
    return next_sweep(plan, delivery.due_at, delivery.swept_at, delivery.give_up_at, first) <= now
