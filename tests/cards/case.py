"""A way to call an action, and which calls of DynamoDB it makes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from chalicelib.cards.actions import ACTIONS, SIMULATOR_ACTIONS
from chalicelib.cards.requests.action import Action
from tests.cards.issuer import Envelope, Issuer

LOOK, WRITE, CLAIM, QUERY = "BatchGetItem", "TransactWriteItems", "PutItem", "Query"
SHARDS = (QUERY,) * 16
"""The parallel queries of a list that is spread over partitions."""
RESERVE = "PutItem"
"""The call that reserves the position of a row in a list over all cards."""
RESERVING = (LOOK, LOOK, RESERVE)
"""Two looks; the second one and the reservation are made at the same time."""
PROVIDER = "PutItem"
"""The sandbox provider's write of an order; any other provider is called in its place."""
EVERY_ACTION = {**ACTIONS, **SIMULATOR_ACTIONS}


def in_order(calls: Sequence[str]) -> list[str]:
    """Calls with a look before the reservation that is made at the same time, whichever was first."""
    ordered = list(calls)
    for number, pair in enumerate(pairwise(calls)):
        if pair == (RESERVE, LOOK):
            ordered[number : number + 2] = LOOK, RESERVE
    return ordered


Members = Callable[[Issuer], dict[str, Any]]


@dataclass(frozen=True)
class Case:
    """One way to call an action, and what it takes: ``looks``, and whether anything is written, by which call.

    ``asked`` are the calls that follow when that is written: those of the provider, and what comes of its answer.
    """

    name: str
    members: Members
    looks: tuple[str, ...] = (LOOK,)
    writes: bool = True
    write: str = WRITE
    asked: tuple[str, ...] = ()

    def __str__(self) -> str:
        return self.name

    @property
    def action(self) -> Action[Any]:
        return EVERY_ACTION[self.name.partition(" ")[0]]

    def do(self, issuer: Issuer, **members: Any) -> Envelope:
        call = issuer.sim if self.action.name in SIMULATOR_ACTIONS else issuer.do
        return call(self.action.name, **members)

    @property
    def calls(self) -> list[str]:
        """The calls without a reference."""
        return [*self.looks, *([self.write] if self.writes else []), *self.asked]

    @property
    def calls_with_reference(self) -> list[str]:
        return [*self.looks, WRITE if self.writes else CLAIM, *self.asked]

    @property
    def calls_of_repeat(self) -> list[str]:
        """The claim is read with the first look; what needs none finds it in the way, and reads a sealed response."""
        sealed = [LOOK] if self.action.seals else []
        found = [LOOK] if self.looks else [*self.calls_with_reference, *sealed]
        return [*found, *self.looks] if self.action.effect == "reveal" else found


def of_card(state: str = "N", /, **members: Any) -> Members:
    return lambda issuer: {"card_id": issuer.card_in(state).card_id, **members}


def of_card_with(*names: str, **members: Any) -> Members:
    """Ids of a new card, its account or its holder."""
    return lambda issuer: {name: value for name, value in vars(issuer.card()).items() if name in names} | members
