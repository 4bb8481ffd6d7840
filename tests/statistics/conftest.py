"""A night on which days are ingested, and a process that measures calls."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta

import pytest

from chalicelib.foundation import parallel
from chalicelib.statistics.measurements import Measurements
from tests.causeway import Causeway
from tests.kit.time import ManualClock
from tests.statistics.bank_days import ALPHA, BETA, DAY, advance_to
from tests.statistics.client_calls import START, Table, process


@pytest.fixture
def night(causeway: Causeway, monkeypatch: pytest.MonkeyPatch) -> Iterator[Causeway]:
    """01:10 of the night after ``DAY``; banks that a test changes are put back."""
    monkeypatch.setattr(parallel, "WIDTH", 1)  # the emulator is not made for threads
    advance_to(causeway, DAY + timedelta(days=1))
    before = [causeway.hub.store.get("banks", {"bic": bic}) for bic in (ALPHA, BETA)]
    yield causeway
    for item in before:
        assert item is not None
        causeway.hub.store.put("banks", item)


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock(START)


@pytest.fixture
def table() -> Table:
    return Table()


@pytest.fixture
def instance(table: Table, clock: ManualClock) -> Measurements:
    """A process that measures, and writes to the table."""
    return process(table, clock)
