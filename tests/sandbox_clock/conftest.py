"""A service whose business time can be moved."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import replace

import pytest

from chalicelib.foundation.moved_clock import KEY, TABLE, ClockOffset, MovedClock
from tests.causeway import Causeway
from tests.sandbox_clock.operator import OPERATOR_KEY, Operator

_ROOMS = ("delivery", "statistics", "openbanking", "cards", "website")


@pytest.fixture
def movable(shared_causeway: Causeway) -> Iterator[Causeway]:
    """The service on a clock that nobody has moved; its real clock is that of the service."""
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
