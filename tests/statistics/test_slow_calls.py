"""Slots for slow calls to a bank: their maximum number, their assignment, and their release."""

import pytest

from chalicelib.foundation.http.outbound import TOTAL_SECONDS
from chalicelib.statistics.slow_calls import HELD_SECONDS, SLOTS, SLOW_SECONDS, Slot, SlowCalls
from tests.causeway import Causeway
from tests.kit.storage import record_calls
from tests.statistics.bank_days import ALPHA, BETA


@pytest.fixture
def slow_calls(causeway: Causeway) -> SlowCalls:
    return SlowCalls(causeway.hub.store, causeway.clock)


def take_all(slow_calls: SlowCalls, bic: str = ALPHA) -> list[Slot]:
    taken = [slow_calls.take(bic) for _ in range(SLOTS)]
    return [slot for slot in taken if slot is not None]


def test_all_instances_together_have_fifty_slow_call_slots_per_bank(causeway: Causeway, slow_calls: SlowCalls) -> None:
    assert (SLOTS, SLOW_SECONDS) == (50, 3)

    assert len({slot.number for slot in take_all(slow_calls)}) == SLOTS
    assert SlowCalls(causeway.hub.store, causeway.clock).take(ALPHA) is None
    assert slow_calls.take(BETA) is not None


def test_a_slow_call_slot_is_free_after_its_call(slow_calls: SlowCalls) -> None:
    first, *_ = take_all(slow_calls)
    slow_calls.free(first)

    taken = slow_calls.take(ALPHA)
    assert taken is not None
    assert taken.number == first.number
    assert slow_calls.take(ALPHA) is None


def test_the_slow_call_slot_of_a_terminated_instance_is_free_after_the_call_timeout(
    causeway: Causeway, slow_calls: SlowCalls
) -> None:
    assert SLOW_SECONDS + HELD_SECONDS > TOTAL_SECONDS
    take_all(slow_calls)

    causeway.clock.advance(HELD_SECONDS - 1)
    assert slow_calls.take(ALPHA) is None
    causeway.clock.advance(1)
    assert slow_calls.take(ALPHA) is not None


def test_a_slow_call_frees_only_its_own_slot(causeway: Causeway, slow_calls: SlowCalls) -> None:
    first, *_ = take_all(slow_calls)
    causeway.clock.advance(HELD_SECONDS)
    take_all(slow_calls)

    slow_calls.free(first)

    assert slow_calls.take(ALPHA) is None


def test_slow_call_slots_occupied_by_an_instance_with_a_fast_clock_are_treated_as_free(
    causeway: Causeway, slow_calls: SlowCalls
) -> None:
    causeway.clock.advance(3600)
    take_all(slow_calls)
    causeway.clock.advance(-3600)

    assert len(take_all(slow_calls)) == SLOTS


def test_occupying_a_slow_call_slot_makes_one_write_and_a_refusal_makes_a_write_and_a_query(
    causeway: Causeway, slow_calls: SlowCalls
) -> None:
    with record_calls(causeway) as calls:
        slow_calls.take(ALPHA)
    assert calls == ["PutItem"]

    take_all(slow_calls)
    with record_calls(causeway) as calls:
        assert slow_calls.take(ALPHA) is None
    assert calls == ["PutItem", "Query"]
