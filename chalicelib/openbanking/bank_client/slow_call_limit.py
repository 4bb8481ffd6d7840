"""Limits the calls that wait for a slow bank, so that a hanging bank cannot occupy all instances.

A call that has waited for ``SLOW_SECONDS`` takes one of the bank's slots, or is given up if there is none. The limit
needs no downtime or open circuit, and does nothing to calls that the bank answers sooner. Storage that hangs does not
hold up a call: each use of it has a time limit.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from functools import partial

from chalicelib.foundation import log
from chalicelib.foundation.context import time_limit
from chalicelib.foundation.dynamodb.store import Busy, StoreError
from chalicelib.foundation.http.deadline_connections import SlowCheck
from chalicelib.foundation.http.outbound import GivenUp
from chalicelib.foundation.requests.engine import try_to
from chalicelib.openbanking.bank_client.bank_circuits import STORAGE_SECONDS
from chalicelib.statistics.slow_calls import SLOTS, SLOW_SECONDS, Slot, SlowCalls

TAKE_SECONDS = 1.0
"""The time limit of taking a slot, longer than the store's repeats of a throttled call."""
NO_SLOT = f"no answer came within {SLOW_SECONDS} s, and {SLOTS} other calls wait for the bank"


@contextmanager
def limit_slow_call(slow_calls: SlowCalls, bic: str, *, may_give_up: bool) -> Iterator[SlowCheck]:
    """The check of a call to a bank, which raises ``GivenUp``; the call's slot is freed afterwards.

    Without ``may_give_up`` the call takes a slot, but goes on if there is none. Every call goes on if storage fails
    or hangs.
    """
    taken: list[Slot] = []

    def check() -> None:
        try:
            with _storage_limit(slow_calls, TAKE_SECONDS):
                slot = slow_calls.take(bic)
        except Busy:  # more calls than one partition takes compete for the slots
            slot = None
        except StoreError:
            log.warning("slow call not counted", bic=bic)
            return
        if slot is not None:
            taken.append(slot)
        elif may_give_up:
            raise GivenUp(NO_SLOT)

    try:
        yield SlowCheck(SLOW_SECONDS, check)
    finally:
        for slot in taken:
            with _storage_limit(slow_calls, STORAGE_SECONDS):  # a slot that is not freed frees itself
                try_to(partial(slow_calls.free, slot), "slow call not ended", bic=slot.bic)


def _storage_limit(slow_calls: SlowCalls, seconds: float) -> AbstractContextManager[None]:
    clock = slow_calls.clock
    return time_limit(clock.monotonic, clock.monotonic() + seconds)
