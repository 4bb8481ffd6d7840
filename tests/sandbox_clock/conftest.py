"""Fixtures: a service whose business time can be advanced, and an operator who advances the clock."""

import json
import sys
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import pytest

from chalicelib.foundation.moved_clock import KEY, TABLE, ClockOffset, MovedClock
from tests.causeway import Answer, Causeway

PLACE = "/sandbox/clock"
OPERATOR_KEY = "the-operators-key"


@dataclass(frozen=True)
class Operator:
    causeway: Causeway

    def ask(self, body: object, key: str | None = OPERATOR_KEY, content_type: str = "application/json") -> Answer:
        """Send a body to ``POST /sandbox/clock``. A string is sent unchanged."""
        sent = body if isinstance(body, str) else json.dumps(body)
        headers = {"content-type": content_type} | ({"authorization": f"Bearer {key}"} if key is not None else {})
        return self.causeway.call("POST", PLACE, sent.encode(), headers)

    def move(self, duration: str) -> Any:
        answer = self.ask({"advance": duration})
        assert answer.status == 200, answer.text
        return answer.body

    @property
    def time(self) -> Any:
        answer = self.causeway.call("GET", PLACE)
        assert answer.status == 200, answer.text
        return answer.body


_ROOMS = ("delivery", "statistics", "openbanking", "cards", "website")


@pytest.fixture
def movable(shared_causeway: Causeway) -> Iterator[Causeway]:
    """Run the service with a clock that tests can move forward. The initial offset is zero."""
    causeway = shared_causeway.again(replace(shared_causeway.hub.settings, operator_key=OPERATOR_KEY))
    hub = causeway.hub
    hub.store.delete(TABLE, KEY)
    hub.clock = MovedClock(causeway.clock, ClockOffset(hub.store).read)
    for room in _ROOMS:  # what was made before has the clock of the causeway
        hub.__dict__.pop(room, None)
    causeway._measures(not_before=sys.maxsize)
    with causeway.installed():
        yield causeway
    hub.store.delete(TABLE, KEY)


@pytest.fixture
def operator(movable: Causeway) -> Operator:
    return Operator(movable)
