"""Unified lists of transactions: parameters, cursors, entries that come again, and pages without an end."""

from collections.abc import Sequence
from typing import Any

import pytest

from chalicelib.foundation import jsontext
from chalicelib.openbanking.unified.transaction_cursors import PageState, cursor_reader
from tests.causeway import Answer
from tests.openbanking.examples import OTHER_IBAN
from tests.openbanking.kit import IBAN, VERSIONS
from tests.openbanking.relay import Relay, details_of
from tests.openbanking.unified.transaction_lists import answer, entry, ids, ordinals
from tests.openbanking.unified_reads import ACCOUNT_ID, UNIFIED, call, read

PATH = "transactions"


def page(version: int, *entries: Any, key: Any = None, **lists: Any) -> dict[str, Any]:
    """Return a page of a bank, with the key of the next page at a version 2 bank."""
    more = {} if version == 1 or key is None else {"page_key": key}
    return ({"status": "success"} if version == 1 else {}) | answer(version, *entries, **lists, **more)


def sent(relay: Relay, version: int) -> Any:
    """Return the only request that the bank received from the last call."""
    (received,) = relay.received(UNIFIED[version, PATH])
    return jsontext.loads(received.body)


# -- parameters

REQUESTS: dict[str, tuple[dict[str, Any], dict[str, Any], dict[str, Any]]] = {
    "none": ({}, {"record_count": 100, "current_page": 1}, {"booking_status": "both", "page_size": 100}),
    "all": (
        {"status": "all", "limit": 100},
        {"record_count": 100, "current_page": 1},
        {"booking_status": "both", "page_size": 100},
    ),
    "booked": (
        {"status": "booked", "limit": 1},
        {"record_count": 1, "current_page": 1},
        {"booking_status": "booked", "page_size": 1},
    ),
    "pending": (
        {"status": "pending", "from": "2026-01-01", "to": "2026-01-31"},
        {"record_count": 100, "current_page": 1},
        {"booking_status": "pending", "page_size": 100, "date_from": "2026-01-01", "date_to": "2026-01-31"},
    ),
    "one day": (
        {"from": "2026-01-31", "to": "2026-01-31"},
        {"record_count": 100, "current_page": 1},
        {"booking_status": "both", "page_size": 100, "date_from": "2026-01-31", "date_to": "2026-01-31"},
    ),
}


@VERSIONS
@pytest.mark.parametrize(("query", "first", "second"), REQUESTS.values(), ids=REQUESTS)
def test_parameters_reach_the_bank_in_its_version(
    relay: Relay, version: int, query: dict[str, Any], first: dict[str, Any], second: dict[str, Any]
) -> None:
    read(relay, version, PATH, page(version), **query)

    assert sent(relay, version) == {"account_id": ACCOUNT_ID} | (first if version == 1 else second)


@VERSIONS
@pytest.mark.parametrize(
    ("query", "named"),
    [
        ({"from": "2026-02-30"}, "from"),
        ({"from": "31.01.2026"}, "from"),
        ({"from": ""}, "from"),
        ({"to": "2026-01-31T00:00:00"}, "to"),
        ({"to": "tomorrow"}, "to"),
        ({"from": "2026-02-01", "to": "2026-01-31"}, "from"),
        ({"status": "both"}, "status"),
        ({"status": "BOOKED"}, "status"),
        ({"status": ""}, "status"),
        ({"limit": "0"}, "limit"),
        ({"limit": "101"}, "limit"),
        ({"limit": "-1"}, "limit"),
        ({"limit": "1.0"}, "limit"),
        ({"limit": "x"}, "limit"),
        ({"cursor": "x"}, "cursor"),
        ({"cursor": "x" * 4096}, "cursor"),
        ({"cursor": "x" * 4097}, "cursor"),
        ({"cursor": "AAAA.AAAA"}, "cursor"),
        ({"native": "2"}, "native"),
    ],
)
def test_invalid_parameter_is_refused_by_name(relay: Relay, version: int, query: dict[str, str], named: str) -> None:
    refused = call(relay, version, PATH, **query)

    assert (refused.status, refused.body["code"]) == (400, "PARAMETER_NOT_CONSISTENT")
    assert named in refused.body["title"]
    assert relay.received(UNIFIED[version, PATH]) == []


