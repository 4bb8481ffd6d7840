"""The hourly error chart: its scale, columns and description."""

import re

import pytest

from chalicelib.statistics.client_activity import ErrorKind, HourOfCalls
from chalicelib.website.clients.activity_chart import errors_chart, hour_text
from chalicelib.website.performance.performance_chart import HEIGHT, WIDTH

NINE = 1772442000
"""2 March 2026, 09:00 UTC."""


def hour(number: int, calls: int = 0, **errors: int) -> HourOfCalls:
    made = HourOfCalls("a-client", NINE + number * 3600, "row", calls)
    kinds: dict[str, ErrorKind] = {"caller": "caller", "limit": "limit", "bank": "bank", "hub": "hub"}
    made.errors.update({kinds[name]: count for name, count in errors.items()})
    return made


def day(**errors: int) -> list[HourOfCalls]:
    """Create the hourly call counts of a day. Only the last hour has calls."""
    return [*(hour(number) for number in range(23)), hour(23, 20, **errors)]


def test_no_error_chart_is_drawn_without_errors() -> None:
    assert errors_chart(day()) is None
    assert errors_chart([]) is None


def test_the_activity_chart_stacks_the_kinds_of_errors_in_one_column_per_hour() -> None:
    chart = errors_chart(day(caller=4, bank=4))
    assert chart is not None

    assert [shape.name for shape in chart.shapes] == ["kind-caller", "kind-bank"]
    paths = [[float(number) for number in re.findall(r"[0-9.]+", shape.path)] for shape in chart.shapes]
    (left, caller_top, width, caller_bottom, _), (_, bank_top, _, bank_bottom, _) = paths
    assert (caller_bottom, caller_top) == (HEIGHT, HEIGHT / 2)
    assert (bank_bottom, bank_top) == (HEIGHT / 2, 0)
    assert left + width < WIDTH
    assert chart.scale == ["8", "4", "0"]


@pytest.mark.parametrize(
    ("most", "top"), [(1, "2"), (2, "2"), (3, "4"), (9, "10"), (10, "20"), (41, "60"), (999, "1,000"), (1001, "2,000")]
)
def test_the_chart_scale_ends_at_the_next_round_number(most: int, top: str) -> None:
    chart = errors_chart(day(hub=most))

    assert chart is not None
    assert chart.scale[0] == top


def test_every_hour_has_a_tooltip_and_every_sixth_hour_a_label() -> None:
    chart = errors_chart(day(caller=2, limit=1))
    assert chart is not None

    assert len(chart.tips) == 24
    assert chart.tips[0] == "09:00 to 10:00 UTC: 0 calls"
    assert chart.tips[-1] == "08:00 to 09:00 UTC: 20 calls, 3 errors: Refused (4xx) 2, Rate limit 1"
    assert [label.words for label in chart.dates] == ["09:00", "15:00", "21:00", "03:00"]
    assert chart.description == f"3 errors in 24 hours. Most from {chart.tips[-1]}."


def test_the_tooltip_of_an_hour_without_errors_reports_no_errors() -> None:
    assert hour_text(hour(0, 1)) == "09:00 to 10:00 UTC: 1 call, no errors"
    assert hour_text(hour(0, 1, bank=1)) == "09:00 to 10:00 UTC: 1 call, 1 error: Bank 1"
