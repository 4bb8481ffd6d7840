"""A bulk order of 1000 payments is cheap to check: its cost against reading its bytes is a promise."""

from __future__ import annotations

import pytest

from tests.bench.bulk import GOAL, ratio
from tests.bench.measures import MARGIN


@pytest.mark.parametrize("version", [1, 2])
def test_a_thousand_payments_are_read_and_validated_in_a_few_times_their_json(version: int) -> None:
    assert ratio(version) <= GOAL * MARGIN
