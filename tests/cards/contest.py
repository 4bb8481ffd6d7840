"""Helpers that run concurrent requests in several processes of the service."""

import contextlib
import itertools
import threading
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any, TypeVar
from unittest.mock import patch

from chalicelib.cards.protocol.status_codes import Status
from chalicelib.foundation.dynamodb.store import Store
from tests.cards.issuer import Envelope, Issuer
from tests.conftest import DYNAMODB_ENGINE

T = TypeVar("T")

MANY = 50
PROCESSES = 5
CLIENTS = 64 if DYNAMODB_ENGINE else 16
UNDECIDED = (Status.CONFLICT, Status.IN_PROGRESS)


def processes(issuer: Issuer) -> list[Issuer]:
    """Create processes with cached data and separate identifiers."""
    made = [issuer.with_own_clock() for _ in range(PROCESSES)]
    for each in made:
        each.card(card_virtual=0)
    return made


def at_once(calls: Sequence[Callable[[], T]]) -> list[T]:
    """Start ``calls`` concurrently and return their results.

    The emulator is not thread-safe, so threads take turns at every storage call.
    """
    barrier = threading.Barrier(len(calls))

    def run(call: Callable[[], T]) -> T:
        barrier.wait()
        return call()

    with _turns(), ThreadPoolExecutor(len(calls)) as pool:
        return list(pool.map(run, calls))


def decided(call: Callable[[], Envelope]) -> Envelope:
    answers = (call() for _ in itertools.count())
    return next(answer for answer in answers if answer.status_code not in UNDECIDED)


def race(calls: Sequence[Callable[[], Envelope]]) -> list[Envelope]:
    return at_once([partial(decided, call) for call in calls])


def codes(answers: Sequence[Envelope]) -> Counter[int | None]:
    return Counter(answer.status_code for answer in answers)


@contextlib.contextmanager
def _turns() -> Iterator[None]:
    if DYNAMODB_ENGINE:
        yield
        return
    turn, call = threading.Lock(), Store.call_once

    def in_turn(store: Store, *arguments: Any, **request: Any) -> Any:
        with turn:
            return call(store, *arguments, **request)

    with patch.object(Store, "call_once", in_turn):
        yield
