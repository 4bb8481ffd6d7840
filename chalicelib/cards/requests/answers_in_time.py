"""Answers in time: an action that the card network waits for is answered within 3 seconds, however slow storage is.

The request decides for as long as its action has patience, and then has a moment to record its late outcome instead. If
storage takes neither, it is answered all the same, and a worker records the outcome by a task: attempts whose response
was lost may have been written, or may still be.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from typing import Any, TypeVar

from chalicelib.cards.requests import envelope
from chalicelib.cards.requests.action import Action, Handler
from chalicelib.cards.requests.request_context import UnrecordedAnswer
from chalicelib.delivery.tasks import Tasks
from chalicelib.foundation import jsontext, log
from chalicelib.foundation.aws.errors import AwsError
from chalicelib.foundation.clock import Clock
from chalicelib.foundation.context import time_limit
from chalicelib.foundation.dynamodb.store import StoreError
from chalicelib.foundation.lazy_dataclasses import dataclass
from chalicelib.foundation.metrics import Metrics

T = TypeVar("T")

RECORD_SECONDS, ANSWER_SECONDS = 0.4, 0.75
"""Seconds after the action's patience in which it may record its late outcome, and in which it is answered.

The time between is for the queue.
"""
_NO_RESPONSE = (StoreError, TimeoutError, AwsError)
"""The errors of storage and keys that fail, or do not respond within the time limit."""


class Undecided(Exception):
    """The action could not be decided in time."""


@dataclass(frozen=True, slots=True)
class AnswersInTime:
    clock: Clock
    tasks: Tasks
    metrics: Metrics

    def answer(
        self, action: Action, came: float, answer: Callable[[], str], unrecorded: Callable[[], UnrecordedAnswer]
    ) -> str:
        """The result of ``answer``, for a request that ``came`` at a monotonic clock time.

        If it is not found out who asks, and under which reference, nothing was written, and nothing is recorded.
        """
        with self._limit(came + action.patience + ANSWER_SECONDS):
            try:
                return answer()
            except _NO_RESPONSE:
                log.exception("storage did not respond")
            self.metrics.write({"UnrecordedDeclines": 1})
            return envelope.success(unrecorded().data, {})

    def decide(self, action: Action, came: float, decide: Callable[[Handler[Any]], T]) -> T | None:
        """The result of ``decide`` by the action's handler, else by its late one; ``None`` if neither is known."""
        assert action.late is not None
        until = came + action.patience
        for handler, limit in ((action.handler, until), (action.late, until + RECORD_SECONDS)):
            try:
                with self._limit(limit):
                    return decide(handler)
            except Undecided:
                pass
            except _NO_RESPONSE:
                log.exception("storage did not respond")
        return None

    def leave_to_worker(self, unrecorded: UnrecordedAnswer, caller: Mapping[str, Any], answer: str | None) -> str:
        """Have a worker record the outcome, and return the response.

        ``caller`` are further members of the task. ``answer`` is the response that the request tried to record, if any.
        """
        text = answer or envelope.success(unrecorded.data, {})
        try:
            self.tasks.send(unrecorded.task, jsontext.dumps({**unrecorded.members(), **caller, "answer": text}))
        except Exception:  # the caller is answered in any case
            log.exception("decline not queued", authorization=unrecorded.number)
            self.metrics.write({"UnrecordedDeclines": 1})
        else:
            log.warning("decline left to a worker", authorization=unrecorded.number)
        return text

    def _limit(self, until: float) -> AbstractContextManager[None]:
        return time_limit(self.clock.monotonic, until)
