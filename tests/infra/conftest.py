"""The service as alarms and the dashboard see it."""

from __future__ import annotations

import pytest

from chalicelib.foundation import parallel
from tests.causeway import Causeway
from tests.infra.alarm_plays import Service


@pytest.fixture
def service(causeway: Causeway, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Service:
    monkeypatch.setattr(parallel, "WIDTH", 1)
    return Service(causeway, capsys, monkeypatch)
