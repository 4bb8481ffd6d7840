"""The service as alarms and the dashboard see it."""

from __future__ import annotations

import pytest

from chalicelib.foundation import parallel
from tests.infra.alarm_plays import Service
from tests.world import World


@pytest.fixture
def service(world: World, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Service:
    monkeypatch.setattr(parallel, "WIDTH", 1)
    return Service(world, capsys, monkeypatch)
