"""What the card API does around a decision is cheap: its cost against reading and writing the same JSON is bounded."""

from __future__ import annotations

import pytest

from tests.bench.cards import GOALS, ratio
from tests.bench.measures import MARGIN


@pytest.mark.parametrize(("action", "goal"), GOALS.items())
def test_dispatch_validation_and_serialisation_cost_a_few_times_the_json(action: str, goal: int) -> None:
    assert ratio(action) <= goal * MARGIN
