"""A night on which days are ingested."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta

import pytest

from chalicelib.foundation import parallel
from tests.statistics.made_up import ALPHA, BETA
from tests.statistics.nights import DAY, turn_to
from tests.world import World


@pytest.fixture
def night(world: World, monkeypatch: pytest.MonkeyPatch) -> Iterator[World]:
    """01:10 of the night after ``DAY``; banks that a test changes are put back."""
    monkeypatch.setattr(parallel, "WIDTH", 1)  # the emulator is not made for threads
    turn_to(world, DAY + timedelta(days=1))
    before = [world.hub.store.get("banks", {"bic": bic}) for bic in (ALPHA, BETA)]
    yield world
    for item in before:
        assert item is not None
        world.hub.store.put("banks", item)
