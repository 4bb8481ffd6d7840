"""Tests of addendums, which the network sends for a transaction and getFinancialDetailAddendums lists."""

from functools import partial
from typing import Any

import pytest

from tests.cards.issuer import Envelope, Issuer
from tests.cards.reports.rows import paged
from tests.kit.storage import record_calls

LODGING = {"check_in": "2026-03-01", "nights": 2, "rates": [{"room": "12", "amount": 9900}]}
OVERALL = pytest.mark.parametrize("overall", [False, True], ids=["of a transaction", "of all"])


def transaction(issuer: Issuer, **account: Any) -> int:
    number: int = issuer.inbound(issuer.address(issuer.account(**account)), 1000)["transaction_id"]
    return number


def new_addendum(issuer: Issuer, number: int, **members: Any) -> int:
    least = {"transaction_id": number, "addendum_type": "lodging", "data": LODGING}
    return int(issuer.data("simulateAddendum", **least | members)["id"])


def report(issuer: Issuer, number: int | None = None, **members: Any) -> Envelope:
    now = issuer.clock.time()
    least: dict[str, Any] = {"date_imported_from": now - 3600, "date_imported_to": now + 3600, "item_count": 100}
    return issuer.do("getFinancialDetailAddendums", **least | ({"transaction_id": number} if number else {}) | members)


def ids(answer: Envelope) -> list[int]:
    assert answer.status == "success", answer.raw
    return [row["id"] for row in answer.data]


@pytest.fixture(autouse=True)
def later(issuer: Issuer) -> int:
    """Advance the clock until the recorded addendums are in the past, and return the time."""
    issuer.clock.advance(3)
    return issuer.clock.time()


def test_an_addendum_is_listed_with_its_original_data(issuer: Issuer, later: int) -> None:
    number = transaction(issuer)
    addendum = new_addendum(issuer, number)

    [row] = report(issuer, number).data

    assert row == {
        "id": addendum,
        "transaction_id": number,
        "addendum_type": "lodging",
        "date_imported": later,
        "data": LODGING,
    }


def test_addendums_of_one_second_are_listed_in_recording_order(issuer: Issuer) -> None:
    number = transaction(issuer)
    every = [new_addendum(issuer, number) for _ in range(3)]

    assert ids(report(issuer, number)) == every


@OVERALL
@pytest.mark.parametrize("item_count", [1, 2, 5])
def test_pages_list_every_addendum_once_in_order(issuer: Issuer, later: int, overall: bool, item_count: int) -> None:
    number = transaction(issuer)
    every = [new_addendum(issuer, number) for _ in range(5)]
    issuer.clock.advance(2)

    asked = partial(report, issuer, None if overall else number, date_imported_from=later)
    pages = paged(asked, "id", item_count)

    assert [each for page in pages for each in page] == every
    assert {len(each) for each in pages[:-1]} <= {item_count}


@OVERALL
def test_a_date_range_includes_its_first_and_last_second(issuer: Issuer, later: int, overall: bool) -> None:
    number, every = transaction(issuer), []
    for _ in range(4):
        every.append(new_addendum(issuer, number))
        issuer.clock.advance(1)

    dates = {"date_imported_from": later + 1, "date_imported_to": later + 2}
    assert ids(report(issuer, None if overall else number, **dates)) == every[1:3]


@OVERALL
def test_reversed_dates_return_2005(issuer: Issuer, overall: bool) -> None:
    refused = report(issuer, None if overall else 1, date_imported_from=2, date_imported_to=1)

    assert refused.status_code == 2005
    assert refused.message == "date_imported_to must not be before date_imported_from"


@OVERALL
def test_an_unknown_last_id_returns_3012(issuer: Issuer, overall: bool) -> None:
    number = transaction(issuer)

    for unknown in (0, 987_654_321, "99999999999999999999"):
        assert report(issuer, None if overall else number, last_id=unknown).status_code == 3012


def test_a_last_id_of_another_transaction_returns_3012(issuer: Issuer) -> None:
    first, second = transaction(issuer), transaction(issuer)
    addendum = new_addendum(issuer, first)

    assert report(issuer, second, last_id=addendum).status_code == 3012
    assert report(issuer, first, last_id=addendum).data == []


