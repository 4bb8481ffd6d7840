"""What tests of the SDK share."""

from __future__ import annotations

import pytest

from tests.sdk.scripted_hub import Clock


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    """The SDK's clock, which moves when it sleeps."""
    return Clock().install(monkeypatch)
