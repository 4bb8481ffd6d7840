"""A request on its way through the dispatcher, and the outcomes that its attempts decided."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import field
from typing import Any

from chalicelib.cards.programs.credentials import Credential
from chalicelib.cards.protocol.message import Request
from chalicelib.cards.requests.action import Action, Handler
from chalicelib.cards.requests.references import IdempotencyClaim, Repeated
from chalicelib.cards.storage.hot_key_queue import QueuePlace
from chalicelib.cards.storage.reserved_rows import RowReservation
from chalicelib.delivery.outbox import RecordedDeliveries
from chalicelib.foundation.dynamodb.store import ConditionFailed
from chalicelib.foundation.lazy_dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Written:
    """The written outcome: the response, or how to obtain it, and its events."""

    answer: str | Callable[[], str]
    deliveries: RecordedDeliveries = field(default_factory=RecordedDeliveries)


@dataclass(frozen=True, slots=True)
class PendingRequest:
    """An authorised request on its way through the dispatcher.

    Attributes:
        claim: its claim, if it has a reference.
        queue_place: its place in queues for items.
        reservation: the place of its row in a list over all cards.
        handler: the method that decides it: the action's handler, or its late one.
        asked_at: when it was dispatched, in Unix seconds.
        attempts: what each attempt decided, by its ``write_id``.
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
    attempts: dict[str, Written] = field(default_factory=dict)
    late_answers: list[str] = field(default_factory=list)

    @property
    def level(self) -> int:
        """The access level above which records do not exist for the caller."""
        asked = None if self.action.creates else self.request.access_level
        return self.credential.access_level if asked is None else asked

    @property
    def is_late(self) -> bool:
        return self.handler is self.action.late

    def written_attempt(self, failure: ConditionFailed) -> Written | None:
        """The outcome of the attempt that a failed condition shows to be written."""
        found = {item.get("written_by") for item in failure.items if item}
        return next((decided for write_id, decided in self.attempts.items() if write_id in found), None)

    def answered_attempt(self, repeated: Repeated) -> Written | None:
        """The outcome of the attempt that a claim of this very request shows to be written."""
        decided = self.attempts.values() if repeated.is_own else ()
        return next((each for each in decided if each.answer == repeated.answer), None)