def test_addendums_that_arrive_during_paging_are_listed_once(issuer: Issuer) -> None:
    number = transaction(issuer)
    every = [new_addendum(issuer, number) for _ in range(3)]

    def asked(**members: Any) -> Envelope:
        if len(every) < 7:
            every.append(new_addendum(issuer, number))
        return report(issuer, number, **members)

    assert [each for page in paged(asked, "id", 2) for each in page] == every


def test_the_list_of_all_addendums_shows_an_addendum_after_one_second(issuer: Issuer, later: int) -> None:
    addendum = new_addendum(issuer, transaction(issuer))

    assert ids(report(issuer, date_imported_from=later)) == []
    issuer.clock.advance(1)
    assert ids(report(issuer, date_imported_from=later)) == [addendum]


# -- who sees them


def test_transactions_and_addendums_above_the_access_level_are_not_found(issuer: Issuer, later: int) -> None:
    low, high = transaction(issuer), transaction(issuer, access_level=500)
    seen, hidden = new_addendum(issuer, low), new_addendum(issuer, high)
    issuer.clock.advance(1)

    assert (
        issuer.sim(
            "simulateAddendum", transaction_id=high, addendum_type="x", data=LODGING, access_level=499
        ).status_code
        == 3012
    )
    assert report(issuer, high, access_level=499).status_code == 3012
    assert ids(report(issuer, date_imported_from=later, access_level=499)) == [seen]
    assert report(issuer, access_level=499, last_id=hidden).status_code == 3012
    assert ids(report(issuer, date_imported_from=later, access_level=500)) == [seen, hidden]


def test_transactions_and_addendums_of_another_programme_manager_are_not_found(issuer: Issuer, later: int) -> None:
    number = transaction(issuer)
    addendum, other = new_addendum(issuer, number), issuer.as_caller("other")
    issuer.clock.advance(1)

    assert other.sim("simulateAddendum", transaction_id=number, addendum_type="x", data=LODGING).status_code == 3012
    assert report(other, number).status_code == 3012
    assert report(other, last_id=addendum).status_code == 3012
    assert report(other).data == []


def test_an_unknown_transaction_returns_3012(issuer: Issuer) -> None:
    for unknown in (0, 987_654_321):
        refused = issuer.sim("simulateAddendum", transaction_id=unknown, addendum_type="x", data=LODGING)
        assert (refused.status_code, report(issuer, last_id=unknown).status_code) == (3012, 3012)
    assert report(issuer, 987_654_321).status_code == 3012


# -- what it takes


def test_adding_an_addendum_requires_three_round_trips_and_reading_a_page_requires_two(issuer: Issuer) -> None:
    number = transaction(issuer)
    with record_calls(issuer.causeway) as telling:
        addendum = new_addendum(issuer, number)
    with record_calls(issuer.causeway) as listing:
        report(issuer, number, last_id=addendum)
    with record_calls(issuer.causeway) as over_all:
        report(issuer)

    assert telling == ["BatchGetItem", "PutItem", "TransactWriteItems"]
    assert listing == ["BatchGetItem", "Query"]
    assert over_all == ["Query"] * 16


def test_a_duplicate_addendum_is_stored_once(issuer: Issuer) -> None:
    number = transaction(issuer)
    members = {
        "transaction_id": number,
        "addendum_type": "x",
        "data": LODGING,
        "request_reference_id": issuer.reference(),
    }

    first, second = (issuer.sim("simulateAddendum", **members) for _ in range(2))

    assert first.duplicated == 0
    assert second.duplicated == 1
    assert first.data == second.data
    assert ids(report(issuer, number)) == [first.data["id"]]


def test_addendum_data_are_an_object_of_at_most_2000_bytes_as_json(issuer: Issuer) -> None:
    number = transaction(issuer)
    most = {"text": "é" * 994 + "a"}

    assert new_addendum(issuer, number, data=most)
    for data, code in (({"text": "é" * 995}, 2003), ({}, 2003), ([], 2002), ("x", 2002)):
        refused = issuer.sim("simulateAddendum", transaction_id=number, addendum_type="x", data=data)
        assert refused.status_code == code
