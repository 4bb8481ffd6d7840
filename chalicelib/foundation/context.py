"""The context of a request: its deadline, its measurements, the captured exchange, and members of its log lines.

It holds in the thread of the request, and in the calls that it makes ``together``. After a limit no call of AWS begins,
and none is waited for longer. Clients of boto3, for S3 and SES, know no limit.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from contextvars import ContextVar
from dataclasses import field, replace
from math import inf
from typing import Any

from chalicelib.foundation.lazy_dataclasses import dataclass

RECORD_SECONDS = 3.0
"""The time to record what another party was asked for, however long its answer took."""
CAPTURED_BYTES = 65_536
"""The number of bytes of a response body that are captured."""


@dataclass(frozen=True, slots=True)
class _Limit:
    """An end of time, by the clock ``monotonic``, within an ``outer`` one. ``is_tight`` as in ``tight_deadline``."""

    monotonic: Callable[[], float]
    until: float
    outer: _Limit | None
    is_tight: bool = False


@dataclass(slots=True)
class CapturedHeaders:
    """The latest call to another party: its headers, unredacted, which must not be logged or stored as they are.

    Errors are translated on their way to the caller, and a defect can end a call at any point, so headers passed along
    with results would be lost when they are needed most. Outside ``capturing``, nothing is recorded.

    Attributes:
        sent: the request headers, set when the first byte is sent.
        received: the response headers, even if the body is incomplete.
        beginning: the first bytes of the response body, as far as it came.
    """

    sent: Mapping[str, str] | None = field(default=None, repr=False)
    received: Mapping[str, str] | None = field(default=None, repr=False)
    beginning: bytes = field(default=b"", repr=False)


@dataclass(frozen=True, slots=True)
class Context:
    """The state that all code of one request shares.

    Attributes:
        log_members: the members of all its log lines.
        measured: what is measured of it; ``None`` outside of a measurement.
        captured: the headers of its calls to other parties; ``None`` where nobody keeps them.
    """

    log_members: Mapping[str, Any]
    measured: Any = None
    captured: CapturedHeaders | None = None
    limit: _Limit | None = None


_current: ContextVar[Context] = ContextVar("request", default=Context({}))  # noqa: B039 - it is never changed
current = _current.get


def bind(**members: Any) -> None:
    """Add members to all later log lines of this request."""
    _current.set(replace(current(), log_members={**current().log_members, **members}))


def clear() -> None:
    """Clear the members of log lines at the end of a request."""
    _current.set(replace(current(), log_members={}))


def measuring(measured: Any, monotonic: Callable[[], float], until: float) -> AbstractContextManager[None]:
    """Measure in ``measured`` a request, which ends at ``until`` as by ``deadline``, with log members of its own."""
    outer = current()
    limit = _Limit(monotonic, until, outer.limit)
    return _changed(measured=measured, limit=limit, log_members=outer.log_members)


def capturing(headers: CapturedHeaders) -> AbstractContextManager[None]:
    """Record in ``headers`` those of the calls made inside."""
    return _changed(captured=headers)


def captured() -> CapturedHeaders:
    """The record of the latest call; outside ``capturing``, a throw-away object."""
    return current().captured or CapturedHeaders()


def deadline(monotonic: Callable[[], float], until: float) -> AbstractContextManager[None]:
    """End the calls made inside at ``until``, a time of the clock ``monotonic``, or at an earlier outer limit."""
    return _changed(limit=_Limit(monotonic, until, current().limit))


def tight_deadline(monotonic: Callable[[], float], until: float) -> AbstractContextManager[None]:
    """Like ``deadline``, for short times: calls to AWS get so little time that a repeat can still succeed.

    Only the store repeats them.
    """
    return _changed(limit=_Limit(monotonic, until, current().limit, is_tight=True))


def unlimited() -> AbstractContextManager[None]:
    """Let the calls made inside take as long as they need, for work of minutes on one machine."""
    return _changed(limit=None)


def leave_time(monotonic: Callable[[], float]) -> None:
    """Leave ``RECORD_SECONDS`` to record an effect, even if the limit of the request ends sooner."""
    if seconds_left() < RECORD_SECONDS:
        _current.set(replace(current(), limit=_Limit(monotonic, monotonic() + RECORD_SECONDS, None, is_tight=True)))


def seconds_left() -> float:
    """The seconds until the limit, negative after it; infinite where there is none."""
    return min((limit.until - limit.monotonic() for limit in _limits()), default=inf)


def is_limited() -> bool:
    return current().limit is not None


def is_tight() -> bool:
    """Whether there is a limit that leaves little time; see ``tight_deadline``."""
    return any(limit.is_tight for limit in _limits())


def is_over() -> bool:
    return seconds_left() <= 0


def _limits() -> Iterator[_Limit]:
    """The limits that hold now, the innermost first."""
    limit = current().limit
    while limit is not None:
        yield limit
        limit = limit.outer


@contextmanager
def _changed(**changes: Any) -> Iterator[None]:
    outer = current()
    _current.set(replace(outer, **changes))
    try:
        yield
    finally:
        _current.set(replace(current(), **{name: getattr(outer, name) for name in changes}))
