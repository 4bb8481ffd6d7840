"""The one benchmark that is a promise: a cold start costs little more than the libraries that it cannot do without."""

from __future__ import annotations

import pytest

from tests.bench.measures import cold
from tests.bench.scene import scene

GOAL = 1.6


@pytest.mark.filterwarnings("ignore")
def test_a_cold_first_answer_takes_at_most_1_6_times_the_bare_scripts() -> None:
    with scene():
        measured = cold(GOAL, most=15)

    assert measured.ratio <= GOAL, str(measured)
