"""Tests for the time at which the next message of a queue can be received."""

import threading

from infra.local.message_queue import Message, MessageQueue
from tests.causeway import START
from tests.chaos.storage import next_visible
from tests.kit.time import ManualClock


def test_next_visible_returns_the_earliest_receive_time_or_none_for_an_empty_queue() -> None:
    clock = ManualClock(START)
    now = clock.monotonic()
    with (lock := threading.Lock()):
        queue = MessageQueue(lock, clock.monotonic)
        assert next_visible(queue) is None
        for name, delay in (("later", 20), ("next", 10)):
            queue.add(Message(name, "", 0, now + delay))

        assert next_visible(queue) == now + 10
