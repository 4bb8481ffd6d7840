"""Tests of British account numbers in consents: storing and comparing numbers follow the same rule."""

from typing import Any

import pytest

from chalicelib.foundation.dynamodb.store import Put
from chalicelib.foundation.jsontext import Number
from chalicelib.openbanking.records.consents import consent_key
from tests.openbanking.examples import BY_WEBHOOK, Json
from tests.openbanking.kit import VERSIONS, error_code
from tests.openbanking.relay import Relay, error_of

MEMBER = {1: "account_numbers", 2: "accountNumbers"}
WITH_SORT_CODE: list[Any] = [
    "31926819 040004",
    "31926819-040004",
    "31926819/040004",
    "040004 31926819",
    "040004-31926819",
    "040004/31926819",
    "04000431926819",
    4000431926819,
]
ALONE: list[Any] = ["31926819", 31926819]
NONE: list[Any] = [
    "",
    " ",
    "3192681",
    "319268190",
    "0400043192681",
    "31926819040004 ",
    "31926819  040004",
    "31926819.040004",
    "04-00-04 31926819",
    "040004 3192681",
    "31926819 04000",
    "31926819 040004 1",
    "GB33BUKB20201555555555",
    "\u0663\u0661\u0669\u0662\u0666\u0668\u0661\u0669",
    319268190,
    40004319268190000,
    -31926819,
    Number("31926819.0"),
    True,
    None,
    ["31926819"],
    {"account_number": "31926819"},
]


def consent(relay: Relay, version: int, *numbers: Any) -> Any:
    url = relay.causeway.tpp.authorize(version)["redirect_url"]
    body = relay.causeway.banks[version].consent_body(url, ibans=[])
    return relay.causeway.banks[version].call("/consent", body | {MEMBER[version]: list(numbers)})


@VERSIONS
def test_an_invalid_account_number_in_a_consent_returns_400(
    relay: Relay, version: int, subtests: pytest.Subtests
) -> None:
    for number in NONE:
        with subtests.test(repr(number)):
            answer = consent(relay, version, "31926819", number)
            assert error_code(answer, version) == (400, 4001 if version == 1 else "INVALID_MODEL_TYPE"), answer
            assert f"{MEMBER[version]}.1" in answer.text


@VERSIONS
@pytest.mark.parametrize("number", WITH_SORT_CODE + ALONE, ids=repr)
def test_a_consent_accepts_every_form_of_an_account_number(relay: Relay, version: int, number: Any) -> None:
    assert consent(relay, version, number).status == 200


ORDERS = [row for row in map(BY_WEBHOOK.get, ("/v2_payment_single", "/v2_payment_bulk")) if row]


def asked_of(relay: Relay, bearer: str, number: Any, sort_code: Any = None) -> list[int]:
    account: Json = {"account_number": number} | ({} if sort_code is None else {"sort_code": sort_code})
    statuses = [relay.call(row, row.request | {"debtor_account": account}, bearer=bearer).status for row in ORDERS]
    funds = BY_WEBHOOK["/v2_funds_confirmations"]
    return [*statuses, relay.call(funds, funds.request | {"account": account}, bearer=bearer).status]


@pytest.mark.parametrize("written", WITH_SORT_CODE, ids=repr)
def test_an_account_number_approved_with_its_sort_code_in_either_order_permits_payments(
    relay: Relay, written: Any
) -> None:
    bearer = relay.bearer_for(2, account_numbers=[written])

    assert asked_of(relay, bearer, "31926819", "040004") == [200] * 3
    assert asked_of(relay, bearer, 31926819, 40004) == [200] * 3
    for number, sort_code in (("31926819", "040005"), ("31926810", "040004"), ("04000431", "926819")):
        assert asked_of(relay, bearer, number, sort_code) == [403] * 3


@pytest.mark.parametrize("written", ALONE, ids=repr)
def test_an_account_number_approved_without_a_sort_code_permits_payments_with_any_sort_code(
    relay: Relay, written: Any
) -> None:
    bearer = relay.bearer_for(2, account_numbers=[written])

    assert asked_of(relay, bearer, "31926819", "040004") == [200] * 3
    assert asked_of(relay, bearer, "31926810", "040004") == [403] * 3


def test_account_numbers_without_leading_zeros_are_zero_padded(relay: Relay) -> None:
    bearer = relay.bearer_for(2, account_numbers=[1926819, 4000401926819, "31926819 040004"])

    told = relay.causeway.tpp.call("GET", "/tpp/consent", bearer=bearer).body["account_numbers"]

    assert told == ["01926819", "04000401926819", "31926819 040004"]
    assert asked_of(relay, bearer, 1926819, 40004) == [200] * 3


@pytest.mark.parametrize("stored", ["04-00-04 31926819", "sort code 040004, account 31926819", "No. 31926819"])
def test_consents_stored_in_an_older_format_permit_payments(relay: Relay, stored: str) -> None:
    bearer = relay.bearer_for(2, account_numbers=["31926819"])
    key = consent_key(bearer.partition("~")[0])
    item = relay.causeway.hub.store.get(*key)
    assert item is not None
    relay.causeway.hub.store.transact([Put(key[0], item | {"accounts": {"account_numbers": [stored]}})])

    assert asked_of(relay, bearer, "31926819", "040004") == [200] * 3
    refused = relay.call(ORDERS[0], ORDERS[0].request, bearer=bearer)
    assert error_of(refused)[:2] == (403, "SERVICE_BLOCKED")
