"""A table of the demonstration banks alone."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import responses

from tests.demo_bank.single_bank import SingleBank


@pytest.fixture
def one(resources: None) -> Iterator[SingleBank]:
    with responses.RequestsMock(assert_all_requests_are_fired=False) as mock:
        yield SingleBank("one", mock)
