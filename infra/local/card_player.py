"""Plays card use in the past: steps of a programme manager and of the card network, through the service's own actions.

The player is a second ``Hub`` on the same data whose clock stands in the past and is moved to the time of each step.
Every step has a fixed request reference, so a step that was carried out before a crash returns its first response
and changes nothing when the steps are played again with the same start.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, time, timedelta
from functools import cached_property
from typing import TYPE_CHECKING, Any

from chalicelib.bootstrap import Hub
from chalicelib.cards.container import CardContainer
from chalicelib.foundation import jsontext
from chalicelib.foundation.clock import Clock

if TYPE_CHECKING:
    from chalicelib.cards.card_data.keys import CardKeys
    from chalicelib.cards.programs.credentials import Credential
    from chalicelib.cards.programs.programmes import Programmes
    from chalicelib.foundation.crypto.keyring import Keyring
    from chalicelib.foundation.dynamodb.store import Store

CREDENTIAL = "local stack"
"""The credential's name in records; the space distinguishes it from stored credentials."""
_LEVEL = 1000


class StepFailed(Exception):
    """A step was refused; the message names the step and the reason."""


class PastClock(Clock):
    """A clock that stands still until it is moved; durations are real."""

    def __init__(self, start: datetime) -> None:
        self._now = start

    def time(self) -> int:
        return int(self._now.timestamp())

    def now(self) -> datetime:
        return self._now

    def move_to(self, moment: datetime) -> None:
        """Move the clock forward. Raises: ValueError, if ``moment`` is earlier than its time."""
        if moment < self._now:
            raise ValueError(f"the clock cannot be moved back to {moment}")
        self._now = moment


@dataclass(frozen=True, slots=True)
class ResponseValue:
    """A value of an earlier step's response: the step's name, and the path to the value in its data."""

    step: str
    path: tuple[str | int, ...]


@dataclass(frozen=True, slots=True, order=True)
class Step:
    """An action at a time of the played period.

    Attributes:
        day: the number of whole days since the start.
        at: the UTC time of day.
        name: unique; identifies the step in references, and for ``ResponseValue``.
        code: the response code that the network is to get, if it gets one.
    """

    day: int
    at: time
    name: str
    action: str = field(compare=False)
    members: Mapping[str, Any] = field(compare=False)
    code: str | None = field(default=None, compare=False)


class _PastCards(CardContainer):
    """The card API in the past; its caches of the set-up and of keys keep the present time, and so stay valid."""

    def __init__(self, past: Hub, present: CardContainer) -> None:
        super().__init__(past, past.delivery)
        self._present = present

    @property
    def programmes(self) -> Programmes:
        return self._present.programmes

    @property
    def keys(self) -> CardKeys:
        return self._present.keys


class _PastHub(Hub):
    """The service in the past, with the storage and the keys of the present one."""

    def __init__(self, present: Hub, clock: PastClock) -> None:
        super().__init__(present.settings, clock)
        self._present = present

    @property
    def store(self) -> Store:
        return self._present.store

    @property
    def keyring(self) -> Keyring:
        return self._present.keyring

    @cached_property
    def cards(self) -> CardContainer:
        return _PastCards(self, self._present.cards)


class CardPlayer:
    """Plays steps for one programme manager on the data of ``hub``, from midnight (UTC) of the day of ``start``."""

    def __init__(self, hub: Hub, manager_id: int, start: datetime) -> None:
        self._start = datetime.combine(start.astimezone(UTC).date(), time(), UTC)
        self._clock = PastClock(self._start)
        self._hub = _PastHub(hub, self._clock)
        self._credential = _credential(manager_id)
        self._responses: dict[str, Any] = {}

    def play(self, steps: Iterable[Step], is_stopped: Callable[[], bool] = lambda: False) -> bool:
        """Carry out the steps in the order of their times, until ``is_stopped``. Returns whether it was all of them.

        Raises: StepFailed.
        """
        for step in sorted(steps):
            if is_stopped():
                return False
            self._clock.move_to(self._start + timedelta(days=step.day, hours=step.at.hour, minutes=step.at.minute))
            self._responses[step.name] = self._carry_out(step)
        return True

    def _carry_out(self, step: Step) -> Any:
        """The data of the response. Raises: StepFailed."""
        flows = self._hub.cards.flows
        dispatcher = flows.api if step.action in flows.api.actions else flows.simulator
        asked = {name: self._resolve(value) for name, value in step.members.items()}
        asked |= {"action": step.action, "api_version": "1.2", "request_reference_id": _reference(step.name)}
        answer = jsontext.loads(dispatcher.answer_internally(self._credential, asked))
        if answer["status"] != "success":
            raise StepFailed(f"{step.name} ({step.action}): {answer['message']}")
        data = answer.get("data", answer)  # a holder's id is not inside the data
        if step.code is not None and data["response_code"] != step.code:
            raise StepFailed(f"{step.name} ({step.action}): response code {data['response_code']}, not {step.code}")
        return data

    def _resolve(self, value: Any) -> Any:
        if isinstance(value, ResponseValue):
            found = self._responses[value.step]
            for part in value.path:
                found = found[part]
            return found
        return [self._resolve(each) for each in value] if isinstance(value, list) else value


def _credential(manager_id: int) -> Credential:
    """A credential that exists only in memory; it has all rights, but no response discloses card data."""
    from chalicelib.cards.programs.credentials import Credential
    from chalicelib.cards.protocol.card_records import ABSENT, CARD_FIELDS

    modes: dict[str, str] = dict.fromkeys(CARD_FIELDS, ABSENT)
    return Credential(_LEVEL, None, modes, manager_id=manager_id, name=CREDENTIAL, keys=())


def _reference(name: str) -> str:
    """The request reference of a step: letters, digits and hyphens."""
    return f"first-month-{re.sub('[^A-Za-z0-9]+', '-', name).lower()}"
