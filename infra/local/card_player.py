"""Simulates past card use by a programme manager and the card network, through the service's actions.

The simulation uses a second ``Hub`` on the same data, whose clock is set to the time of each step. Every step has a
fixed request reference. If a step completed before a crash, a second run with the same start gets the first response,
and the step has no further effect. If an earlier process ended before a provider responded to a payment, the simulation
completes this payment first, as a scheduled job of the service would do.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, time, timedelta
from typing import TYPE_CHECKING, Any

from chalicelib.bootstrap import Hub
from chalicelib.cards.jobs import RUN_SECONDS
from chalicelib.cards.payments.pending_index import ASKING_SECONDS
from chalicelib.cards.payments.provider_completion import finish_due_payments
from chalicelib.cards.protocol.status_codes import Status
from chalicelib.foundation import jsontext
from chalicelib.foundation.clock import Clock

if TYPE_CHECKING:
    from chalicelib.cards.programs.credentials import Credential

CREDENTIAL = "local stack"
"""The credential's name in records. The space in the name distinguishes it from stored credentials."""
_LEVEL = 1000


class StepFailed(Exception):
    """A step was refused. The message contains the step and the reason."""


class PastClock(Clock):
    """A clock that only ``move_to`` changes. Durations are measured in real time."""

    def __init__(self, start: datetime) -> None:
        self._now = start

    def time(self) -> int:
        return int(self._now.timestamp())

    def now(self) -> datetime:
        return self._now

    def move_to(self, moment: datetime) -> None:
        """Move the clock forward. Raises: ValueError, if ``moment`` is before the current time."""
        if moment < self._now:
            raise ValueError(f"the clock cannot be moved back to {moment}")
        self._now = moment


@dataclass(frozen=True, slots=True, order=True)
class Step:
    """An action of the simulated period, with its time.

    Attributes:
        day: the number of whole days since the start.
        at: the UTC time of day.
        name: the unique name, which identifies the step and its response in references.
        members: the request's members; ``$name.member`` stands for a value in the response to the earlier step
            ``name``.
        code: the expected response code of the network, if any.
    """

    day: int
    at: time
    name: str
    action: str = field(compare=False)
    members: Mapping[str, Any] = field(compare=False)
    code: str | None = field(default=None, compare=False)


class CardPlayer:
    """Runs steps for one programme manager on the data of ``hub``. The first day is the day of ``start`` in UTC."""

    def __init__(self, hub: Hub, manager_id: int, start: datetime) -> None:
        self._start = datetime.combine(start.astimezone(UTC).date(), time(), UTC)
        self._clock = PastClock(self._start)
        self._present = hub
        self._hub = _past_hub(hub, self._clock)
        self.credential = credential(manager_id)
        self._responses: dict[str, Any] = {}

    def play(self, steps: Iterable[Step], is_stopped: Callable[[], bool] = lambda: False) -> bool:
        """Run the steps in chronological order until ``is_stopped`` returns true. Return whether all steps ran.

        Raises: StepFailed.
        """
        for step in sorted(steps):
            if is_stopped():
                return False
            self._clock.move_to(self._start + timedelta(days=step.day, hours=step.at.hour, minutes=step.at.minute))
            self._responses[step.name] = self._carry_out(step)
        return True

    def _carry_out(self, step: Step) -> Any:
        answer = self._request(step)
        if answer.get("status_code") == Status.IN_PROGRESS:
            self._finish_payments()
            answer = self._request(step)
        if answer["status"] != "success":
            raise StepFailed(f"{step.name} ({step.action}): {answer['message']}")
        data = answer.get("data", answer)  # a holder's id is not inside the data
        if step.code is not None and data["response_code"] != step.code:
            raise StepFailed(f"{step.name} ({step.action}): response code {data['response_code']}, not {step.code}")
        return data

    def _request(self, step: Step) -> Any:
        cards = self._hub.cards
        dispatcher = cards.api if step.action in cards.api.actions else cards.simulator
        asked = {
            **{name: self._resolve(value) for name, value in step.members.items()},
            "action": step.action,
            "api_version": "1.2",
            "request_reference_id": reference(step.name),
        }
        return jsontext.loads(dispatcher.answer_internally(self.credential, asked))

    def _finish_payments(self) -> None:
        """Query the provider about each payment that an earlier process left without the provider's response."""
        clock = PastClock(self._clock.now() + timedelta(seconds=ASKING_SECONDS))
        _past_hub(self._present, clock).cards.call(finish_due_payments, clock.monotonic() + RUN_SECONDS)

    def _resolve(self, value: Any) -> Any:
        if isinstance(value, list):
            return [self._resolve(each) for each in value]
        if not isinstance(value, str) or not value.startswith("$"):
            return value
        step, *path = value[1:].split(".")
        found = self._responses[step]
        for part in path:
            found = found[int(part) if part.isdigit() else part]
        return found


def _past_hub(present: Hub, clock: PastClock) -> Hub:
    """Create a service in the past that shares the storage, keys and configuration of the present service.

    The cached keys and configuration remain valid, because their cache uses present time.
    """
    past = Hub(present.settings, clock)
    past.store, past.keyring = present.store, present.keyring
    past.cards.programmes, past.cards.keys = present.cards.programmes, present.cards.keys
    return past


def credential(manager_id: int) -> Credential:
    """Create a credential in memory that has all rights. Responses to this credential contain no card data."""
    from chalicelib.cards.programs.credentials import Credential
    from chalicelib.cards.protocol.card_records import ABSENT, CARD_FIELDS

    modes: dict[str, str] = dict.fromkeys(CARD_FIELDS, ABSENT)
    return Credential(_LEVEL, None, modes, manager_id=manager_id, name=CREDENTIAL, keys=())


def reference(name: str) -> str:
    """Return the request reference of a step: letters, digits and hyphens."""
    return f"first-month-{re.sub('[^A-Za-z0-9]+', '-', name).lower()}"
