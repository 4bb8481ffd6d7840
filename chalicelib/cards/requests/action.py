"""Actions of the card API. An action defines its handler function, its dispatch properties, and its requests.

The function's name is the action's name in snake case. The function's annotations specify the model of the ``request``
and the type of the response data. The function returns an ``ActionOutcome`` with an object, a list of objects, or
``None`` for empty ``data``. The container passes the function's keyword-only parameters by name.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import field
from functools import cached_property
from typing import Any, Concatenate, Generic, Literal, get_args, get_origin, get_type_hints

from typing_extensions import TypeVar

from chalicelib.cards.programs.credentials import Credential
from chalicelib.cards.protocol.card_records import CardField
from chalicelib.cards.protocol.message import Answer, Request
from chalicelib.cards.protocol.status_codes import Refused, Status
from chalicelib.cards.requests import envelope
from chalicelib.cards.requests.envelope import IdempotencyClaim, Repeated, Unanswered
from chalicelib.cards.requests.request_context import ActionOutcome, QueuePlace, RequestContext, UnrecordedAnswer
from chalicelib.cards.storage.reserved_rows import ReservedRow, RowReservation
from chalicelib.foundation import context
from chalicelib.foundation.clock import Clock
from chalicelib.foundation.dynamodb.store import ConditionFailed, Operation
from chalicelib.foundation.lazy_dataclasses import dataclass
from chalicelib.foundation.requests.engine import Engine
from chalicelib.foundation.requests.outcome import Outcome

Effect = Literal["read", "write", "reveal"]
Shape = Literal["object", "list", "empty", "empty object", "id"]
Q = TypeVar("Q", bound=Request, default=Any)
Handler = Callable[Concatenate[Q, RequestContext, ...], ActionOutcome[Any]]


@dataclass(frozen=True)
class Action(Generic[Q]):
    """One action of the card API.

    Attributes:
        handler: the function that carries out the action.
        summary: a one-line description of the action.
        effect: the kind of the action. A read changes no data. A reveal returns one field of card data, and is carried
            out again for a duplicate request.
        field: the field of card data that a reveal returns.
        seals: whether the response contains card data. Duplicate requests receive this data for one day only.
        creates: whether ``access_level`` is the level of the record that the action creates.
        answers_id: whether ``data`` is empty and the response has the record's ``id`` outside ``data``.
        patience: the number of seconds after arrival during which the request is retried on conflicts.
        late: the function that ends a request that is undecided after ``patience``. Without this function, the request
            fails with the status 8003.
        unrecorded: if ``late`` is set, the function that returns a response when storage does not respond.
        spelling: the action's name, if the name is not the function's name in camel case.
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
    unrecorded: Callable[Concatenate[Q, ReservedRow | None, ...], UnrecordedAnswer] | None = None
    spelling: str = ""

    @cached_property
    def name(self) -> str:
        """The action's name in the body's ``action``."""
        first, *others = self.handler.__name__.split("_")
        return self.spelling or "".join((first, *map(str.capitalize, others)))

    @cached_property
    def request(self) -> type[Request]:
        """The model of the request fields."""
        model: type[Request] = self._types["request"]
        return model

    @property
    def answer(self) -> type[Answer] | None:
        """The model of ``data`` or of the elements of ``data``, or ``None`` if ``data`` is empty."""
        data = get_args(self._data)[0] if self.shape == "list" else self._data
        return data if self.shape in ("object", "list") else None

    @property
    def shape(self) -> Shape:
        """The shape of ``data``: an object, a list, ``[]``, ``{}``, or ``[]`` with an ``id`` outside ``data``."""
        if self._data is type(None):
            return "id" if self.answers_id else "empty"
        if get_origin(self._data) is dict:
            return "empty object"
        return "list" if get_origin(self._data) is list else "object"

    @property
    def is_paged(self) -> bool:
        """Whether the request and the response have a ``paginator``."""
        return "paginator" in self.request.model_fields

    @property
    def is_continued(self) -> bool:
        """Whether the response has ``has_more_records``. If so, the next page starts after the row ``last_id``."""
        return "last_id" in self.request.model_fields

    @property
    def _data(self) -> Any:
        return get_args(self._types["return"])[0]

    @cached_property
    def _types(self) -> dict[str, Any]:
        return get_type_hints(self.handler)


