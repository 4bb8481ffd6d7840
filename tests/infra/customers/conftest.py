"""A table of the demonstration banks alone."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import responses

from tests.demo_bank.stage import Stage


@pytest.fixture
def one(resources: None) -> Iterator[Stage]:
    with responses.RequestsMock(assert_all_requests_are_fired=False) as mock:
        yield Stage("one", mock)
