"""In-process queues for items that concurrent requests change.

Conditional writes determine which request succeeds. The others queue here before they retry, and so
do new requests that read the same item; otherwise most decisions on a busy account would be
discarded. A queue exists only while requests wait in it. Requests in other processes do not queue;
they wait and retry.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import field
from typing import Any

from chalicelib.foundation.clock import Clock
from chalicelib.foundation.dynamodb.store import Operation, Put
from chalicelib.foundation.lazy_dataclasses import dataclass
from chalicelib.foundation.requests.facts import Key

Name = tuple[str, ...]


@dataclass(slots=True)
class _Queue:
    name: Name
    front: threading.Lock = field(default_factory=threading.Lock)
    waiting: int = 0


class HotKeyQueues:
    """The queues of one process, by item."""

    def __init__(self) -> None:
        self._guard = threading.Lock()
        self._queues: dict[Name, _Queue] = {}

    def join(self, name: Name, *, opening: bool) -> _Queue | None:
        """Join the queue for an item; without ``opening``, only if it already exists."""
        with self._guard:
            queue = self._queues.setdefault(name, _Queue(name)) if opening else self._queues.get(name)
            if queue is not None:
                queue.waiting += 1
            return queue

    def leave(self, queue: _Queue) -> None:
        with self._guard:
            queue.waiting -= 1
            if not queue.waiting:
                del self._queues[queue.name]


class QueuePlace:
    """A request's place, in at most one queue; it stops waiting at ``until``.

    ``until`` is a monotonic clock time.

    Attributes:
        lost_turns: how often the request lost to another process despite queuing.
    """

    def __init__(self, queues: HotKeyQueues, clock: Clock, until: float) -> None:
        self._queues = queues
        self._clock = clock
        self._until = until
        self._queue: _Queue | None = None
        self._is_mine = False
        self.lost_turns = 0

    @property
    def seconds_left(self) -> float:
        """Seconds that the request may still wait; negative after the deadline."""
        return self._until - self._clock.monotonic()

    @property
    def is_over(self) -> bool:
        return self.seconds_left <= 0

    def stop_waiting(self) -> None:
        """Stop waiting."""
        self.leave()
        self._until = min(self._until, self._clock.monotonic())

    def wait_for_others(self, keys: Sequence[Key]) -> None:
        """Before reading items, wait for the requests queued for any of them."""
        for table, key in keys if self._queue is None and not self.is_over else ():
            self._wait(self._queues.join(_name(table, key), opening=False))
            if self._queue is not None:
                return

    def queue_for(self, operation: Operation) -> None:
        """Queue for an item that another request has changed."""
        key = operation.item if isinstance(operation, Put) else operation.key
        name = _name(operation.table, key)
        if self._queue is not None and self._queue.name == name:
            self.lost_turns += 1
            return
        self.leave()
        self._wait(self._queues.join(name, opening=True))

    def leave(self) -> None:
        """Leave the queue and let the next request proceed."""
        if self._queue is None:
            return
        if self._is_mine:
            self._queue.front.release()
        self._queues.leave(self._queue)
        self._queue, self._is_mine = None, False

    def _wait(self, queue: _Queue | None) -> None:
        if queue is not None:
            self._queue = queue
            self._is_mine = queue.front.acquire(timeout=max(0, self.seconds_left))


def _name(table: str, item: dict[str, Any]) -> Name:
    """The queue name for an item's key (``owner`` and ``part``)."""
    return table, str(item["owner"]), str(item["part"])
