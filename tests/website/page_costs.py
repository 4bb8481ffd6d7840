"""What a page may weigh, and the processor time that it may take."""

from __future__ import annotations

import time
from collections.abc import Callable

BYTES = 100_000
SECONDS = 0.1


def quickest(work: Callable[[], object]) -> float:
    """The processor time in seconds of the best of five times, after one that is not counted."""
    times = []
    for _ in range(6):
        begun = time.process_time()
        work()
        times.append(time.process_time() - begun)
    return min(times[1:])
