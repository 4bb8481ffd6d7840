"""What tests of the bank's side share."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from unittest.mock import patch

import pytest
from cryptography.hazmat.primitives.serialization import load_pem_private_key

from tests.sdk.bank.scene import NOVEMBER, Scene
from tests.sdk.scripted_hub import Clock


@pytest.fixture(scope="session", autouse=True)
def loaded_keys() -> Iterator[None]:
    """A key is loaded once: the arithmetic check of its primes takes time."""
    with patch("causeway.bank.signatures.load_pem_private_key", lru_cache(load_pem_private_key)):
        yield


@pytest.fixture(params=[1, 2], ids=["version 1", "version 2"])
def version(request: pytest.FixtureRequest) -> int:
    number: int = request.param
    return number


@pytest.fixture
def scene(version: int, clock: Clock) -> Iterator[Scene]:
    """A bank of either version."""
    clock.moment = NOVEMBER
    made = Scene(version, clock)
    yield made
    made.close()


@pytest.fixture
def scene_2(clock: Clock) -> Iterator[Scene]:
    """A bank of version 2."""
    clock.moment = NOVEMBER
    made = Scene(2, clock)
    yield made
    made.close()
