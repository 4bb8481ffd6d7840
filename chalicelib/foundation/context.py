"""The context of a request: its deadline, its measurements, the captured exchange, and members of its log lines.

The context applies to the request's thread and its parallel calls (``together``). After the deadline, no AWS call
starts, and waiting ends. The boto3 clients for S3 and SES ignore the deadline.
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
"""The number of seconds reserved for recording the outcome of a call to another party, even after a slow response."""
CAPTURED_BYTES = 65_536
"""The maximum number of captured bytes of a response body."""


@dataclass(frozen=True, slots=True)
class _Limit:
    """A deadline on the clock ``monotonic``, nested in the deadline ``outer``. ``tight_deadline`` explains
    ``is_tight``.
    """

    monotonic: Callable[[], float]
    until: float
    outer: _Limit | None
    is_tight: bool = False


@dataclass(slots=True)
class CapturedHeaders:
    """The unredacted headers of the latest call to another party. Redact them before logging or storing them.

    Headers are stored here and not returned with results, because a failure would lose them: errors are translated
    before they reach the caller, and a defect can end a call at any point. Outside ``capturing``, no headers are
    recorded.

    Attributes:
        sent: the request headers, set when the first byte is sent.
        received: the response headers, even if the body is incomplete.
        beginning: the first received bytes of the response body.
    """

    sent: Mapping[str, str] | None = field(default=None, repr=False)
    received: Mapping[str, str] | None = field(default=None, repr=False)
    beginning: bytes = field(default=b"", repr=False)


@dataclass(frozen=True, slots=True)
class Context:
    """The state that all code of one request shares.

    Attributes:
        log_members: the members of all log lines of the request.
        measured: the measurements of the request; ``None`` outside a measurement.
        captured: the headers of calls to other parties; ``None`` outside ``capturing``.
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
    """Return a context that measures a request in ``measured``. Log members that are added in the context are removed
    at its end. The request's calls end at ``until`` (see ``deadline``).
    """
    outer = current()
    limit = _Limit(monotonic, until, outer.limit)
    return _changed(measured=measured, limit=limit, log_members=outer.log_members)


def capturing(headers: CapturedHeaders) -> AbstractContextManager[None]:
    """Record the headers of the calls in this context in ``headers``."""
    return _changed(captured=headers)


def captured() -> CapturedHeaders:
    """Return the captured headers of the latest call, or a temporary object outside ``capturing``."""
    return current().captured or CapturedHeaders()


def deadline(monotonic: Callable[[], float], until: float) -> AbstractContextManager[None]:
    """End the calls in this context at ``until`` (clock ``monotonic``), or at an earlier outer deadline."""
    return _changed(limit=_Limit(monotonic, until, current().limit))


def tight_deadline(monotonic: Callable[[], float], until: float) -> AbstractContextManager[None]:
    """End the calls in this context at ``until``, like ``deadline``, but for short times.

    AWS calls get short timeouts, so that a retry can still succeed. Only the store retries AWS calls.
    """
    return _changed(limit=_Limit(monotonic, until, current().limit, is_tight=True))


def unlimited() -> AbstractContextManager[None]:
    """Remove the deadline in this context, for a task that takes minutes on a single machine."""
    return _changed(limit=None)


def leave_time(monotonic: Callable[[], float]) -> None:
    """Reserve ``RECORD_SECONDS`` for recording an effect, even if the deadline of the request is earlier."""
    if seconds_left() < RECORD_SECONDS:
        _current.set(replace(current(), limit=_Limit(monotonic, monotonic() + RECORD_SECONDS, None, is_tight=True)))


def seconds_left() -> float:
    """Return the seconds until the deadline. They are negative after the deadline, and infinite without a deadline."""
    return min((limit.until - limit.monotonic() for limit in _limits()), default=inf)


def is_limited() -> bool:
    return current().limit is not None


def is_tight() -> bool:
    """Whether any current deadline was set with ``tight_deadline``."""
    return any(limit.is_tight for limit in _limits())


def is_over() -> bool:
    return seconds_left() <= 0


def _limits() -> Iterator[_Limit]:
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
