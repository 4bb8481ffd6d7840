"""Schedules of a scene's requests, and those whose outcome is not that of one request after the other.

With a fault, the outcome may be that of a fault of the same kind, of any call of that request, in one after the other.
An answer that asks for its request again is as if the others had been made without it.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import combinations, islice, permutations
from typing import Any, get_args
from unittest.mock import patch

from chalicelib.cards.storage import sequences
from chalicelib.delivery import receiver_slots, worker
from chalicelib.foundation.dynamodb import sharded_index
from tests.causeway import Causeway
from tests.interleavings.outcomes import Outcome, answers, difference, is_to_come_again, received
from tests.interleavings.scenes import Requests, Scene
from tests.interleavings.scheduler import Fault, FaultKind, Played, Request, Schedule, play, play_all
from tests.interleavings.stored import TABLES, Stored
from tests.openbanking.faults import Snapshot

_Numbers = tuple[int, ...]
"""Requests by their numbers."""


@dataclass(frozen=True)
class Findings:
    """What was played of requests.

    Attributes:
        played: the number of schedules.
        shared: the number of those in which all requests read or wrote one item.
        wrong: what differs from one request after the other, by the schedule's digits, and the fault if there is one.
    """

    played: int = 0
    shared: int = 0
    wrong: dict[str, str] = field(default_factory=dict)

    def __add__(self, other: Findings) -> Findings:
        return Findings(self.played + other.played, self.shared + other.shared, self.wrong | other.wrong)


@dataclass(frozen=True)
class Sample:
    """At most so many schedules, by chance; otherwise all."""

    most: int | None = None
    chance: random.Random | None = None


class PlayedScene:
    """A scene, prepared in a service, to be played from the same beginning again and again."""

    def __init__(self, causeway: Causeway, requests: Requests) -> None:
        self.causeway = causeway
        self.requests = requests
        self._before, self._stored = Snapshot(causeway, TABLES), Stored(causeway)

    def restore(self) -> None:
        self._before.restore()

    def outcome(self, results: Sequence[Any]) -> Outcome:
        """What requests came to since the beginning, which had these results."""
        return Outcome(answers(results), received(self.causeway), self._stored.changes())

    def ledger_mismatch(self) -> str:
        return self._stored.ledger_mismatch()

    def group(self, names: str, sample: Sample | None = None) -> PlayedGroup:
        """Those of its requests whose names are these, with commas. Raises: KeyError."""
        return PlayedGroup(self, [self.requests.take(name) for name in names.split(", ")], sample or Sample())


class _Outcomes:
    """Outcomes, of which so many are played as one looks for."""

    def __init__(self, outcomes: Iterator[Outcome]) -> None:
        self._found: set[Outcome] = set()
        self._further = outcomes

    def __contains__(self, outcome: Outcome) -> bool:
        return outcome in self._found or outcome in self._play_further()

    def __iter__(self) -> Iterator[Outcome]:
        self._found.update(self._further)
        return iter(self._found)

    def _play_further(self) -> Iterator[Outcome]:
        for each in self._further:
            self._found.add(each)
            yield each


class PlayedGroup:
    """Requests that are made at the same time."""

    def __init__(self, scene: PlayedScene, requests: Sequence[Request], sample: Sample) -> None:
        self._scene = scene
        self._requests = requests
        self._sample = sample
        self._numbers = tuple(range(len(requests)))
        self._allowed: dict[tuple[_Numbers, tuple[int, FaultKind] | None], _Outcomes] = {}
        for first in self._numbers:  # caches are filled, and blocks of identifiers taken
            self._play_in_turn((first, *(each for each in self._numbers if each != first)))

    @cached_property
    def faults(self) -> Sequence[Fault]:
        """Every fault of every call that a request makes in any order."""
        calls: Counter[int] = Counter()
        for each in self._schedules():  # whoever comes second makes more calls
            calls |= Counter(each.schedule)
        kinds: Sequence[FaultKind] = get_args(FaultKind)
        return [
            Fault(number, call, kind) for number in self._numbers for call in range(calls[number]) for kind in kinds
        ]

    def play(self, schedule: Schedule, fault: Fault | None = None) -> Played:
        self._scene.restore()
        return play(self._requests, schedule, fault)

    def play_all(self, fault: Fault | None = None) -> Findings:
        found = Findings()
        for each in self._schedules(fault):
            wrong = self._scene.ledger_mismatch()
            outcome = self._scene.outcome(each.results)
            if not self._allows(outcome, each.results, fault):
                wrong += difference(outcome, self._in_turn(self._numbers, fault))
            identifier = "".join(map(str, each.schedule)) + (f":{fault}" if fault else "")
            found += Findings(1, int(bool(each.shared_items)), {identifier: wrong} if wrong else {})
        return found

    def play_all_with_faults(self) -> Findings:
        """Without a fault, and with every fault of every call."""
        return sum(map(self.play_all, self.faults), self.play_all())

    def _schedules(self, fault: Fault | None = None) -> Iterator[Played]:
        played = play_all(lambda schedule: self.play(schedule, fault), self._sample.chance)
        return islice(played, self._sample.most)

    def _allows(self, outcome: Outcome, results: Sequence[Any], fault: Fault | None) -> bool:
        """Whether it is an outcome of all requests one after the other, or of those that need not come again."""
        again = [number for number in self._numbers if is_to_come_again(results[number])]
        return any(
            outcome._replace(answers=answers([results[number] for number in done])) in self._in_turn(done, fault)
            for size in range(len(again) + 1)
            for left_out in combinations(again, size)
            if (done := tuple(number for number in self._numbers if number not in left_out))
        )

    def _in_turn(self, numbers: _Numbers, fault: Fault | None) -> _Outcomes:
        """The outcomes of some of the requests, one after the other in any order, with any fault that is alike."""
        alike = (fault.request, fault.kind) if fault and fault.request in numbers else None
        if (numbers, alike) not in self._allowed:
            faults = [each for each in self.faults if (each.request, each.kind) == alike] if alike else []
            self._allowed[numbers, alike] = _Outcomes(
                self._play_in_turn(order, each) for each in (None, *faults) for order in permutations(numbers)
            )
        return self._allowed[numbers, alike]

    def _play_in_turn(self, order: _Numbers, fault: Fault | None = None) -> Outcome:
        """The outcome of requests that are made in an order; their answers are in that of their numbers."""
        self._scene.restore()
        requests = [self._requests[number] for number in order]
        results = play(requests, (), fault and replace(fault, request=order.index(fault.request))).results
        return self._scene.outcome([results[order.index(number)] for number in sorted(order)])


@contextmanager
def scene_of(causeway: Causeway, scene: Scene) -> Iterator[PlayedScene]:
    """A scene whose client and programme manager want events. Every run makes the same calls, and few of them.

    Processes take blocks of identifiers that no run uses up, indexes have one shard, and slots are taken in order.
    """
    causeway.tpp.set_events_url()
    with (
        causeway.manager_wants_events(),
        patch.object(sequences, "BLOCK", 10**6),
        patch.object(sharded_index, "SHARDS", 1),
        patch.object(worker, "any_slot", lambda lane: receiver_slots.Slot(lane, 0)),
        patch("chalicelib.delivery.receiver_slots.random.shuffle"),
    ):
        yield PlayedScene(causeway, scene.prepare(causeway))
