"""Fixtures for tests of the nightly ingest, and a simulated process that measures calls."""

from collections.abc import Iterator
from datetime import timedelta

import pytest

from chalicelib.foundation import parallel
from tests.causeway import Causeway
from tests.statistics.bank_days import ALPHA, BETA, DAY, advance_to
from tests.statistics.client_calls import Instance


@pytest.fixture
def night(causeway: Causeway, monkeypatch: pytest.MonkeyPatch) -> Iterator[Causeway]:
    """Set the clock to 01:10 of the night after ``DAY``, and restore changed banks afterwards."""
    monkeypatch.setattr(parallel, "WIDTH", 1)  # the emulator is not made for threads
    advance_to(causeway, DAY + timedelta(days=1))
    before = [causeway.hub.store.get("banks", {"bic": bic}) for bic in (ALPHA, BETA)]
    yield causeway
    for item in before:
        assert item is not None
        causeway.hub.store.put("banks", item)


@pytest.fixture
def instance() -> Instance:
    return Instance()
