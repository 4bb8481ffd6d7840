"""What tests of the SDK share."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

import pytest

from tests.sdk.scripted_hub import Clock


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    """The SDK's clock, which moves when it sleeps."""
    return Clock().install(monkeypatch)


@pytest.fixture(autouse=True)
def own_event_loop() -> Iterator[None]:
    """Programs start event loops of their own here, also in the process whose browser tests keep one running."""
    running = asyncio._get_running_loop()
    asyncio._set_running_loop(None)
    yield
    asyncio._set_running_loop(running)
