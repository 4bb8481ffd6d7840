"""Balances of version 1 banks, of which a unified read lists those of the requested account."""

from typing import Any

import pytest

from tests.openbanking.relay import Relay
from tests.openbanking.unified_reads import bank_list, read


def record(account_id: Any, balance: str = "1.00", **members: Any) -> dict[str, Any]:
    return {"id": account_id, "name": "Main", "balance": balance, "currency": "GBP", **members}


RECORDS: dict[str, tuple[Any, list[str]]] = {
    "the requested one": ([record("70", "0"), record("77", "1"), record("9", "2")], ["1"]),
    "two of the account": ([record("77", "1"), record("9", "2"), record("77", "3")], ["1", "3"]),
    "the only one, with another id": ([record("9", "2")], ["2"]),
    "an object": (record("9", "2"), ["2"]),
    "none": ([], []),
}
NOT_FOUND = {"position": "accounts", "member": "id", "reason": "is the requested account in no entry"}


@pytest.mark.parametrize(("accounts", "balances"), RECORDS.values(), ids=RECORDS)
def test_balance_of_version_1_is_that_of_the_requested_account(
    relay: Relay, accounts: Any, balances: list[str]
) -> None:
    body = read(relay, 1, "balances", {"status": "success", "accounts": accounts}, account_id="77")

    assert [each["amount"]["value"] for each in body["balances"]] == balances
    assert body["problems"] == []


def test_balance_of_version_1_may_be_an_account(relay: Relay) -> None:
    body = read(relay, 1, "balances", {"status": "success", "account": record("9", "2")})

    assert [each["amount"]["value"] for each in body["balances"]] == ["2"]


def test_id_of_a_balance_may_be_a_number(relay: Relay) -> None:
    answer = bank_list(1, "balances", [record(77, "1"), record(770, "2")])

    assert [each["amount"]["value"] for each in read(relay, 1, "balances", answer, account_id="770")["balances"]] == [
        "2"
    ]


@pytest.mark.parametrize("other", [record("0077"), record(31926801)])
def test_several_records_of_other_accounts_are_reported_as_a_problem(relay: Relay, other: Any) -> None:
    body = read(relay, 1, "balances", bank_list(1, "balances", [record("9"), other]), account_id="77")

    assert (body["balances"], body["problems"]) == ([], [NOT_FOUND])


def test_unusable_record_of_version_1_is_reported_beside_that_of_the_account(relay: Relay) -> None:
    odd = record("9", "12,50")

    body = read(relay, 1, "balances", bank_list(1, "balances", [odd, record("77", "1"), None]), account_id="77")

    assert [each["amount"]["value"] for each in body["balances"]] == ["1"]
    assert body["problems"] == [
        {"position": "accounts[0]", "member": "balance", "reason": "must be a number"},
        {"position": "accounts[2]", "member": None, "reason": "must be an object"},
    ]


def test_unusable_record_of_the_account_is_not_replaced_by_another(relay: Relay) -> None:
    body = read(relay, 1, "balances", bank_list(1, "balances", [record("9"), record("77", "12,50")]), account_id="77")

    assert body["balances"] == []
    assert body["problems"] == [{"position": "accounts[1]", "member": "balance", "reason": "must be a number"}]
