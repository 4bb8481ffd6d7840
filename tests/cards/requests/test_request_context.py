"""Tests of pages of lists that are entirely in memory."""

import pytest

from chalicelib.cards.requests.request_context import page

ROWS = [{"id": number} for number in range(5)]


@pytest.mark.parametrize(
    ("item_count", "offset", "expected"),
    [(2, 0, [0, 1]), (2, 3, [3, 4]), (2, 4, [4]), (2, 5, []), (100, 0, [0, 1, 2, 3, 4]), (1, 99_999_999_999, [])],
)
def test_a_page_begins_at_its_offset_and_returns_the_total_number_of_rows(
    item_count: int, offset: int, expected: list[int]
) -> None:
    shown = page(ROWS, (item_count, offset))

    assert shown.data is not None
    assert [row["id"] for row in shown.data] == expected
    assert shown.beside == {"paginator": {"total_items_count": 5}}


def test_consecutive_pages_contain_the_whole_list() -> None:
    pages = [page(ROWS, (2, offset)).data or [] for offset in (0, 2, 4)]

    assert [row for each in pages for row in each] == ROWS
