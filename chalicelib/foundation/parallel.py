"""Parallel calls: a batch takes as long as one call."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from functools import cache
from typing import TypeVar

T = TypeVar("T")

WIDTH = 32
"""The most parallel calls; the clients of ``aws`` have as many connections."""


def together(calls: Sequence[Callable[[], T]]) -> list[T]:
    """The results of ``calls``, in order. All are made; the first failure is raised at the end.

    A call must not make others in this way: it would wait for the place that it takes itself.
    """
    if len(calls) == 1 or WIDTH == 1:
        return [call() for call in calls]
    made = [_pool().submit(copy_context().run, call) for call in calls]  # log lines name the request in there, too
    failures = [failure for each in made if (failure := each.exception()) is not None]
    if failures:
        raise failures[0]
    return [each.result() for each in made]


def pieces(whole: Sequence[T], size: int) -> Iterator[Sequence[T]]:
    """Split ``whole`` into pieces of ``size``; the last one may be shorter."""
    return (whole[start : start + size] for start in range(0, len(whole), size))


@cache
def _pool() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(WIDTH, thread_name_prefix="together")
