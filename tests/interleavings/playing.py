"""All schedules of a pair, and those whose outcome is not that of one request after the other.

With a fault, the outcome may be that of a fault of the same kind, of any call of that request, in one after the other.
An answer that asks for its request again is as if the other one had been made alone.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from difflib import unified_diff
from functools import cached_property
from typing import Any, get_args
from unittest.mock import patch

from chalicelib.cards.storage import sequences
from chalicelib.delivery import receiver_slots, worker
from chalicelib.foundation.dynamodb import sharded_index
from tests.interleavings.outcomes import Outcome, answers, is_to_come_again, received
from tests.interleavings.pairs import Prepare
from tests.interleavings.scheduler import Fault, FaultKind, Played, Request, Schedule, play, play_all
from tests.interleavings.stored import TABLES, Stored
from tests.openbanking.faults import Snapshot
from tests.world import World

_LONGEST = 1000
"""More calls than a request makes."""


@dataclass(frozen=True)
class Findings:
    """What was played of a pair.

    Attributes:
        played: the number of schedules.
        shared: the number of those in which both requests read or wrote one item.
        wrong: what differs from one request after the other, by the schedule's digits, and the fault if there is one.
    """

    played: int = 0
    shared: int = 0
    wrong: dict[str, str] = field(default_factory=dict)

    def __add__(self, other: Findings) -> Findings:
        return Findings(self.played + other.played, self.shared + other.shared, self.wrong | other.wrong)


@dataclass(frozen=True)
class _Allowed:
    """The outcomes of one request after the other, and those of each request alone."""

    in_turn: frozenset[Outcome]
    alone: Sequence[frozenset[Outcome]]

    def includes(self, outcome: Outcome, results: Sequence[Any]) -> bool:
        return outcome in self.in_turn or any(
            is_to_come_again(results[number])
            and outcome._replace(answers=answers([results[other]])) in self.alone[other]
            for number, other in ((0, 1), (1, 0))
        )

    def difference(self, outcome: Outcome) -> str:
        """The lines of an outcome that differ from those of the most similar one."""
        lines = outcome.lines
        nearest = min((each.lines for each in self.in_turn), key=lambda each: len({*each} ^ {*lines}))
        return "\n".join([*unified_diff(nearest, lines, lineterm="", n=0)][2:])


class PlayedPair:
    """A pair, prepared in a world, to be played from the same beginning again and again."""

    def __init__(self, world: World, prepare: Prepare) -> None:
        self._world = world
        self._requests = prepare(world)
        self._before, self._stored = Snapshot(world, TABLES), Stored(world)
        self._allowed: dict[tuple[int, FaultKind] | None, _Allowed] = {}
        for first in (0, 1):  # caches are filled, and blocks of identifiers taken
            self.play((first,) * _LONGEST)

    @cached_property
    def faults(self) -> Sequence[Fault]:
        """Every fault of every call that a request makes in any order."""
        calls: Counter[int] = Counter()
        for each in play_all(self.play):  # whoever comes second makes more calls
            calls |= Counter(each.schedule)
        kinds: Sequence[FaultKind] = get_args(FaultKind)
        return [Fault(request, call, kind) for request in (0, 1) for call in range(calls[request]) for kind in kinds]

    def play(self, schedule: Schedule, fault: Fault | None = None) -> Played:
        return self._play(self._requests, schedule, fault)

    def outcome(self, played: Played) -> Outcome:
        """What the requests came to that were played last."""
        return Outcome(answers(played.results), received(self._world), self._stored.changes())

    def play_all(self, fault: Fault | None = None) -> Findings:
        found, allowed = Findings(), self._find_allowed(fault)
        for each in play_all(lambda schedule: self.play(schedule, fault)):
            wrong = self._stored.ledger_mismatch()
            if not allowed.includes(outcome := self.outcome(each), each.results):
                wrong += allowed.difference(outcome)
            identifier = "".join(map(str, each.schedule)) + (f":{fault}" if fault else "")
            found += Findings(1, int(bool(each.shared_items)), {identifier: wrong} if wrong else {})
        return found

    def play_all_with_faults(self) -> Findings:
        """Without a fault, and with every fault of every call."""
        return sum(map(self.play_all, self.faults), self.play_all())

    def _find_allowed(self, fault: Fault | None) -> _Allowed:
        alike = (fault.request, fault.kind) if fault else None
        if alike not in self._allowed:
            faults = [each for each in self.faults if (each.request, each.kind) == alike] if fault else []
            in_turn = (self._in_turn(first, each) for each in (None, *faults) for first in (0, 1))
            alone = [[None, *faults] if alike and alike[0] == number else [None] for number in (0, 1)]
            self._allowed[alike] = _Allowed(
                frozenset(in_turn),
                [frozenset(self._alone(number, each) for each in alone[number]) for number in (0, 1)],
            )
        return self._allowed[alike]

    def _in_turn(self, first: int, fault: Fault | None) -> Outcome:
        return self.outcome(self.play((first,) * _LONGEST, fault))

    def _alone(self, number: int, fault: Fault | None) -> Outcome:
        return self.outcome(self._play([self._requests[number]], (), fault and replace(fault, request=0)))

    def _play(self, requests: Sequence[Request], schedule: Schedule, fault: Fault | None = None) -> Played:
        self._before.restore()
        return play(requests, schedule, fault)


@contextmanager
def pair_of(world: World, prepare: Prepare) -> Iterator[PlayedPair]:
    """A pair whose client and programme manager want events. Every run makes the same calls, and few of them.

    Processes take blocks of identifiers that no pair uses up, indexes have one shard, and slots are taken in order.
    """
    world.wants_events()
    with (
        world.manager_wants_events(),
        patch.object(sequences, "BLOCK", 10**6),
        patch.object(sharded_index, "SHARDS", 1),
        patch.object(worker, "any_slot", lambda lane: receiver_slots.Slot(lane, 0)),
        patch("chalicelib.delivery.receiver_slots.random.shuffle"),
    ):
        yield PlayedPair(world, prepare)
