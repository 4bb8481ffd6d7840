"""Tests of response members: known identifiers become text with snake_case names, and other members are unchanged."""

from collections.abc import Iterable
from typing import Any

import pytest

from chalicelib.foundation.jsontext import Number
from tests.kit.logs import Lines
from tests.openbanking.examples import ROWS, Json, Row, spelled, value_of, with_value
from tests.openbanking.kit import in_camel_case
from tests.openbanking.relay import Relay, handed_on, json_bytes, logged_problems
from tests.openbanking.specification import Member

WIDTHS = {"sort_code": 6, "account_number": 8}


def identified(rows: Iterable[Row]) -> list[Any]:
    return [
        pytest.param(row, member, id=f"{row}-{member.path}")
        for row in rows
        for member in row.table.answer
        if member.identifies
    ]


@pytest.mark.parametrize(("row", "member"), identified(ROWS))
@pytest.mark.parametrize("number", [4711, 0, 12345678])
def test_a_numeric_identifier_reaches_the_tpp_as_a_string_of_digits(
    relay: Relay, row: Row, member: Member, number: int, lines: Lines
) -> None:
    number = int(str(number)[: member.length])
    digits = str(number).zfill(WIDTHS.get(member.name, 0))

    answer = relay.call(row, answer=with_value(row.answer, member, number))

    assert answer.status == 200, answer
    assert spelled(answer.text) == spelled(json_bytes(handed_on(row, with_value(row.answer, member, digits))))
    assert logged_problems(lines) == []


@pytest.mark.parametrize(("row", "member"), identified(row for row in ROWS if row.version == 2))
def test_a_numeric_identifier_in_camel_case_reaches_the_tpp_as_a_string_of_digits(
    relay: Relay, row: Row, member: Member
) -> None:
    given = with_value(row.answer, member, 171)
    digits = "171".zfill(WIDTHS.get(member.name, 0))

    answer = relay.call(row, answer=in_camel_case(given))

    assert value_of(answer.body, member) == digits


@pytest.mark.parametrize(
    "row", [row for row in ROWS if any(m.path.endswith("].account_number") for m in row.table.answer)], ids=str
)
def test_string_of_digits_reaches_the_tpp_without_padding(relay: Relay, row: Row) -> None:
    members = [member for member in row.table.answer if member.name in WIDTHS]

    for member in members:
        answer = relay.call(row, answer=with_value(row.answer, member, "17"))
        assert value_of(answer.body, member) == "17"


def test_a_version_1_account_number_without_a_sort_code_is_not_padded(relay: Relay) -> None:
    row = next(row for row in ROWS if row.webhook == "/account_payment")
    given = row.answer
    party = given["payment"]["additional_data"][0]["sender_data"]
    party["account_number"] = 4711
    del party["sort_code"]

    answer = relay.call(row, answer=given)

    assert answer.body["payment"]["additional_data"][0]["sender_data"]["account_number"] == "4711"


@pytest.mark.parametrize("webhook", ["/accounts", "/account", "/account_balance"])
@pytest.mark.parametrize("written", [77, "77", Number("77.0")])
def test_a_version_1_account_id_reaches_the_tpp_unchanged(relay: Relay, webhook: str, written: Any) -> None:
    row = next(row for row in ROWS if row.webhook == webhook)
    member = next(member for member in row.table.answer if member.name == "id")
    given = with_value(row.answer, member, written)

    assert spelled(relay.call(row, answer=given).text) == spelled(json_bytes(handed_on(row, given)))


# -- members that the tables do not have

UNKNOWN: Json = {
    "ownerID": 7,
    "ownDetail": {"innerValue": {"resourceId": 8, "byKey": {"aB": 1, "EUR-USD": 2}}},
    "own_list": [{"someKey": 1}, [{"someKey": 2}]],
    "paymentID": 9,
}


@pytest.mark.parametrize("row", [row for row in ROWS if "funds" not in row.webhook], ids=str)
@pytest.mark.parametrize("camel", [False, True])
def test_names_of_unknown_response_members_are_unchanged_at_every_depth(relay: Relay, row: Row, camel: bool) -> None:
    if camel and row.version == 1:
        return
    known = row.answer
    expected = with_unknown(known)

    answer = relay.call(row, answer=with_unknown(in_camel_case(known) if camel else known))

    assert answer.status == 200, answer
    assert spelled(answer.text) == spelled(json_bytes(handed_on(row, expected)))


def with_unknown(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: with_unknown(inner) for name, inner in value.items()} | UNKNOWN
    return [with_unknown(inner) for inner in value] if isinstance(value, list) else value


@pytest.mark.parametrize("row", [row for row in ROWS if row.version == 2 and "funds" not in row.webhook], ids=str)
def test_a_member_in_camel_case_and_snake_case_has_the_snake_case_value_and_is_logged(
    relay: Relay, row: Row, lines: Lines, subtests: pytest.Subtests
) -> None:
    spellings = [(member, in_camel_case({member.name: 0}).popitem()[0]) for member in row.table.answer]
    for member, camel in spellings:
        with subtests.test(member.path):
            if camel == member.name:
                continue
            given, before = row.answer, len(logged_problems(lines))
            holder: Any = given
            for step in member.place[:-1]:
                holder = holder[step]
            for both in ({camel: [{}], **holder}, {**holder, camel: "other"}):
                holder.clear()
                holder.update(both)
                answer = relay.call(row, answer=given)
                assert answer.status == 200, answer
                assert spelled(answer.text) == spelled(json_bytes(handed_on(row, row.answer)))
            problems = logged_problems(lines)[before:]
            assert len(problems) == 2
            assert all(problem.startswith(f"{member.shown} is present in both spellings") for problem in problems)


def test_an_unknown_member_in_camel_case_and_snake_case_reaches_the_tpp_as_two_members(relay: Relay) -> None:
    row = next(row for row in ROWS if row.webhook == "/v2_account")
    given = row.answer | {"own_detail": 1, "ownDetail": 2}

    assert spelled(relay.call(row, answer=given).text) == spelled(json_bytes(given))
