"""An action of the interface: one row of the tables ``actions`` and ``simulator_actions``.

A row's ``flow`` and name say who carries it out: ``createCard`` of the flow ``cards`` is its method ``create_card``.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any, Literal

from chalicelib.cards.protocol import card_messages as cards
from chalicelib.cards.protocol.card_fields import CardField
from chalicelib.cards.protocol.message import Answer, Request

Effect = Literal["read", "write", "reveal"]
Shape = Literal["object", "list", "empty", "empty object", "id"]
Flow = Literal[
    "accounts",
    "acs",
    "addresses",
    "authorizations",
    "card_data",
    "cards",
    "clearings",
    "debits",
    "desk",
    "disputes",
    "fees",
    "holders",
    "issuing",
    "limits",
    "outside",
    "reissuing",
    "releases",
    "reports",
    "returns",
    "simulator",
    "transfers",
]


_WORD_END = re.compile("(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")


@dataclass(frozen=True, slots=True)
class Action:
    """One action.

    Attributes:
        name: as the body's ``action`` names it.
        flow: who carries it out.
        effect: a read changes nothing; a reveal is a read of one card datum, which a repeat runs again.
        request: the model of its fields.
        answer: the model of ``data``, or of an entry of it; ``None`` when it is empty.
        shape: ``data`` is an object, a list, ``[]``, ``{}``, or ``[]`` with the ``id`` beside it.
        summary: what it does, in a line.
        field: the one card datum that a reveal shows.
        seals: whether the answer holds card data, which repeats are told for a day only.
        creates: whether ``access_level`` is that of the record which the action makes.
        patience: so many seconds after it came a request decides anew while others are in its way.
        late: the method of the flow that ends what is not decided by then; without one it is 8003.
    """

    name: str
    flow: Flow
    effect: Effect
    request: type[Request]
    answer: type[Answer] | None
    shape: Shape
    summary: str
    field: CardField | None = None
    seals: bool = False
    creates: bool = False
    patience: int = 10
    late: str | None = None

    @property
    def empty(self) -> list[Any] | dict[str, Any]:
        """What ``data`` is when there is none."""
        return {} if self.shape in ("object", "empty object") else []

    @property
    def paged(self) -> bool:
        """Whether a ``paginator`` stands beside the data, as it does in the request."""
        return "paginator" in self.request.model_fields

    @property
    def continued(self) -> bool:
        """Whether ``has_more_records`` stands beside the data: the next page follows the row ``last_id``."""
        return "last_id" in self.request.model_fields

    @property
    def method(self) -> str:
        return _WORD_END.sub("_", self.name).lower()


def read(name: str, flow: Flow, request: type[Request], answer: type[Answer], shape: Shape, summary: str) -> Action:
    return Action(name, flow, "read", request, answer, shape, summary)


def reveal(name: str, field: CardField, answer: type[Answer], summary: str) -> Action:
    return Action(name, "card_data", "reveal", cards.OfCard, answer, "object", summary, field)


def write(name: str, flow: Flow, request: type[Request], summary: str, shape: Shape = "empty") -> Action:
    return Action(name, flow, "write", request, None, shape, summary)