WAITING_SECONDS = 5
"""The number of seconds that a duplicate request waits for the first request's response."""
_ATTEMPTS = 40
_LOOKS = 30
Response = str | Callable[[], str]
"""A response, or a function that returns the response after the outcome is written."""


class Undecided(Exception):
    """The action could not be decided within the permitted time."""


@dataclass(frozen=True, slots=True)
class PendingRequest:
    """A card API request whose credential was accepted, and the state of its processing.

    Attributes:
        claim: the claim of the request's reference, if any.
        queue_place: the request's place in queues for items.
        reservation: the reserved position of the request's row in a list of all cards.
        level: the highest access level of records visible to the caller.
        handler: the function that decides the request, which is the action's handler or late handler.
        asked_at: the time when the request was dispatched, in Unix seconds.
        attempts: the decision of each attempt.
        is_late: whether ``handler`` is the late handler.
        late_answers: the responses that the late handler tried to record.
    """

    credential: Credential
    action: Action
    request: Request
    claim: IdempotencyClaim | None
    queue_place: QueuePlace
    reservation: RowReservation
    level: int
    handler: Handler[Any]
    asked_at: int
    attempts: list[Outcome[Response]] = field(default_factory=list)
    is_late: bool = False
    late_answers: list[str] = field(default_factory=list)

    def answered_attempt(self, repeated: Repeated) -> Outcome[Response] | None:
        """Return the outcome of the attempt that the request's claim identifies as written."""
        decided = self.attempts if repeated.is_own else ()
        return next((each for each in decided if each.answer == repeated.answer), None)


@dataclass(frozen=True, slots=True)
class RequestRetry:
    """The retry policy of a request, which waits for items that other requests change, or for a duplicate request's
    response.
    """

    pending: PendingRequest
    engine: Engine
    clock: Clock
    started: int

    def wait(self, number: int, failure: Exception, operations: Sequence[Operation]) -> None:
        """Wait for the next attempt. Raises: Repeated. Also raises Refused or Undecided, if no attempt is left."""
        if isinstance(failure, Unanswered):
            self._wait_for_answer(number)
            return
        if isinstance(failure, ConditionFailed):
            if self.pending.claim is not None and 0 in failure.failed and number + 1 < _ATTEMPTS:
                return  # the next decision answers as the request that has the claim
            self._queue(failure, operations)
        place, is_late = self.pending.queue_place, self.pending.is_late
        if number + 1 >= _ATTEMPTS or (context.is_over() if is_late else place.is_over):
            raise Refused(Status.CONFLICT) if self.pending.action.late is None else Undecided from None
        if is_late:
            self.engine.wait(min(number + 2, 4))
        elif place.lost_turns or not isinstance(failure, ConditionFailed):
            self.engine.wait(min(number + 2, 6), place.seconds_left)

    def _queue(self, failure: ConditionFailed, operations: Sequence[Operation]) -> None:
        """Queue for the changed item. Requests do not queue for claims, which are always the first write."""
        self.pending.queue_place.queue_for(operations[failure.failed[0]])
        if self.pending.action.late is None:
            self.pending.reservation.give_up_if_cancelled(failure)

    def _wait_for_answer(self, number: int) -> None:
        if number + 1 >= _LOOKS or self.clock.time() >= self.started + WAITING_SECONDS:
            raise Repeated(envelope.error(Refused(Status.IN_PROGRESS))) from None
        self.pending.queue_place.leave()
        self.engine.wait(4)
