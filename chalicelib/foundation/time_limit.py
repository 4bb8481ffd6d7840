"""A time limit for the calls of AWS that one request makes, and for what it waits for.

It holds inside ``time_limit``, in the same thread and in the calls that it makes ``together``: no call begins after the
limit, none is waited for longer (see ``aws.calls``), and only the store repeats one. Where there is no limit, each
service has its own. Clients of boto3, for S3 and SES, know no limit.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from math import inf

from chalicelib.foundation.lazy_dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class _Limit:
    monotonic: Callable[[], float]
    until: float
    outer: _Limit | None

    @property
    def seconds_left(self) -> float:
        left = self.until - self.monotonic()
        return left if self.outer is None else min(left, self.outer.seconds_left)


_limit: ContextVar[_Limit | None] = ContextVar("time_limit", default=None)


@contextmanager
def time_limit(monotonic: Callable[[], float], until: float) -> Iterator[None]:
    """End the calls made inside at ``until``, a time of the clock ``monotonic``, or at an earlier outer limit."""
    token = _limit.set(_Limit(monotonic, until, _limit.get()))
    try:
        yield
    finally:
        _limit.reset(token)


def seconds_left() -> float:
    """The seconds until the limit, negative after it; infinite where there is none."""
    limit = _limit.get()
    return inf if limit is None else limit.seconds_left


def is_limited() -> bool:
    return _limit.get() is not None


def is_over() -> bool:
    return seconds_left() <= 0
