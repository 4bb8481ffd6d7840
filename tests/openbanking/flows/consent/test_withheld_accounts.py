"""Tests of account lists: the hub removes unapproved accounts and passes on all other data."""

from typing import Any

import pytest

from chalicelib.foundation.jsontext import Number
from tests.kit.logs import Lines
from tests.openbanking.examples import BY_WEBHOOK, OTHER_IBAN, Json
from tests.openbanking.kit import IBAN, VERSIONS
from tests.openbanking.relay import Relay

ROWS = {1: BY_WEBHOOK["/accounts"], 2: BY_WEBHOOK["/v2_accounts"]}
BASE: dict[int, Json] = {
    1: {"id": 1, "name": "Main", "iban": IBAN, "currency": "GBP"},
    2: {"resource_id": "r1", "currency": "GBP"},
}
ID = {1: "id", 2: "resource_id"}


def listed(relay: Relay, version: int, accounts: list[Json], **approved: list[Any]) -> list[Json]:
    row = ROWS[version]
    given = ({"status": "success"} if version == 1 else {}) | {"accounts": accounts}
    answer = relay.call(row, answer=given, bearer=relay.bearer_for(version, **approved))
    assert answer.status == 200, answer
    found: list[Json] = answer.body["accounts"]
    return found


def withheld(lines: Lines) -> list[int]:
    return [line["accounts"] for line in lines.all() if line["message"] == "accounts withheld"]


@VERSIONS
def test_an_account_with_an_unapproved_iban_is_withheld_and_logged(relay: Relay, version: int, lines: Lines) -> None:
    one, other = BASE[version] | {"iban": IBAN}, BASE[version] | {"iban": OTHER_IBAN}

    assert listed(relay, version, [other, one, other], ibans=[IBAN]) == [one]
    assert withheld(lines) == [2]
    assert OTHER_IBAN not in lines.text
    assert listed(relay, version, [other], ibans=[IBAN]) == []


@VERSIONS
@pytest.mark.parametrize("shown", ["gb33bukb20201555555555", "GB33 BUKB 2020 1555 5555 55"])
def test_an_account_with_an_approved_iban_in_lower_case_or_with_spaces_is_listed(
    relay: Relay, version: int, shown: str
) -> None:
    account = BASE[version] | {"iban": shown}

    assert listed(relay, version, [account], ibans=[IBAN]) == [account]


@VERSIONS
@pytest.mark.parametrize(("shown", "approved"), [(77, "77"), ("77", 77), (77, 77), ("a-1", "a-1")])
def test_an_account_with_an_approved_id_is_listed(relay: Relay, version: int, shown: Any, approved: Any) -> None:
    if version == 1 and shown == "a-1":
        shown = approved = "0077"
    account, other = BASE[version] | {ID[version]: shown}, BASE[version] | {ID[version]: 78}

    found = listed(relay, version, [account, other], account_ids=[approved])

    assert [str(each[ID[version]]) for each in found] == [str(shown)]


NUMBERS: list[tuple[Json, bool]] = [
    ({"account_number": "31926819", "sort_code": "040004"}, True),
    ({"account_number": 31926819, "sort_code": 40004}, True),
    ({"account_number": "31926819"}, True),
    ({"account_number": "31926819", "sort_code": "040005"}, False),
    ({"account_number": "31926810", "sort_code": "040004"}, False),
    ({}, True),
    ({"sort_code": "040005"}, True),
]


@VERSIONS
@pytest.mark.parametrize(("shown", "covered"), NUMBERS)
@pytest.mark.parametrize("approved", ["31926819 040004", "04000431926819"])
def test_an_account_with_an_approved_number_is_listed(
    relay: Relay, version: int, shown: Json, covered: bool, approved: str
) -> None:
    found = listed(relay, version, [BASE[version] | shown], account_numbers=[approved])

    assert len(found) == covered


@VERSIONS
def test_an_account_with_at_least_one_approved_identifier_is_listed(relay: Relay, version: int) -> None:
    account = BASE[version] | {"iban": OTHER_IBAN, ID[version]: 77}

    assert listed(relay, version, [account], ibans=[IBAN], account_ids=["77"])
    assert not listed(relay, version, [account], ibans=[IBAN], account_ids=["78"])


def test_an_account_without_any_identifier_of_the_approved_kinds_is_listed(relay: Relay) -> None:
    card = {"resource_id": "c1", "currency": "EUR", "name": "Card"}
    no_ibans: tuple[Any, ...] = (None, "", [], 7)
    odd: list[dict[str, Any]] = [{**card, "iban": iban} for iban in no_ibans]

    found = listed(relay, 2, [card, *odd], ibans=[IBAN])

    assert len(found) == 5
    assert listed(relay, 1, [BASE[1] | {"iban": OTHER_IBAN}], account_numbers=["31926819"])


def test_an_unapproved_account_in_camel_case_is_withheld(relay: Relay) -> None:
    accounts = [{"resourceId": 77, "currency": "EUR"}, {"resourceId": 78, "currency": "EUR"}]

    assert listed(relay, 2, accounts, account_ids=[78]) == [{"resource_id": "78", "currency": "EUR"}]


def test_a_version_1_account_whose_id_has_a_decimal_point_is_withheld(relay: Relay) -> None:
    assert listed(relay, 1, [BASE[1] | {"id": Number("77.5")}], account_ids=["77"]) == []
