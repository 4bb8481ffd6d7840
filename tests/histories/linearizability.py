"""A linearizability checker after Wing and Gong, with Lowe's cache of configurations, and models of the objects.

A history is linearizable if each operation can be assigned a time between its invocation and its outcome, such that
the outcomes match a sequential execution. Each object is checked separately: a history is linearizable if it is
linearizable for each object (Herlihy and Wing, 1990).
"""

import math
from collections import defaultdict
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol

UNKNOWN = "unknown"
"""The outcome of an operation if the client received no outcome. The operation may take effect at any later time, or
never.
"""


class Model(Protocol):
    """A sequential model of an object."""

    def begin(self, subject: str) -> Hashable:
        """Return the initial state of an object."""

    def step(self, state: Any, call: Sequence[Any], outcome: Any) -> Iterable[Hashable]:
        """Return the possible states after a call with this outcome, or no state if the outcome is impossible.

        For the outcome ``UNKNOWN``, return the states after a call that took effect.
        """


@dataclass(frozen=True)
class Operation:
    """A call on an object, with the start time and the end time of the call on a clock that all clients share."""

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
        return self.ended if self.is_known else math.inf


def find_wrong(history: Iterable[Operation], models: Mapping[str, Model]) -> dict[str, list[Operation]]:
    by_object = defaultdict(list)
    for operation in history:
        by_object[operation.kind, operation.subject].append(operation)
    return {
        f"{kind} {subject}": operations
        for (kind, subject), operations in by_object.items()
        if not is_linearizable(operations, models[kind])
    }


def is_linearizable(operations: Sequence[Operation], model: Model) -> bool:
    """Return whether the operations on one object have a valid sequential order."""
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
    left = [number for number in range(len(operations)) if not done >> number & 1]
    first_end = min(operations[number].latest for number in left)
    return [number for number in left if operations[number].began <= first_end]


# -- models

FUNDS = 1_000
"""The initial balance of an account, in minor units."""
OK, REFUSED, IN_PROGRESS = "ok", "refused", "in progress"
"""The outcomes of an operation: executed, rejected because of the object's state, or rejected because of a concurrent
request.
"""


class Account:
    """A model of an account balance: deposits, purchases within the balance, and reads."""

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
    """A model of an authorization code: the code can be redeemed once, and a second redemption revokes the tokens."""

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
"""The order for which an idempotency key was used, and the resulting payment. ``None`` before the first response."""


class Key:
    """A model of an ``Idempotency-Key``: a repeated order gets the first payment, and a different order is rejected."""

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
