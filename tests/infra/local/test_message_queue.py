"""The in-memory queue: the cost of a call does not depend on the queue length, and a message wakes one consumer."""

import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator

import pytest

from infra.local.event_runner import POLLERS
from infra.local.message_queue import Message, MessageQueue
from tests.causeway import START
from tests.kit.time import PATIENCE_SECONDS, ManualClock, wait_for


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock(START)


@pytest.fixture
def queue(clock: ManualClock) -> Iterator[MessageQueue]:
    with (lock := threading.Lock()):
        yield MessageQueue(lock, clock.monotonic)


def made(name: str, visible_at: float) -> Message:
    return Message(name, f"body of {name}", 0, visible_at)


def received(queue: MessageQueue) -> Message:
    found = queue.take()
    assert found is not None
    return found


def taken(queue: MessageQueue) -> list[str]:
    found = []
    while each := queue.take():
        found.append(each.message_id)
        queue.remove(each)
    return found


def test_messages_are_received_in_the_order_of_their_visibility(queue: MessageQueue, clock: ManualClock) -> None:
    now = clock.monotonic()
    for name, delay in (("late", 20), ("first", 0), ("early", 10), ("second", 0)):
        queue.add(made(name, now + delay))

    assert taken(queue) == ["first", "second"]
    clock.advance(15)
    assert taken(queue) == ["early"]
    clock.advance(5)
    assert taken(queue) == ["late"]


def test_a_hidden_message_is_received_after_the_timeout_unless_the_message_is_removed(
    queue: MessageQueue, clock: ManualClock
) -> None:
    for name in ("hidden", "removed", "shown"):
        queue.add(made(name, clock.monotonic()))
    hidden, removed, shown = (received(queue) for _ in range(3))
    for each in (hidden, removed, shown):
        queue.hide(each, clock.monotonic() + 30)
    queue.remove(removed)
    queue.hide(shown, clock.monotonic())

    assert (taken(queue), queue.count()) == (["shown"], (0, 0, 1))
    clock.advance(30)
    assert taken(queue) == ["hidden"]


def test_messages_are_counted_as_visible_in_progress_or_delayed(queue: MessageQueue, clock: ManualClock) -> None:
    for number in range(6):
        queue.add(made(str(number), clock.monotonic() + (100 if number > 3 else 0)))
    in_progress = received(queue)
    in_progress.received += 1
    queue.hide(in_progress, clock.monotonic() + 30)

    assert queue.count() == (3, 1, 2)


class Compared(float):
    times = 0

    def __lt__(self, other: float) -> bool:
        Compared.times += 1
        return super().__lt__(other)

    def __le__(self, other: float) -> bool:
        Compared.times += 1
        return super().__le__(other)


@pytest.mark.parametrize("count", [1000, 10_000])
def test_the_cost_of_receiving_and_deleting_a_message_is_independent_of_the_queue_length(
    count: int, queue: MessageQueue, clock: ManualClock
) -> None:
    now = clock.monotonic()
    for number in range(count):
        queue.add(made(str(number), Compared(now)))
    Compared.times = 0
    for _ in range(100):
        message = received(queue)
        queue.hide(message, Compared(now + 180))
        queue.remove(message)

    assert len(queue) == count - 100
    assert Compared.times <= 100 * 20


class Consumers:
    def __init__(self, queue: MessageQueue, lock: threading.Lock, count: int) -> None:
        self.looks: Counter[int] = Counter()
        self.got: list[str] = []
        self._queue = queue
        self._lock = lock
        self._stopped = False
        self._threads = [threading.Thread(target=self._consume, args=(number,)) for number in range(count)]
        for thread in self._threads:
            thread.start()
        self.until(lambda: len(self.looks) == count)

    def _consume(self, number: int) -> None:
        with self._lock:
            while not self._stopped:
                self.looks[number] += 1
                if found := self._queue.take():
                    self._queue.remove(found)
                    self.got.append(found.message_id)
                else:
                    self._queue.wait(PATIENCE_SECONDS)

    def until(self, reached: Callable[[], bool]) -> None:
        def look() -> bool:
            with self._lock:
                return reached()

        wait_for(look)

    def stop(self) -> None:
        with self._lock:
            self._stopped = True
            self._queue.arrival.notify_all()
        for thread in self._threads:
            thread.join(PATIENCE_SECONDS)


@pytest.mark.parametrize("delay", [0.0, 0.05])
def test_each_message_that_becomes_visible_wakes_exactly_one_waiting_consumer(delay: float) -> None:
    lock = threading.Lock()
    queue = MessageQueue(lock, time.time)
    consumers = Consumers(queue, lock, POLLERS)
    for number in range(5):
        with lock:
            queue.add(made(str(number), time.time() + delay))
        consumers.until(lambda: len(consumers.got) == number + 1)  # noqa: B023 - it is asked within the round
    consumers.until(lambda: consumers.looks.total() == POLLERS + 2 * 5)
    consumers.stop()

    assert consumers.got == ["0", "1", "2", "3", "4"]
