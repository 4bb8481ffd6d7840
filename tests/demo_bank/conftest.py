"""The stage of each bank for the tests of the demonstration banks."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
import responses

from chalicelib import bootstrap
from tests.demo_bank.stage import Stage


@pytest.fixture
def outside() -> Iterator[responses.RequestsMock]:
    """Catches what the banks send over HTTP."""
    with responses.RequestsMock(assert_all_requests_are_fired=False) as mock:
        yield mock


def _staged(name: Any, outside: responses.RequestsMock, monkeypatch: pytest.MonkeyPatch) -> Stage:
    stage = Stage(name, outside)
    monkeypatch.setattr(bootstrap, "hub", lambda: stage)
    return stage


@pytest.fixture
def one(resources: None, outside: responses.RequestsMock, monkeypatch: pytest.MonkeyPatch) -> Stage:
    return _staged("one", outside, monkeypatch)


@pytest.fixture
def two(resources: None, outside: responses.RequestsMock, monkeypatch: pytest.MonkeyPatch) -> Stage:
    return _staged("two", outside, monkeypatch)


@pytest.fixture(params=["one", "two"])
def stage(
    request: pytest.FixtureRequest, resources: None, outside: responses.RequestsMock, monkeypatch: pytest.MonkeyPatch
) -> Stage:
    """Each bank in turn."""
    return _staged(request.param, outside, monkeypatch)
