"""The balance chart: its steps are in chronological order and inside the frame, and it has a description."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chalicelib.website.cards.balance_chart import HEIGHT, PLACES, WIDTH, balance_chart

EUR = 978
START = 1_772_442_000_000


def row(at: int, settled: int, held: int = 0, reserved: int = 0) -> dict[str, int]:
    return {"at": at, "settled": settled, "held": held, "reserved": reserved}


def points(path: str) -> list[tuple[float, float]]:
    begun = re.match("M0 ([0-9.]+)", path)
    assert begun is not None
    x, y = 0.0, float(begun[1])
    found = [(x, y)]
    for direction, number in re.findall("([HV])([0-9.]+)", path):
        x, y = (float(number), y) if direction == "H" else (x, float(number))
        found.append((x, y))
    return found


def test_a_balance_is_constant_until_the_next_movement() -> None:
    made = balance_chart([row(START + 1000, 100_00, 50_00), row(START, 100_00)], EUR, START + 1000)
    assert made is not None

    then = points(made.available)[1][0]
    assert points(made.available) == [(0, 0), (then, 0), (then, HEIGHT / 2), (WIDTH, HEIGHT / 2)]
    assert {y for _, y in points(made.settled)} == {0}
    assert made.highest == "100.00 EUR"
    assert made.lowest == "0.00 EUR"
    assert made.zero == HEIGHT
    assert (made.first, made.last) == (START // 1000, START // 1000 + 1)
    assert "from 100.00 EUR to 50.00 EUR" in made.description


def test_the_chart_shows_the_balance_after_the_last_movement() -> None:
    made = balance_chart([row(START + 12_000, 50_00), row(START, 100_00)], EUR, START + 86_400_000)
    assert made is not None

    assert points(made.available)[-1] == (WIDTH, HEIGHT / 2)


def test_the_last_point_of_the_chart_is_the_current_time() -> None:
    made = balance_chart([row(START + 12_000, 50_00), row(START, 100_00)], EUR, START + 24_000)
    assert made is not None

    assert made.last == START // 1000 + 24
    assert points(made.available)[1:] == [(WIDTH / 2, 0), (WIDTH / 2, HEIGHT / 2), (WIDTH, HEIGHT / 2)]


def test_each_tooltip_shows_the_balance_at_the_end_of_its_interval() -> None:
    rows = [row(START + 12_000, 50_00, 10_00), row(START, 100_00)]
    made = balance_chart(rows, EUR, START + 24_000)
    assert made is not None

    assert len(made.tips) == PLACES
    assert made.tips[10] == "2 Mar 2026, 09:00:11 UTC: 100.00 EUR available, 100.00 EUR settled"
    assert made.tips[11] == "2 Mar 2026, 09:00:12 UTC: 40.00 EUR available, 50.00 EUR settled"
    assert made.tips[-1] == "2 Mar 2026, 09:00:24 UTC: 40.00 EUR available, 50.00 EUR settled"


@pytest.mark.parametrize("apart", [1, 1000, 5_000_000_000])
def test_a_recent_movement_is_drawn_inside_the_chart(apart: int) -> None:
    made = balance_chart([row(START + apart, 50_00), row(START, 100_00)], EUR, START + apart)
    assert made is not None

    assert WIDTH * 0.5 <= points(made.available)[1][0] <= WIDTH * 0.98
    assert made.last == (START + apart) // 1000, "the time that is told is not one to come"


def test_simultaneous_balance_movements_are_drawn_separately() -> None:
    made = balance_chart([row(START, 50_00), row(START, 100_00)], EUR, START)
    assert made is not None

    assert points(made.settled) == [(0, 0), (0, 0), (0, HEIGHT / 2), (WIDTH, HEIGHT / 2)]


def test_a_negative_balance_is_drawn_below_zero() -> None:
    made = balance_chart([row(START + 1000, -50_00), row(START, 50_00)], EUR, START)
    assert made is not None

    assert (made.lowest, made.zero) == ("\u221250.00 EUR", HEIGHT / 2)


def test_no_balance_chart_is_drawn_for_fewer_than_two_movements() -> None:
    assert balance_chart([row(START, 100_00)], EUR, START) is None
    assert balance_chart([], EUR, START) is None


@given(
    st.lists(st.tuples(st.integers(1, 10**9), st.integers(-(10**14), 10**14), st.integers(0, 10**14)), min_size=2),
    st.integers(-(10**9), 10**11),
)
def test_all_points_of_the_chart_are_inside_the_frame_in_chronological_order(
    steps: list[tuple[int, int, int]], since: int
) -> None:
    at, rows = START, []
    for later, settled, held in steps:
        at += later
        rows.append(row(at, settled, held))
    made = balance_chart(rows[::-1], EUR, at + since)
    assert made is not None

    for line in (made.available, made.settled, made.area):
        assert all(0 <= x <= WIDTH and 0 <= y <= HEIGHT for x, y in points(line))
        assert [x for x, _ in points(line)] == sorted(x for x, _ in points(line))
