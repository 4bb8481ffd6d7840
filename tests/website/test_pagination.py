"""List pages: each row is on one page, and page numbers are limited to existing pages."""

import pytest

from chalicelib.website.pagination import PAGE, paginate


@pytest.mark.parametrize("count", [0, 1, PAGE, PAGE + 1, 45])
def test_every_row_is_on_exactly_one_page(count: int) -> None:
    rows = list(range(count))
    pages = paginate(rows, "1").pages

    assert [row for number in range(1, pages + 1) for row in paginate(rows, str(number)).rows] == rows
    assert paginate(rows, "").total == count


@pytest.mark.parametrize(
    ("asked", "number"),
    [("", 1), ("0", 1), ("-1", 1), ("x", 1), ("3", 3), ("4", 3), ("٣", 1), ("9" * 400, 3), ("0002", 2), ("000", 1)],
)
def test_an_invalid_page_number_selects_the_nearest_page(asked: str, number: int) -> None:
    assert paginate(range(45), asked).number == number
