"""Tests of getCardsActivity and getFinancialAuthorizes: visible messages, order and paging."""

import itertools
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest

from chalicelib.foundation.clock import milliseconds
from tests.cards.issuer import Envelope, Issuer
from tests.cards.reports.rows import message, paged
from tests.kit.storage import record_calls

BOTH = pytest.mark.parametrize("action", ["getCardsActivity", "getFinancialAuthorizes"])
LISTED: dict[str, Callable[[int], dict[str, Any]]] = {
    "getCardsActivity": lambda card: {"card_id": card},
    "getFinancialAuthorizes": lambda card: {"card_id": card},
    "getCardsActivity of all": lambda card: {},
}
EVERY = pytest.mark.parametrize("listed", LISTED)
_SECOND = 1000
_halves = itertools.count()


@pytest.fixture
def minute(issuer: Issuer) -> int:
    """Return the start of a 30-second interval that no other test uses, in Unix milliseconds."""
    return milliseconds(issuer.clock) - 3 * 3600 * _SECOND + next(_halves) * 30 * _SECOND


def report(issuer: Issuer, listed: str, card: int, **members: Any) -> Envelope:
    now = issuer.clock.time()
    least = {"date_from": now - 4 * 3600, "date_to": now + 3600, "item_count": 100}
    return issuer.do(listed.partition(" ")[0], **LISTED[listed](card) | least | members)


def ids(answer: Envelope) -> list[int]:
    assert answer.status == "success", answer.raw
    return [row["authorize_id"] for row in answer.data]


