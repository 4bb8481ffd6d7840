"""All schedules of a pair, and those whose outcome is not that of one request after the other."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import get_args
from unittest.mock import patch

from chalicelib.cards.storage import sequences
from tests.interleavings.outcomes import answer, in_progress, outcome
from tests.interleavings.scheduler import Crashed, Fault, FaultKind, Played, Request, Schedule, play, play_all
from tests.openbanking.faults import Snapshot
from tests.world import GROWING, World

_LONGEST = 1000
"""More calls than a request makes."""

Prepare = Callable[[World], tuple[Request, Request]]


@dataclass(frozen=True)
class Findings:
    """What was played of a pair.

    Attributes:
        played: the number of schedules.
        shared: the number of those in which both requests read or wrote one item.
        wrong: the outcomes that are not allowed, by the schedule's digits, and the fault if there is one.
        allowed: the outcomes of one request after the other.
    """

    played: int
    shared: int
    wrong: dict[str, str]
    allowed: list[str]

    def __add__(self, other: Findings) -> Findings:
        return Findings(self.played + other.played, self.shared + other.shared, self.wrong | other.wrong, self.allowed)


class PlayedPair:
    """A pair, prepared in a world, to be played from the same beginning again and again."""

    def __init__(self, world: World, prepare: Prepare) -> None:
        self._world = world
        with _endless_identifiers():
            self._requests = prepare(world)
        self._before = Snapshot(world, (*GROWING, "clients"))
        self.play(())  # caches are filled
        self._one_after_the_other, in_turn = [], []
        for first in (0, 1):
            in_turn.append(self.play((first,) * _LONGEST))
            self._one_after_the_other.append(outcome(world, in_turn[-1]))
        self._in_turn = [[answer(each.results[number]) for each in in_turn] for number in (0, 1)]
        self._alone = [answer(self._play([request], ()).results[0]) for request in self._requests]

    def play(self, schedule: Schedule, fault: Fault | None = None) -> Played:
        return self._play(self._requests, schedule, fault)

    def play_all(self, fault: Fault | None = None) -> Findings:
        played = shared = 0
        wrong: dict[str, str] = {}
        for each in play_all(lambda schedule: self.play(schedule, fault)):
            played += 1
            shared += bool(each.shared_items)
            if not self._is_allowed(each):
                wrong["".join(map(str, each.schedule)) + (f":{fault}" if fault else "")] = outcome(self._world, each)
        return Findings(played, shared, wrong, self._one_after_the_other)

    def play_all_with_faults(self) -> Findings:
        """Without a fault, and with every fault of every call."""
        return sum(map(self.play_all, self.faults()), self.play_all())

    def faults(self) -> list[Fault]:
        """Every fault of every call that a request makes in any order."""
        calls: Counter[int] = Counter()
        for each in play_all(self.play):  # whoever comes second makes more calls
            calls |= Counter(each.schedule)
        return [
            Fault(request, call, kind)
            for request in (0, 1)
            for call in range(calls[request])
            for kind in get_args(FaultKind)
        ]

    def _is_allowed(self, played: Played) -> bool:
        """Whether the outcome is that of one after the other, or one has an answer of its own.

        The other one may have crashed, or is to come again since the first is in progress.
        """
        if outcome(self._world, played) in self._one_after_the_other:
            return True
        crashed = [number for number, result in enumerate(played.results) if isinstance(result, Crashed)]
        asked_again = in_progress(played.results)
        for number in {*crashed, *asked_again}:
            other = 1 - number
            shown = answer(played.results[other])
            if shown in (self._alone[other], *self._in_turn[other]) or (crashed and other in asked_again):
                return True
        return False

    def _play(self, requests: Sequence[Request], schedule: Schedule, fault: Fault | None = None) -> Played:
        self._before.restore()
        with _endless_identifiers():
            return play(requests, schedule, fault)


def _endless_identifiers() -> AbstractContextManager[object]:
    """Processes take blocks of identifiers that no pair uses up, so that every run makes the same calls."""
    return patch.object(sequences, "BLOCK", 10**6)
