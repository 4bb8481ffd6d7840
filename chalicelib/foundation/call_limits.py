"""Rate limits for each caller, with token buckets that are implemented as the generic cell rate algorithm (GCRA).

Calls are counted in the memory of one process, without a storage call. A caller's total limit is the limit times the
number of processes (on Lambda, instances).
"""

from __future__ import annotations

import math
import threading
from collections import OrderedDict

from chalicelib.foundation.clock import Clock

MAX_CALLERS = 10_000
"""The maximum number of callers whose calls are counted. At this limit, the count of the caller with the least recent
call is dropped.
"""
_PERIOD = 60.0
_ROUNDING = 1e-6
"""The maximum rounding error of added fractions, in seconds."""


class LimitReached(Exception):
    """The caller has exceeded its rate limit.

    Attributes:
        limit: the permitted calls per minute.
        retry_after: whole seconds, at least 1, until the next call is admitted.
    """

    def __init__(self, limit: int, retry_after: int) -> None:
        self.limit = limit
        self.retry_after = retry_after
        super().__init__(f"{limit} calls a minute")


class CallLimits:
    """Admits a burst of up to one minute's calls, then calls at an even rate. Thread-safe.

    For each caller, it stores the time of the last admitted call and the number of seconds by which the caller was
    ahead of an even pace. A refused call does not count.
    """

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self.admitted: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def admit(self, caller: str, limit: int) -> None:
        """Count a call of ``caller``, which may make ``limit`` calls per minute. Raises: LimitReached."""
        with self._lock:
            now = self._clock.monotonic()
            at, ahead = self.admitted.get(caller, (now, 0.0))
            passed = max(now - at, 0.0)  # a clock that was set back costs a caller nothing
            ahead = max(ahead - passed, 0.0) + _PERIOD / limit
            if (too_early := ahead - _PERIOD) > _ROUNDING:
                raise LimitReached(limit, max(1, math.ceil(too_early - _ROUNDING)))
            self.admitted[caller] = (now, ahead)
            self.admitted.move_to_end(caller)
            if len(self.admitted) > MAX_CALLERS:
                self.admitted.popitem(last=False)
