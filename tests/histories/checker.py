"""Decides whether a history is linearizable, after Wing and Gong, with Lowe's memory of configurations.

A history is linearizable if each operation can be given a moment between its invocation and its outcome, so that the
outcomes are those of the operations one after the other. Objects are checked one by one: a history is linearizable if
it is for each of them (Herlihy and Wing, 1990).
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

UNKNOWN = "unknown"
"""The outcome of an operation whose client died, or could not find out: it came about, comes about later, or never."""


class Model(Protocol):
    """An object as it is when operations come one after the other."""

    def begin(self, subject: str) -> Hashable:
        """The state in which an object begins."""

    def step(self, state: Any, call: Sequence[Any], outcome: Any) -> Iterable[Hashable]:
        """The states after a call with this outcome; none if it cannot have it. An ``UNKNOWN`` one did come about."""


@dataclass(frozen=True)
class Operation:
    """A call on an object, between two readings of a clock that all clients share."""

    kind: str
    subject: str
    client: int
    call: tuple[Any, ...]
    outcome: Any
    began: float
    ended: float

    @property
    def is_known(self) -> bool:
        return bool(self.outcome != UNKNOWN)

    @property
    def latest(self) -> float:
        """The time at which it had come about, if it did."""
        return self.ended if self.is_known else math.inf


def find_wrong(history: Iterable[Operation], models: Mapping[str, Model]) -> dict[str, list[Operation]]:
    """The objects whose operations are those of no order, each with its operations."""
    by_object = defaultdict(list)
    for operation in history:
        by_object[operation.kind, operation.subject].append(operation)
    return {
        f"{kind} {subject}": operations
        for (kind, subject), operations in by_object.items()
        if not is_linearizable(operations, models[kind])
    }


def is_linearizable(operations: Sequence[Operation], model: Model) -> bool:
    """Whether the operations on one object can have come one after the other."""
    known = sum(1 << number for number, operation in enumerate(operations) if operation.is_known)
    beginning = (0, model.begin(operations[0].subject))
    seen, to_do = {beginning}, [beginning]
    while to_do:
        made, state = to_do.pop()
        if made & known == known:
            return True
        for number in _possible_next(operations, made):
            operation = operations[number]
            for after in model.step(state, operation.call, operation.outcome):
                reached = (made | 1 << number, after)
                if reached not in seen:
                    seen.add(reached)
                    to_do.append(reached)
    return False


def _possible_next(operations: Sequence[Operation], made: int) -> list[int]:
    """The operations that began before any other one that is left had ended."""
    left = [number for number in range(len(operations)) if not made >> number & 1]
    first_end = min(operations[number].latest for number in left)
    return [number for number in left if operations[number].began <= first_end]