@pytest.mark.parametrize(
    ("query", "listed"),
    [
        ({}, ["B29", "B30", "B31", "B", "P31"]),
        ({"from": "2026-01-30"}, ["B30", "B31", "B", "P31"]),
        ({"to": "2026-01-30"}, ["B29", "B30", "B"]),
        ({"from": "2026-01-30", "to": "2026-01-30"}, ["B30", "B"]),
        ({"status": "booked"}, ["B29", "B30", "B31", "B"]),
        ({"status": "pending"}, ["P31"]),
        ({"status": "pending", "to": "2026-01-30"}, []),
    ],
)
def test_version_1_lists_are_filtered_by_the_hub(relay: Relay, query: dict[str, Any], listed: list[str]) -> None:
    rows = [entry(1, f"B{day}", date_created=f"2026-01-{day}") for day in (29, 30, 31)]
    pending = [entry(1, "P31", date_created="2026-01-31")]

    body = read(relay, 1, PATH, page(1, *rows, entry(1, "B", date_created="soon"), pending=pending), **query)

    assert (ids(body["transactions"]), body["problems"]) == (listed, [])


def test_version_2_lists_are_filtered_by_the_bank(relay: Relay) -> None:
    body = read(relay, 2, PATH, page(2, entry(2, "B")), **{"from": "2026-02-01", "to": "2026-02-02"})

    assert ids(body["transactions"]) == ["B"]


# -- cursors


def next_page(relay: Relay, version: int, response: Any, cursor: str | None, **query: Any) -> Any:
    return read(relay, version, PATH, response, **({} if cursor is None else {"cursor": cursor}), **query)


def walk(relay: Relay, version: int, pages: Sequence[dict[str, Any]], **query: Any) -> list[Any]:
    """Return the bodies of all pages, which the bank sends one after the other."""
    cursor, found = None, []
    for response in pages:
        found.append(next_page(relay, version, response, cursor, **query))
        cursor = found[-1]["next_cursor"]
    assert cursor is None
    return found


@pytest.mark.parametrize("key", ["n-2", "a/b %?#=&+ü", "k" * 1024])
def test_cursor_of_version_2_leads_to_the_page_of_the_key(relay: Relay, key: str) -> None:
    cursor = read(relay, 2, PATH, page(2, entry(2), key=key), limit=7, status="booked")["next_cursor"]

    next_page(relay, 2, page(2), cursor, limit=7, status="booked")

    assert sent(relay, 2) == {"account_id": ACCOUNT_ID, "booking_status": "booked", "page_size": 7, "page_key": key}


def test_cursor_of_version_1_leads_to_the_next_number(relay: Relay) -> None:
    cursor = None
    for number in (1, 2, 3):
        cursor = next_page(relay, 1, page(1, entry(1, f"P-{number}")), cursor, limit=1)["next_cursor"]

        assert sent(relay, 1) == {"account_id": ACCOUNT_ID, "record_count": 1, "current_page": number}
    assert next_page(relay, 1, page(1), cursor, limit=1)["next_cursor"] is None


@VERSIONS
def test_cursor_is_valid_for_its_query_only(relay: Relay, version: int) -> None:
    query = {"account_id": ACCOUNT_ID, "from": "2026-01-01", "to": "2026-01-31", "status": "booked", "limit": "1"}
    cursor = read(relay, version, PATH, page(version, entry(version), key="n-2"), **query)["next_cursor"]

    for name, value in {
        "account_id": "A-2",
        "from": "2026-01-02",
        "to": "2026-01-30",
        "status": "all",
        "limit": "2",
    }.items():
        others = [query | {name: value}]
        others += [{each: query[each] for each in query if each != name}] if name != "account_id" else []
        for other in others:
            refused = call(relay, version, PATH, cursor=cursor, **other)
            assert (refused.status, refused.body["code"]) == (400, "PARAMETER_NOT_CONSISTENT")
            assert "cursor" in refused.body["title"]
            assert relay.received(UNIFIED[version, PATH]) == []
    next_page(relay, version, page(version), cursor, **query)


