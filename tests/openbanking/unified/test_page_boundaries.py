"""Boundaries between pages of transactions: what counts as a repeat, and what is remembered of the page before."""

from typing import Any

import pytest

from tests.openbanking.kit import VERSIONS
from tests.openbanking.unified.transaction_lists import Reader, answer, entry, ids, ordinals, payment


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


# -- the order of the bank


def pending(entry_id: str, amount: str = "-12.50") -> dict[str, Any]:
    """Return a pending payment of a version 1 bank."""
    return payment(entry_id, amount, status=1)


def test_entries_in_another_order_at_the_bank_are_no_repeated_page() -> None:
    reader, rows = Reader(1, limit=2), [pending("P"), payment("B")]
    for _ in range(6):
        reader.read(answer(1, *rows))
        rows.reverse()


def test_last_200_entries_are_those_of_the_bank() -> None:
    waiting = [pending(f"P-{number}") for number in range(100)]
    booked = [payment(f"B-{number}") for number in range(150)]
    reader = Reader(1)
    assert len(reader.read(answer(1, *waiting, *booked))) == 250

    assert ids(reader.read(answer(1, *booked, *waiting))) == [f"P-{number}" for number in range(50)]


@pytest.mark.parametrize("unlisted", [payment("R", status=2), payment("X", "x"), None], ids=["failed", "odd", "null"])
def test_last_200_entries_include_those_that_are_not_listed(unlisted: Any) -> None:
    rows = [payment(f"E-{number}") for number in range(100)]
    reader = Reader(1)
    reader.read(answer(1, *rows, *[unlisted] * 150))

    assert ids(reader.read(answer(1, *rows))) == [f"E-{number}" for number in range(50)]


def test_unlisted_entries_in_another_order_are_no_repeated_page() -> None:
    reader, rows = Reader(1, limit=2), [payment("R", status=2), payment("B")]
    for _ in range(6):
        reader.read(answer(1, *rows))
        rows.reverse()


def test_ordinals_go_on_from_the_largest_of_the_page_before() -> None:
    reader = Reader(1, limit=2)

    first = reader.read(answer(1, pending("E", "-1"), payment("E", "-2")))
    second = reader.read(answer(1, payment("E", "-3")))

    assert [(each["status"], *ordinals([each])) for each in [*first, *second]] == [
        ("booked", 1),
        ("pending", 2),
        ("booked", 3),
    ]


@VERSIONS
def test_ids_whose_digests_begin_alike_have_ordinals_of_their_own(version: int) -> None:
    found = Reader(version).read(answer(version, entry(version, "E-23051"), entry(version, "E-63234")))

    assert len({each["stable_key"][:8] for each in found}) == 1
    assert ordinals(found) == [1, 1]


# -- problems of lists that were not asked for


@pytest.mark.parametrize(
    ("status", "reported"),
    [
        ("booked", ["booked[0]"]),
        ("pending", ["pending[0]", "pending[1]"]),
        ("all", ["booked[0]", "pending[0]", "pending[1]"]),
    ],
)
def test_problems_of_entries_in_a_list_that_was_not_asked_for_are_not_reported(
    status: str, reported: list[str]
) -> None:
    reader = Reader(2, status=status)

    reader.read(answer(2, entry(2, amount="x"), pending=[None, entry(2, amount="x")]))

    assert [each["position"] for each in reader.problems] == reported