def within(at: int) -> dict[str, int]:
    return {"date_from": at // _SECOND, "date_to": at // _SECOND + 29}


@EVERY
def test_messages_are_listed_in_recording_order(issuer: Issuer, minute: int, listed: str) -> None:
    card = issuer.card().card_id
    third, first, second = (message(issuer, card, minute + later) for later in (200, 0, 100))

    assert ids(report(issuer, listed, card, **within(minute))) == [first, second, third]


def test_get_financial_authorizes_lists_only_messages_that_debit_money(issuer: Issuer, minute: int) -> None:
    card = issuer.card().card_id
    taken = message(issuer, card, minute)
    declined = message(issuer, card, minute + 1, financial=False, response_code="51", actual=0)

    assert ids(report(issuer, "getCardsActivity", card)) == [taken, declined]
    assert ids(report(issuer, "getFinancialAuthorizes", card)) == [taken]


@EVERY
def test_a_date_range_includes_its_first_and_last_second(issuer: Issuer, minute: int, listed: str) -> None:
    card, second = issuer.card().card_id, minute // _SECOND + 5
    before, first, last, after = (
        message(issuer, card, at)
        for at in (second * _SECOND - 1, second * _SECOND, (second + 2) * _SECOND - 1, (second + 2) * _SECOND)
    )

    assert ids(report(issuer, listed, card, date_from=second, date_to=second + 1)) == [first, last]
    assert before not in ids(report(issuer, listed, card, date_from=second, date_to=second))
    assert ids(report(issuer, listed, card, date_from=second + 2, date_to=second + 2)) == [after]


@EVERY
def test_reversed_dates_return_2005(issuer: Issuer, listed: str) -> None:
    refused = report(issuer, listed, 1, date_from=2, date_to=1)

    assert (refused.status_code, refused.message) == (2005, "date_to must not be before date_from")


@EVERY
@pytest.mark.parametrize(("item_count", "code"), [(0, 2005), (101, 2005), (10**10, 2005), (10**11, 2003)])
def test_a_page_has_1_to_100_rows(issuer: Issuer, listed: str, item_count: int, code: int) -> None:
    assert report(issuer, listed, 1, item_count=item_count).status_code == code


@EVERY
@pytest.mark.parametrize("item_count", [1, 2, 5])
def test_pages_list_every_message_once_in_order(issuer: Issuer, minute: int, listed: str, item_count: int) -> None:
    card = issuer.card().card_id
    written = [message(issuer, card, minute + later) for later in range(5)]

    pages = paged(partial(report, issuer, listed, card, **within(minute)), "authorize_id", item_count)

    assert [number for each in pages for number in each] == written
    assert {len(each) for each in pages[:-1]} <= {item_count}


@EVERY
def test_a_page_with_the_last_row_has_no_more_records(issuer: Issuer, minute: int, listed: str) -> None:
    card = issuer.card().card_id
    for later in range(2):
        message(issuer, card, minute + later)

    answers = [report(issuer, listed, card, item_count=count, **within(minute)) for count in (1, 2, 3)]

    assert [answer.members["has_more_records"] for answer in answers] == ["Y", "N", "N"]
    assert list(answers[0].members) == ["status", "duplicated", "has_more_records", "data"]


@EVERY
def test_a_list_without_rows_is_empty(issuer: Issuer, listed: str) -> None:
    answer = report(issuer, listed, issuer.card().card_id, date_from=1, date_to=2)

    assert (answer.data, answer.members["has_more_records"]) == ([], "N")


@EVERY
def test_an_unknown_last_id_returns_3012(issuer: Issuer, listed: str) -> None:
    card = issuer.card().card_id

    for unknown in (0, 987_654_321, "99999999999999999999"):
        assert report(issuer, listed, card, last_id=unknown).status_code == 3012


@BOTH
def test_a_last_id_of_another_card_returns_3012(issuer: Issuer, minute: int, action: str) -> None:
    card, other = issuer.card().card_id, issuer.card().card_id
    number = message(issuer, other, minute)

    assert report(issuer, action, card, last_id=number).status_code == 3012
    assert report(issuer, action, other, last_id=number).status == "success"


def test_get_financial_authorizes_rejects_a_last_id_that_identifies_a_non_financial_message(
    issuer: Issuer, minute: int
) -> None:
    card = issuer.card().card_id
    declined, taken = message(issuer, card, minute, financial=False), message(issuer, card, minute + 1)

    assert report(issuer, "getFinancialAuthorizes", card, last_id=declined).status_code == 3012
    assert report(issuer, "getFinancialAuthorizes", card, last_id=taken).data == []
    assert ids(report(issuer, "getCardsActivity", card, last_id=declined)) == [taken]


@EVERY
def test_a_last_id_outside_the_date_range_is_accepted(issuer: Issuer, minute: int, listed: str) -> None:
    card = issuer.card().card_id
    early, inside, late = (message(issuer, card, minute + later * _SECOND) for later in (0, 5, 10))
    dates = {"date_from": minute // _SECOND + 4, "date_to": minute // _SECOND + 6}

    assert ids(report(issuer, listed, card, last_id=early, **dates)) == [inside]
    assert ids(report(issuer, listed, card, last_id=late, **dates)) == []


@EVERY
def test_messages_of_another_programme_manager_are_not_found(issuer: Issuer, minute: int, listed: str) -> None:
    card, other = issuer.card().card_id, issuer.as_caller("other")
    number = message(issuer, card, minute)

    found = report(other, listed, card, **within(minute))
    after = report(other, listed, card, last_id=number)

    assert after.status_code == (3012 if listed.endswith("all") else 3002)
    assert found.status_code == 3002 or found.data == []


# -- levels


@BOTH
def test_a_card_above_the_access_level_returns_3002(issuer: Issuer, action: str) -> None:
    card = issuer.card(access_level=500).card_id

    assert report(issuer, action, card, access_level=499).status_code == 3002
    assert report(issuer, action, card, access_level=500).status == "success"
    assert report(issuer.with_credential(f"below {action}", access_level=499), action, card).status_code == 3002


def test_the_list_of_all_cards_omits_messages_above_the_access_level(issuer: Issuer, minute: int) -> None:
    cards = {level: issuer.card(access_level=level).card_id for level in (0, 500)}
    rows = [
        (level, message(issuer, cards[level], minute + later, level=level)) for later, level in enumerate((0, 500) * 3)
    ]
    low = [number for level, number in rows if level == 0]
    everything = "getCardsActivity of all"

    assert ids(report(issuer, everything, 0, access_level=500, **within(minute))) == [number for _, number in rows]
    pages = paged(partial(report, issuer, everything, 0, access_level=499, **within(minute)), "authorize_id", 2)
    assert pages == [low[:2], low[2:]]


def test_the_list_of_all_cards_rejects_a_last_id_above_the_access_level(issuer: Issuer, minute: int) -> None:
    number = message(issuer, issuer.card(access_level=500).card_id, minute, level=500)
    everything = partial(report, issuer, "getCardsActivity of all", 0, last_id=number)

    assert everything(access_level=499).status_code == 3012
    assert everything(access_level=500).status == "success"


# -- what arrives


def test_the_list_of_all_cards_shows_a_message_after_one_second(issuer: Issuer) -> None:
    """Within this second, a concurrent writer may still add a row with an earlier time."""
    card, now = issuer.card().card_id, milliseconds(issuer.clock)
    old, young = message(issuer, card, now - _SECOND), message(issuer, card, now - _SECOND + 1)
    dates = {"date_from": now // _SECOND - 5, "date_to": now // _SECOND + 5}

    assert ids(report(issuer, "getCardsActivity", card, **dates)) == [old, young]
    assert ids(report(issuer, "getCardsActivity of all", card, **dates)) == [old]


@EVERY
def test_messages_that_arrive_during_paging_are_listed_once(issuer: Issuer, minute: int, listed: str) -> None:
    card = issuer.card().card_id
    written = [message(issuer, card, minute + later) for later in range(4)]

    def arriving(**members: Any) -> Envelope:
        if len(written) < 8:
            written.append(message(issuer, card, minute + len(written)))
        return report(issuer, listed, card, **within(minute), **members)

    pages = paged(arriving, "authorize_id", 2)

    assert [number for each in pages for number in each] == written


# -- what it takes


def test_a_page_requires_one_read_and_one_query_and_a_page_of_all_cards_requires_16_queries(
    issuer: Issuer, minute: int
) -> None:
    card = issuer.card().card_id
    number = message(issuer, card, minute)
    taken: dict[str, list[str]] = {}
    for listed in LISTED:
        with record_calls(issuer.causeway) as calls:
            report(issuer, listed, card, last_id=number)
        taken[listed] = calls

    assert taken == {
        "getCardsActivity": ["BatchGetItem", "Query"],
        "getFinancialAuthorizes": ["BatchGetItem", "Query"],
        "getCardsActivity of all": ["BatchGetItem", *["Query"] * 16],
    }


def test_a_duplicate_activity_request_returns_the_page_of_the_first_request(issuer: Issuer, minute: int) -> None:
    card, reference = issuer.card().card_id, issuer.reference()
    message(issuer, card, minute)
    asked = partial(report, issuer, "getCardsActivity of all", card, request_reference_id=reference, **within(minute))
    first = asked()
    message(issuer, card, minute + 1)

    with record_calls(issuer.causeway) as calls:
        again = asked()

    assert calls == ["BatchGetItem"]
    assert again.raw == first.raw.replace('"duplicated":0', '"duplicated":1')
