"""Many requests at the same time, in several processes of the service."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar
from unittest.mock import patch

from chalicelib.foundation.store import Store
from tests.cards.scenes import Scene
from tests.conftest import DYNAMODB_ENDPOINT

T = TypeVar("T")

MANY = 50
PROCESSES = 5


def processes(scene: Scene) -> list[Scene]:
    """Some processes that know what a running one knows; each has identifiers of its own."""
    made = [scene.apart() for _ in range(PROCESSES)]
    for each in made:
        each.card(card_virtual=0)
    return made


def at_once(calls: Sequence[Callable[[], T]]) -> list[T]:
    """What ``calls`` answer that begin at the same time.

    The emulator is not made for threads: there they take turns at every call of the storage.
    """
    barrier = threading.Barrier(len(calls))

    def made(call: Callable[[], T]) -> T:
        barrier.wait()
        return call()

    with _turns(), ThreadPoolExecutor(len(calls)) as pool:
        return list(pool.map(made, calls))


@contextlib.contextmanager
def _turns() -> Iterator[None]:
    if DYNAMODB_ENDPOINT:
        yield
        return
    turn, call = threading.Lock(), Store._call

    def in_turn(store: Store, *arguments: Any, **request: Any) -> Any:
        with turn:
            return call(store, *arguments, **request)

    with patch.object(Store, "_call", in_turn):
        yield