@VERSIONS
def test_parameters_that_are_left_out_equal_their_defaults_for_a_cursor(relay: Relay, version: int) -> None:
    rows = [entry(version, f"E-{number}") for number in range(100)]
    cursor = read(relay, version, PATH, page(version, *rows, key="n-2"))["next_cursor"]

    next_page(relay, version, page(version), cursor, status="all", limit=100)
    next_page(relay, version, page(version), cursor)


@VERSIONS
def test_native_may_change_from_page_to_page(relay: Relay, version: int) -> None:
    first, second = entry(version, "1"), entry(version, "2")
    cursor = read(relay, version, PATH, page(version, first, key="n-2"), limit=1)["next_cursor"]

    body = next_page(relay, version, page(version, second, key="n-3"), cursor, limit=1, native="1")
    assert [each["native"] for each in body["transactions"]] == [second]

    body = next_page(relay, version, page(version, first), body["next_cursor"], limit=1)
    assert "native" not in body["transactions"][0]


@VERSIONS
def test_cursor_of_another_consent_is_refused(relay: Relay, version: int) -> None:
    cursor = read(relay, version, PATH, page(version, entry(version), key="n-2"), limit=1)["next_cursor"]
    bearer = relay.bearer_for(version, ibans=[IBAN, OTHER_IBAN])

    refused = call(relay, version, PATH, page(version), bearer, cursor=cursor, limit=1)

    assert (refused.status, refused.body["code"]) == (400, "PARAMETER_NOT_CONSISTENT")


@VERSIONS
def test_altered_cursor_is_refused(relay: Relay, version: int) -> None:
    cursor = read(relay, version, PATH, page(version, entry(version), key="n-2"), limit=1)["next_cursor"]
    for altered in (cursor[:-1], cursor + "A", "A" + cursor, cursor.swapcase(), cursor.replace(".", "A.", 1)):
        refused = call(relay, version, PATH, cursor=altered, limit=1)

        assert (refused.status, refused.body["code"]) == (400, "PARAMETER_NOT_CONSISTENT")


def test_longest_cursor_has_at_most_4096_characters_and_is_accepted(relay: Relay) -> None:
    rows = [entry(2, f"E-{number}") for number in range(300)]
    body = read(relay, 2, PATH, page(2, *rows, pending=rows, key="ü" * 512))

    assert len(body["next_cursor"]) <= 4096
    next_page(relay, 2, page(2), body["next_cursor"])
    assert sent(relay, 2)["page_key"] == "ü" * 512


# -- entries that come again


def test_payment_that_arrives_between_two_pages_of_version_1_lists_nothing_twice(relay: Relay) -> None:
    rows = [entry(1, f"P-{number}") for number in range(8)]  # the first one arrives after the first page

    found = walk(relay, 1, [page(1, *rows[1:4]), page(1, *rows[3:6]), page(1, *rows[6:])], limit=3)

    assert [ids(body["transactions"]) for body in found] == [["P-1", "P-2", "P-3"], ["P-4", "P-5"], ["P-6", "P-7"]]
    assert [body["problems"] for body in found] == [[], [], []]
    keys = [each["stable_key"] for body in found for each in body["transactions"]]
    assert len({*keys}) == 7


@VERSIONS
@pytest.mark.parametrize("have_ids", [True, False])
def test_two_equal_coffees_across_a_page_boundary_are_two_transactions(
    relay: Relay, version: int, have_ids: bool
) -> None:
    none = " " if version == 1 else ...
    coffees = [entry(version, f"C-{number}" if have_ids else none, "-3.20") for number in (1, 2)]

    found = walk(
        relay,
        version,
        [page(version, coffees[0], key="n-2"), page(version, coffees[1], key="n-3"), page(version)],
        limit=1,
    )

    listed = [each for body in found for each in body["transactions"]]
    assert len(listed) == 2
    assert ordinals(listed) == ([1, 1] if have_ids else [1, 2])
    assert listed[0]["stable_key"] != listed[1]["stable_key"]


@VERSIONS
def test_equal_coffees_have_the_same_keys_in_every_order_and_page_size(relay: Relay, version: int) -> None:
    none = " " if version == 1 else ...
    coffee, other = entry(version, none, "-3.20"), entry(version, "E-1")

    in_one = read(relay, version, PATH, page(version, coffee, other, coffee))["transactions"]
    in_two = walk(relay, version, [page(version, other, coffee, key="n-2"), page(version, coffee)], limit=2)

    keys = sorted(each["stable_key"] for body in in_two for each in body["transactions"])
    assert sorted(each["stable_key"] for each in in_one) == keys


