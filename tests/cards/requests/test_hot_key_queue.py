"""Tests of queues for contended items: only requests for the same item wait in a queue."""

import threading

from chalicelib.cards.requests.request_context import HotKeyQueues, QueuePlace
from chalicelib.foundation.clock import Clock
from chalicelib.foundation.dynamodb.store import Put, Update

ACCOUNT = ("cards", {"owner": "account#1", "part": "account"})
OTHER = ("cards", {"owner": "account#2", "part": "account"})
CLOCK = Clock()
CHANGE = Update(*ACCOUNT, set={"held": 1})


def place_in(queues: HotKeyQueues, patience: float = 10) -> QueuePlace:
    return QueuePlace(queues, CLOCK, CLOCK.monotonic() + patience)


def waiting_in(queues: HotKeyQueues) -> int:
    return sum(queue.waiting for queue in queues.queues.values())


def test_a_request_without_contention_does_not_wait_in_a_queue() -> None:
    queues = HotKeyQueues()
    first, second = place_in(queues), place_in(queues)

    first.wait_for_others([ACCOUNT, OTHER])
    second.wait_for_others([ACCOUNT])

    assert waiting_in(queues) == 0


def test_later_requests_wait_for_a_queued_request() -> None:
    queues, order = HotKeyQueues(), []
    late, newcomer = place_in(queues), place_in(queues)
    late.queue_for(CHANGE)

    def arrive() -> None:
        newcomer.wait_for_others([OTHER, ACCOUNT])
        order.append("newcomer")
        newcomer.leave()

    thread = threading.Thread(target=arrive)
    thread.start()
    until = CLOCK.monotonic() + 10
    while waiting_in(queues) < 2:
        assert CLOCK.monotonic() < until
    order.append("late")
    late.leave()
    thread.join()

    assert order == ["late", "newcomer"]
    assert waiting_in(queues) == 0


def test_a_put_and_an_update_of_one_item_wait_in_one_queue() -> None:
    queues = HotKeyQueues()
    place = place_in(queues)

    place.queue_for(CHANGE)
    place.queue_for(Put("cards", {**ACCOUNT[1], "held": 2}))

    assert waiting_in(queues) == 1
    assert place.lost_turns == 1


def test_a_request_joins_only_one_queue() -> None:
    """Two requests that each hold a place in one queue and wait for a second queue would deadlock."""
    queues = HotKeyQueues()
    place = place_in(queues)

    place.queue_for(CHANGE)
    place.queue_for(Update(*OTHER, set={"held": 1}))
    place.wait_for_others([ACCOUNT])

    assert waiting_in(queues) == 1
    assert place.lost_turns == 0
    place.leave()
    place.leave()
    assert waiting_in(queues) == 0


def test_a_request_proceeds_after_its_queue_timeout() -> None:
    queues = HotKeyQueues()
    first, second = place_in(queues), place_in(queues, patience=0)
    first.queue_for(CHANGE)

    second.queue_for(CHANGE)

    second.leave()
    first.leave()
    assert waiting_in(queues) == 0
