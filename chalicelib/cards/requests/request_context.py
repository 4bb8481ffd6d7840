"""The context of one attempt at a request (caller, rights and time), the queues for contended items, and decisions.

Conditional writes determine which of several concurrent requests succeeds. All other requests for the changed item wait
in a queue before they retry. Without the queue, most decisions on a busy account would be discarded. A queue exists
only while requests of this process wait in the queue. Requests in other processes wait and retry without a queue.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import field
from functools import partial
from typing import Any, Generic, TypeVar

from chalicelib.cards.events.card_events import CardEvent
from chalicelib.cards.programs.catalogue import Catalogue
from chalicelib.cards.programs.credentials import Credential
from chalicelib.cards.programs.programmes import EntryId
from chalicelib.cards.protocol.message import Answer
from chalicelib.cards.protocol.status_codes import Refused, Status
from chalicelib.cards.requests.envelope import IdempotencyClaim, RequestReferences
from chalicelib.cards.storage.record import Record
from chalicelib.cards.storage.reserved_rows import NewEntry, RowReservation
from chalicelib.foundation.clock import Clock, milliseconds
from chalicelib.foundation.dynamodb.store import Item, Operation, Put, Store
from chalicelib.foundation.identifiers import new_id
from chalicelib.foundation.lazy_dataclasses import dataclass
from chalicelib.foundation.parallel import pieces, together
from chalicelib.foundation.requests.facts import Facts, Key

Name = tuple[str, ...]


@dataclass(slots=True)
class _Queue:
    name: Name
    front: threading.Lock = field(default_factory=threading.Lock)
    waiting: int = 0


class HotKeyQueues:
    """The request queues of one process, keyed by item."""

    def __init__(self) -> None:
        self._guard = threading.Lock()
        self.queues: dict[Name, _Queue] = {}

    def open(self, name: Name) -> _Queue:
        """Join the queue for an item, or open a queue if none exists."""
        with self._guard:
            queue = self.queues.setdefault(name, _Queue(name))
            queue.waiting += 1
            return queue

    def join(self, names: Iterable[Name]) -> _Queue | None:
        """Join the first existing queue for one of the items. Without such a queue, do nothing."""
        with self._guard:
            queue = next((self.queues[name] for name in names if name in self.queues), None)
            if queue is not None:
                queue.waiting += 1
            return queue

    def leave(self, queue: _Queue) -> None:
        with self._guard:
            queue.waiting -= 1
            if not queue.waiting:
                del self.queues[queue.name]


@dataclass(slots=True)
class QueuePlace:
    """A request's place in at most one queue. The request stops waiting at ``until``, a monotonic clock time.

    Attributes:
        lost_turns: the number of times that another process changed the item first although the request had queued.
    """

    queues: HotKeyQueues
    clock: Clock
    until: float
    lost_turns: int = 0
    _queue: _Queue | None = field(default=None, init=False)
    _is_mine: bool = field(default=False, init=False)

    @property
    def seconds_left(self) -> float:
        """Return the seconds that the request may still wait. The number is negative after the deadline."""
        return self.until - self.clock.monotonic()

    @property
    def is_over(self) -> bool:
        return self.seconds_left <= 0

    def stop_waiting(self) -> None:
        """End the waiting time of the request."""
        self.leave()
        self.until = min(self.until, self.clock.monotonic())

    def wait_for_others(self, keys: Sequence[Key]) -> None:
        """Wait for the requests that are queued for any of the items, before the items are read."""
        if self._queue is None and not self.is_over:
            queue = self.queues.join(_name(table, key) for table, key in keys)
            if queue is not None:
                self._wait(queue)

    def queue_for(self, operation: Operation) -> None:
        """Queue for an item that another request has changed."""
        key = operation.item if isinstance(operation, Put) else operation.key
        name = _name(operation.table, key)
        if self._queue is not None and self._queue.name == name:
            self.lost_turns += 1
            return
        self.leave()
        self._wait(self.queues.open(name))

    def leave(self) -> None:
        """Leave the queue and let the next request proceed."""
        if self._queue is None:
            return
        if self._is_mine:
            self._queue.front.release()
        self.queues.leave(self._queue)
        self._queue, self._is_mine = None, False

    def _wait(self, queue: _Queue) -> None:
        self._queue = queue
        self._is_mine = queue.front.acquire(timeout=max(0, self.seconds_left))


def _name(table: str, item: dict[str, Any]) -> Name:
    return table, str(item["owner"]), str(item["part"])


R = TypeVar("R", bound=Record)
D = TypeVar("D")
MOST_TOGETHER = 100
"""The maximum number of items per read."""


@dataclass(frozen=True, slots=True)
class ProviderCall:
    """A provider call between two decisions. The record is written before the call, and the reply after the call.

    ``call`` takes ``record``, which waits for the reply, and returns the reply. ``record_reply`` takes the record and
    the reply, and returns the response to the request. The container passes the further parameters of both functions by
    name.
    """

    call: Callable[..., Any]
    record_reply: Callable[..., str]
    record: Record


@dataclass(frozen=True, slots=True)
class ActionOutcome(Generic[D]):
    """The decision on a request: the response data (``D``, or ``None`` if empty), the writes, and the programme entries
    used.

    ``beside`` contains members of the envelope outside ``data``. With a ``provider_call``, the response is known only
    after the provider's reply. ``events`` are sent to programme managers once, when the outcome is written.
    """

    data: D | None = None
    operations: Sequence[Operation] = ()
    uses: Sequence[EntryId] = ()
    beside: Mapping[str, Any] = field(default_factory=dict)
    provider_call: ProviderCall | None = None
    events: Sequence[CardEvent] = ()


@dataclass(frozen=True, slots=True)
class UnrecordedAnswer:
    """The response data of a request that storage did not accept in time.

    ``number`` is the authorization's number. ``task`` is the kind of task by which a worker records the outcome.
    ``members`` returns the task's members.
    """

    number: int
    data: Answer
    task: str
    members: Callable[[], dict[str, Any]]


class RefusedWith(Refused):
    """A refusal with writes, for example to count a wrong PIN."""

    def __init__(self, status: Status, operations: Sequence[Operation], message: str = "") -> None:
        super().__init__(status, message)
        self.operations = tuple(operations)


@dataclass(slots=True)
class RequestContext:
    """One attempt at one request.

    Attributes:
        action: the action's name.
        is_write: whether the action changes data. Reads do not queue for items.
        level: the caller's access level. Records above this level are not visible to the caller.
        at: the time of the latest read, or of the position reserved with this read, in Unix milliseconds. If the
            request queued, ``at`` is later than the request's arrival.
        queue_place: the request's place among the requests of this process that change the same items.
        reservation: the position of the request's row in a list of all cards. All attempts use the same position.
        claim: the claim under which duplicate requests find the response, if there is a ``request_reference_id``.
        write_id: the identifier of this attempt in the records that the attempt writes.
        has_read_claim: whether the claim was read.
    """

    store: Store
    references: RequestReferences
    action: str
    is_write: bool
    credential: Credential
    manager_id: int
    catalogue: Catalogue
    level: int
    at: int
    clock: Clock
    queue_place: QueuePlace
    reservation: RowReservation
    claim: IdempotencyClaim | None = None
    write_id: str = field(default_factory=new_id)
    has_read_claim: bool = False

    @property
    def now(self) -> int:
        """The value of ``at`` in Unix seconds."""
        return self.at // 1000

    def items(self, keys: Sequence[Key], entry: NewEntry | None = None) -> list[Item | None]:
        """Read items with strong consistency. The first read includes the claim.

        If ``entry`` is passed, the same round trip also reserves a position for a new row. Raises: Repeated, Refused.
        """
        if self.is_write:
            self.queue_place.wait_for_others(keys)
        claim = None if self.has_read_claim else self.claim
        own = claim.keys if claim else []
        read = partial(self._read, [*own, *keys])
        before = self.reservation.made
        found = read() if entry is None else self.reservation.make_while(read, entry)
        self.at = milliseconds(self.clock)
        if (made := self.reservation.made) is not None and made is not before:
            self.at = min(self.at, made.at)
        if claim is not None:
            self.has_read_claim = True
            self.references.check_repeat(claim, Facts(own, found[: len(own)]))
        return found[len(own) :]

    def reserve(self, entry: NewEntry) -> None:
        """Reserve a position for a new row in a separate round trip."""
        self.reservation.make(entry)

    def _read(self, keys: Sequence[Key]) -> list[Item | None]:
        """Read items in one round trip. Several batches are read in parallel."""
        parts = together([partial(self.store.batch_get, piece) for piece in pieces(keys, MOST_TOGETHER)])
        return [item for part in parts for item in part]

    def find(self, kind: type[R], number: int) -> R:
        """Read a record visible to the caller. Raises: Repeated, Refused."""
        return self.require_visible(kind, self.items([kind.key(number)])[0])

    def find_all(self, kind: type[R], numbers: Sequence[int]) -> list[R]:
        """Read records. Records that are not visible to the caller are omitted. Raises: Repeated, Refused."""
        items = self.items([kind.key(number) for number in numbers]) if numbers else []
        return [kind.from_item(item) for item in items if item is not None and self.can_see(item)]

    def require_visible(self, kind: type[R], item: Item | None) -> R:
        """Return the record in ``item``. Raises: Refused, if the record is missing or not visible to the caller."""
        if item is None or not self.can_see(item):
            raise Refused(kind.missing)
        return kind.from_item(item)

    def can_see(self, item: Item | None) -> bool:
        """Whether the record exists and is visible to the caller."""
        return bool(item and item["manager_id"] == self.manager_id and item["access_level"] <= self.level)


def page(rows: Sequence[D], paginator: tuple[int, int]) -> ActionOutcome[list[D]]:
    """Return a page of ``rows`` that starts at an offset, and the total number of rows."""
    item_count, offset = paginator
    return ActionOutcome([*rows[offset : offset + item_count]], beside={"paginator": {"total_items_count": len(rows)}})
