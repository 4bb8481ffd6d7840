"""Boundaries between pages of transactions: what counts as a repeat, and what is remembered of the page before."""

from typing import Any

from tests.openbanking.kit import VERSIONS
from tests.openbanking.unified.transaction_lists import Reader, answer, entry, ids


def page(version: int, number: int, *entries: Any) -> dict[str, Any]:
    """Return a page that leads to the next one."""
    return answer(version, *entries, **({} if version == 1 else {"page_key": f"n-{number}"}))


@VERSIONS
def test_transactions_of_one_id_with_different_amounts_are_all_listed(version: int) -> None:
    reader = Reader(version)
    amounts = [f"-{number}.00" for number in range(1, 2001)]
    rows = [entry(version, "E-1", amount) for amount in amounts]

    pages = [reader.read(page(version, start, *rows[start : start + 100])) for start in range(0, 2000, 100)]

    found = [each for listed in pages for each in listed]
    assert ids(found) == ["E-1"] * 2000
    assert [f"-{each['amount']['value']}" for each in found] == amounts
    assert len({each["stable_key"] for each in found}) == 2000