@VERSIONS
def test_stable_key_is_the_documented_one(relay: Relay, version: int) -> None:
    body = read(relay, version, PATH, page(version, entry(version, "2026-000123")), account_id="4711001")

    assert [each["stable_key"] for each in body["transactions"]] == ["64055ebf6727aafa8aee39751ca54443.1"]


# -- pages without an end


def reason_of(refused: Answer) -> str:
    """Return the reason code of a 502 about the pages of a bank."""
    assert details_of(refused) != ""
    reason: str = refused.body["reason_code"]
    return reason


def test_page_key_that_was_just_used_returns_502(relay: Relay) -> None:
    cursor = read(relay, 2, PATH, page(2, entry(2, "1"), key="n-2"))["next_cursor"]

    assert reason_of(call(relay, 2, PATH, page(2, entry(2, "2"), key="n-2"), cursor=cursor)) == "page_repeated"


def test_repeated_page_of_version_2_returns_502_at_once(relay: Relay) -> None:
    rows = [entry(2, "1"), entry(2, "2")]
    cursor = read(relay, 2, PATH, page(2, *rows, key="n-2"))["next_cursor"]

    assert reason_of(call(relay, 2, PATH, page(2, *rows, key="n-3"), cursor=cursor)) == "page_repeated"


def test_third_of_three_equal_pages_of_version_1_returns_502(relay: Relay) -> None:
    rows = page(1, entry(1, "1"), entry(1, "2"))
    first = read(relay, 1, PATH, rows, limit=2)
    second = next_page(relay, 1, rows, first["next_cursor"], limit=2)

    assert second["transactions"] == []
    assert reason_of(call(relay, 1, PATH, rows, cursor=second["next_cursor"], limit=2)) == "page_repeated"


def test_twentieth_empty_page_of_version_2_returns_502(relay: Relay) -> None:
    cursor = None
    for number in range(19):
        body = next_page(relay, 2, page(2, key=f"n-{number}"), cursor)
        cursor = body["next_cursor"]
        assert body["transactions"] == []

    assert reason_of(call(relay, 2, PATH, page(2, key="n-20"), cursor=cursor)) == "pages_empty"


def test_page_after_999_of_version_1_returns_502_without_a_bank_call(relay: Relay) -> None:
    consent_id = relay.bearer(1).partition("~")[0]
    reader = cursor_reader(consent_id, ACCOUNT_ID, ["", "", "all", "1"])
    cursor = relay.causeway.hub.openbanking.transaction_cursors.sign(reader, PageState("999"))

    body = next_page(relay, 1, page(1, entry(1)), cursor, limit=1)
    assert sent(relay, 1)["current_page"] == 999

    refused = call(relay, 1, PATH, page(1), cursor=body["next_cursor"], limit=1)
    assert (refused.status, refused.body["code"], refused.body["reason_code"]) == (
        502,
        "ASPSP_UNKNOWN_ERROR",
        "pages_too_many",
    )
    assert relay.received(UNIFIED[1, PATH]) == []


def test_page_key_of_more_than_1024_bytes_returns_502(relay: Relay) -> None:
    assert reason_of(call(relay, 2, PATH, page(2, entry(2), key="ü" * 513))) == "page_key_too_long"


def test_reason_code_is_absent_from_other_failures_of_a_bank(relay: Relay) -> None:
    refused = call(relay, 2, PATH, {"transactions": None})

    assert details_of(refused) != ""
    assert "reason_code" not in refused.body


def test_paginator_of_version_1_may_be_a_list_of_objects(relay: Relay) -> None:
    body = read(relay, 1, PATH, page(1, entry(1), paginator=[{"limit": 1}, {"current_page": 1}]))

    assert body["next_cursor"] is not None


def test_page_of_version_1_without_a_paginator_is_accepted(relay: Relay) -> None:
    response = page(1, entry(1))
    del response["paginator"]

    assert read(relay, 1, PATH, response)["next_cursor"] is None
    assert read(relay, 1, PATH, response, limit=1)["next_cursor"] is not None
