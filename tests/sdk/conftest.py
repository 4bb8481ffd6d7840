"""Fixtures of the SDK's tests: clocks, event loops, and banks of either version."""

import asyncio
from collections.abc import Iterator
from functools import lru_cache
from unittest.mock import patch

import pytest
from cryptography.hazmat.primitives.serialization import load_pem_private_key

from tests.sdk.bank.harness import NOVEMBER, BankHarness
from tests.sdk.scripted_hub import Clock


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    """Return the SDK's clock, which advances only when the SDK sleeps."""
    return Clock().install(monkeypatch)


@pytest.fixture(autouse=True)
def own_event_loop() -> Iterator[None]:
    """Allow programs to start an event loop, although the browser tests run an event loop in the same process."""
    running = asyncio._get_running_loop()
    asyncio._set_running_loop(None)
    yield
    asyncio._set_running_loop(running)


@pytest.fixture(scope="session", autouse=True)
def loaded_keys() -> Iterator[None]:
    """Load each key only once, because the check of its prime numbers takes time."""
    with patch("causeway.bank.signatures.load_pem_private_key", lru_cache(load_pem_private_key)):
        yield


@pytest.fixture(params=[1, 2], ids=["version 1", "version 2"])
def version(request: pytest.FixtureRequest) -> int:
    number: int = request.param
    return number


@pytest.fixture
def harness(version: int, clock: Clock) -> Iterator[BankHarness]:
    clock.seconds = NOVEMBER
    harness = BankHarness(version, clock)
    yield harness
    harness.close()


@pytest.fixture
def harness_2(clock: Clock) -> Iterator[BankHarness]:
    clock.seconds = NOVEMBER
    harness = BankHarness(2, clock)
    yield harness
    harness.close()
