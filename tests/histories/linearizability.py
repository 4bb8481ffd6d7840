"""Linearizability of histories, after Wing and Gong, with Lowe's memory of configurations, and the objects' models.

A history is linearizable if each operation can be given a time between its invocation and its outcome, so that the
outcomes are those of the operations one after the other. Objects are checked one by one: a history is linearizable if
it is for each of them (Herlihy and Wing, 1990).
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol

UNKNOWN = "unknown"
"""The outcome of an operation whose client died, or could not find out: it took place, takes place later, or never."""


class Model(Protocol):
    """An object as it is when operations come one after the other."""

    def begin(self, subject: str) -> Hashable:
        """The state in which an object begins."""

    def step(self, state: Any, call: Sequence[Any], outcome: Any) -> Iterable[Hashable]:
        """The states after a call with this outcome; none if it cannot have it. An ``UNKNOWN`` one took place."""


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
        """The latest time at which it took place, if it did."""
        return self.ended if self.is_known else math.inf


def find_wrong(history: Iterable[Operation], models: Mapping[str, Model]) -> dict[str, list[Operation]]:
    """The objects whose operations fit into no order, each with its operations."""
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
    seen, waiting = {beginning}, [beginning]
    while waiting:
        done, state = waiting.pop()
        if done & known == known:
            return True
        for number in _possible_next(operations, done):
            operation = operations[number]
            for after in model.step(state, operation.call, operation.outcome):
                reached = (done | 1 << number, after)
                if reached not in seen:
                    seen.add(reached)
                    waiting.append(reached)
    return False


def _possible_next(operations: Sequence[Operation], done: int) -> list[int]:
    """The operations that began before any other one that is left had ended."""
    left = [number for number in range(len(operations)) if not done >> number & 1]
    first_end = min(operations[number].latest for number in left)
    return [number for number in left if operations[number].began <= first_end]


# -- models

FUNDS = 1_000
"""An account's balance at the beginning, in minor units."""
OK, REFUSED, IN_PROGRESS = "ok", "refused", "in progress"
"""Outcomes: carried out; refused by the object's state; another request was in the way, and nothing happened."""


class Account:
    """The money that can be spent: it is paid in, taken by purchases while there is enough, and read."""

    def begin(self, subject: str) -> int:
        return FUNDS

    def step(self, state: int, call: Sequence[Any], outcome: Any) -> Iterable[int]:
        match call, outcome:
            case ("read",), _:
                return [state] if outcome in (state, UNKNOWN) else []
            case ("pay in", amount), _:
                return [state + amount]
            case ("purchase", amount), "ok" | "unknown":
                return [state - amount] if amount <= state else []
            case ("purchase", amount), "refused":
                return [state] if amount > state else []
        return []


CodeState = Literal["unused", "redeemed", "dead"]


class Code:
    """An authorization code is redeemed once; whoever redeems it again ends the tokens that it gave."""

    def begin(self, subject: str) -> CodeState:
        return "unused"

    def step(self, state: CodeState, call: Sequence[Any], outcome: Any) -> Iterable[CodeState]:
        match call[0], outcome:
            case "redeem", "unknown":
                return ["redeemed" if state == "unused" else "dead"]
            case "redeem", "ok":
                return ["redeemed"] if state == "unused" else []
            case "redeem", "refused":
                return ["dead"] if state != "unused" else []
            case "read", "ok":
                return ["redeemed"] if state == "redeemed" else []
            case "read", "refused":
                return ["dead"] if state == "dead" else []
            case "read", "unknown":
                return [state]
        return []


Claim = tuple[str, str] | None
"""The order that a key was used for, and its payment; empty before the first answer."""


class Key:
    """An ``Idempotency-Key`` is of one order: whoever repeats it gets its payment, another order is refused."""

    def begin(self, subject: str) -> Claim:
        return None

    def step(self, state: Claim, call: Sequence[Any], outcome: Any) -> Iterable[Claim]:
        order = call[1]
        claimed, payment = state or (order, "")
        match outcome:
            case "in progress":
                return [state]
            case "unknown" if claimed == order:
                return [(order, payment)]
            case "refused" if claimed != order:
                return [state]
            case ("ok", paid) if claimed == order and payment in ("", paid):
                return [(order, paid)]
        return []


MODELS: dict[str, Model] = {"account": Account(), "code": Code(), "key": Key()}
