"""A request on its way through the dispatcher: what its attempts decided, and how it waits for the next one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import field
from typing import Any

from chalicelib.cards.programs.credentials import Credential
from chalicelib.cards.protocol.message import Request
from chalicelib.cards.protocol.status_codes import Refused, Status
from chalicelib.cards.requests import envelope
from chalicelib.cards.requests.action import Action, Handler
from chalicelib.cards.requests.references import IdempotencyClaim, Repeated, Unanswered
from chalicelib.cards.storage.hot_key_queue import QueuePlace
from chalicelib.cards.storage.reserved_rows import RowReservation
from chalicelib.foundation import context
from chalicelib.foundation.clock import Clock
from chalicelib.foundation.dynamodb.store import ConditionFailed, Operation
from chalicelib.foundation.lazy_dataclasses import dataclass
from chalicelib.foundation.requests.engine import Engine
from chalicelib.foundation.requests.outcome import Outcome

WAITING_SECONDS = 5
"""Seconds that a repeat waits for the first request's response."""
_ATTEMPTS = 40
_LOOKS = 30
Response = str | Callable[[], str]
"""A response, or how to obtain it once what it needs is written."""


class Undecided(Exception):
    """The action could not be decided in time."""


@dataclass(frozen=True, slots=True)
class PendingRequest:
    """An authorised request on its way through the dispatcher.

    Attributes:
        claim: its claim, if it has a reference.
        queue_place: its place in queues for items.
        reservation: the place of its row in a list over all cards.
        handler: the method that decides it: the action's handler, or its late one.
        asked_at: when it was dispatched, in Unix seconds.
        attempts: what each attempt decided.
        late_answers: the responses that the late handler tried to record.
    """

    credential: Credential
    action: Action
    request: Request
    claim: IdempotencyClaim | None
    queue_place: QueuePlace
    reservation: RowReservation
    handler: Handler[Any]
    asked_at: int
    attempts: list[Outcome[Response]] = field(default_factory=list)
    late_answers: list[str] = field(default_factory=list)

    @property
    def level(self) -> int:
        """The access level above which records do not exist for the caller."""
        asked = None if self.action.creates else self.request.access_level
        return self.credential.access_level if asked is None else asked

    @property
    def is_late(self) -> bool:
        return self.handler is self.action.late

    def answered_attempt(self, repeated: Repeated) -> Outcome[Response] | None:
        """The outcome of the attempt that a claim of this very request shows to be written."""
        decided = self.attempts if repeated.is_own else ()
        return next((each for each in decided if each.answer == repeated.answer), None)


@dataclass(frozen=True, slots=True)
class RequestRetry:
    """How a request waits for its turn at items that others change, or for the response of the request it repeats."""

    pending: PendingRequest
    engine: Engine
    clock: Clock
    started: int

    def wait(self, number: int, failure: Exception, operations: Sequence[Operation]) -> None:
        """Wait for the next attempt. Raises: Refused or Undecided, if none is left; Repeated."""
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
        """Queue for the item that was changed; nobody queues for claims, which are written first."""
        self.pending.queue_place.queue_for(operations[failure.failed[0]])
        if self.pending.action.late is None:
            self.pending.reservation.give_up_if_cancelled(failure)

    def _wait_for_answer(self, number: int) -> None:
        if number + 1 >= _LOOKS or self.clock.time() >= self.started + WAITING_SECONDS:
            raise Repeated(envelope.error(Refused(Status.IN_PROGRESS))) from None
        self.pending.queue_place.leave()
        self.engine.wait(4)
