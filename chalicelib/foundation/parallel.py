"""Parallel calls: a batch takes as long as its slowest call."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextvars import copy_context
from functools import cache
from threading import Thread
from typing import TypeVar

from chalicelib.foundation import context

T = TypeVar("T")

WIDTH = 32
"""The maximum number of parallel calls. The connection pool to AWS is large enough for all of them."""


def together(calls: Sequence[Callable[[], T]]) -> list[T]:
    """Run ``calls`` in parallel and return their results in order. If calls fail, raise the first failure after all
    calls have ended.

    Calls must not use ``together`` themselves. A nested call could wait forever for its own thread.

    Raises: TimeoutError, if the time limit of the request ends before the calls do.
    """
    if len(calls) == 1 or WIDTH == 1:
        return [call() for call in calls]
    made = [_pool().submit(copy_context().run, call) for call in calls]  # keeps the request id in log lines
    left = context.seconds_left() if context.is_limited() else None
    if unfinished := wait(made, left).not_done:
        for each in unfinished:
            each.cancel()
        raise TimeoutError("parallel calls did not end within the time limit of the request")
    failures = [failure for each in made if (failure := each.exception()) is not None]
    if failures:
        raise failures[0]
    return [each.result() for each in made]


def in_time(call: Callable[[], T]) -> T:
    """Return the result of a call that has no timeout of its own.

    With a deadline, the call runs in a thread. At the deadline, the caller stops waiting for this thread.

    Raises: TimeoutError.
    """
    if not context.is_limited():
        return call()
    result: Future[T] = Future()

    def run() -> None:
        try:
            result.set_result(call())
        except BaseException as error:
            result.set_exception(error)

    Thread(target=copy_context().run, args=(run,), daemon=True).start()
    return result.result(context.seconds_left())


def pieces(whole: Sequence[T], size: int) -> Iterator[Sequence[T]]:
    """Split the sequence ``whole`` into pieces of ``size``. The last piece may be shorter."""
    return (whole[start : start + size] for start in range(0, len(whole), size))


@cache
def _pool() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(WIDTH, thread_name_prefix="together")
