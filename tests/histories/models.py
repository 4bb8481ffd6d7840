"""What clients share, one operation after the other: an account's money, a code, the key of a payment."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Literal

from tests.histories.checker import UNKNOWN, Model

FUNDS = 1_000
"""What an account begins with, in minor units."""
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
"""The order that a key was used for, and the payment that it became: empty as long as nobody was told."""


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
