"""Figures are rounded as people do it, halves up, and always have as many decimal places."""

from __future__ import annotations

from decimal import Decimal

import pytest

from chalicelib.statistics.rounding import percent, round_half_up


@pytest.mark.parametrize(
    ("number", "places", "written"), [("0.25", 1, "0.3"), ("0.35", 1, "0.4"), ("7", 2, "7.00"), ("0.0049", 2, "0.00")]
)
def test_halves_are_rounded_up(number: str, places: int, written: str) -> None:
    assert str(round_half_up(Decimal(number), places)) == written


def test_a_part_is_told_in_thousandths_of_a_percent_and_of_nothing_not_at_all() -> None:
    assert [str(percent(part, whole)) for part, whole in ((1, 3), (2, 3), (0, 7), (7, 7))] == [
        "33.333",
        "66.667",
        "0.000",
        "100.000",
    ]
    assert percent(0, 0) is None
