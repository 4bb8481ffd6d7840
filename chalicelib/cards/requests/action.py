"""An action of the interface: its function and its properties for the dispatch.

The function's name is the action's, in snake case. Its annotations have the model of the ``request`` and the type of
the answer: it returns the ``Outcome`` of an answer, a list of answers, or ``None`` for empty ``data``.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Generic, Literal, get_args, get_origin, get_type_hints

from typing_extensions import TypeVar

from chalicelib.cards.protocol.card_records import CardField
from chalicelib.cards.protocol.message import Answer, Request
from chalicelib.cards.requests.request_context import Outcome, RequestContext

Effect = Literal["read", "write", "reveal"]
Shape = Literal["object", "list", "empty", "empty object", "id"]
Q = TypeVar("Q", bound=Request, default=Any)
Handler = Callable[[Any, Q, RequestContext], Outcome[Any]]
"""A method of a flow, as its class has it."""


@dataclass(frozen=True)
class Action(Generic[Q]):
    """One action.

    Attributes:
        handler: the method that carries it out.
        summary: in a line.
        effect: a read changes nothing; a reveal is a read of one card datum, which a repeat runs again.
        field: the one card datum that a reveal shows.
        seals: whether the answer holds card data, which repeats get for a day only.
        creates: whether ``access_level`` is that of the record which the action makes.
        answers_id: whether the record's ``id`` stands beside the empty data.
        patience: so many seconds after it came a request decides anew while others are in its way.
        late: the method that ends what is not decided by then; without one it is 8003.
        spelling: the name, where capitals of its own keep it from being the method's in camel case.
    """

    handler: Handler[Q]
    summary: str
    effect: Effect = "write"
    field: CardField | None = None
    seals: bool = False
    creates: bool = False
    answers_id: bool = False
    patience: int = 10
    late: Handler[Q] | None = None
    spelling: str = ""

    @cached_property
    def name(self) -> str:
        """The name in the body's ``action``."""
        first, *others = self.handler.__name__.split("_")
        return self.spelling or "".join((first, *map(str.capitalize, others)))

    @property
    def request(self) -> type[Request]:
        """The model of its fields."""
        model: type[Request] = self._types["request"]
        return model

    @property
    def answer(self) -> type[Answer] | None:
        """The model of ``data``, or of an entry of it; ``None`` when it is empty."""
        data = get_args(self._data)[0] if self.shape == "list" else self._data
        return data if self.shape in ("object", "list") else None

    @property
    def shape(self) -> Shape:
        """``data`` is an object, a list, ``[]``, ``{}``, or ``[]`` with the ``id`` beside it."""
        if self._data is type(None):
            return "id" if self.answers_id else "empty"
        if get_origin(self._data) is dict:
            return "empty object"
        return "list" if get_origin(self._data) is list else "object"

    @property
    def is_paged(self) -> bool:
        """Whether the answer has a ``paginator`` beside the data, as the request does."""
        return "paginator" in self.request.model_fields

    @property
    def is_continued(self) -> bool:
        """Whether the answer has ``has_more_records``: the next page follows the row ``last_id``."""
        return "last_id" in self.request.model_fields

    @property
    def _data(self) -> Any:
        """The type of an answer's data."""
        return get_args(self._types["return"])[0]

    @cached_property
    def _types(self) -> dict[str, Any]:
        return get_type_hints(self.handler)
