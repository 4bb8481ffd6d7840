"""Tests of account queries: account identifiers, page parameters and periods."""

import pytest

from chalicelib.foundation.jsontext import loads
from tests.openbanking.examples import BY_WEBHOOK, OTHER_IBAN
from tests.openbanking.kit import IBAN
from tests.openbanking.relay import Relay, error_of

PAGES = [
    ("/account_payments", "account_id=A-1", {"record_count": 100, "current_page": 1}),
    ("/account_payments", "account_id=A-1&record_count=1&current_page=999", {"record_count": 1, "current_page": 999}),
    ("/account_payments", "account_id=A-1&record_count=100", {"record_count": 100, "current_page": 1}),
    ("/v2_account_transactions", "account_id=A-1&booking_status=booked", {"page_size": 100}),
    ("/v2_account_transactions", "account_id=A-1&booking_status=booked&page_size=999", {"page_size": 999}),
]


@pytest.mark.parametrize(("webhook", "query", "sent"), PAGES)
def test_the_page_parameters_have_default_values_and_maximum_values(
    relay: Relay, webhook: str, query: str, sent: dict[str, int]
) -> None:
    row = BY_WEBHOOK[webhook]

    assert relay.call(row, raw_query=query).status == 200
    body = loads(relay.received(row)[0].body)
    assert {name: body[name] for name in ("record_count", "current_page", "page_size") if name in body} == sent


@pytest.mark.parametrize("status", ["booked", "pending", "both"])
def test_the_booking_status_of_a_query_is_sent_to_the_bank(relay: Relay, status: str) -> None:
    row = BY_WEBHOOK["/v2_account_transactions"]

    assert relay.call(row, {"account_id": "A-1", "booking_status": status}).status == 200
    assert loads(relay.received(row)[0].body)["booking_status"] == status


def test_one_day_period_is_valid_and_a_reversed_period_returns_400(relay: Relay) -> None:
    row = BY_WEBHOOK["/v2_account_transactions"]
    forward = row.request | {"date_from": "2026-01-31", "date_to": "2026-01-31"}

    assert relay.call(row, forward).status == 200
    answer = relay.call(row, forward | {"date_from": "2026-02-01"})
    assert error_of(answer)[:2] == (400, "PARAMETER_NOT_CONSISTENT")
    assert relay.received(row) == []


@pytest.mark.parametrize("webhook", ["/account", "/account_balance", "/account_payments"])
def test_a_version_1_account_query_without_an_iban_and_without_an_account_id_returns_400(
    relay: Relay, webhook: str
) -> None:
    row = BY_WEBHOOK[webhook]

    answer = relay.call(row, raw_query="")

    assert error_of(answer)[:2] == (400, "PARAMETER_NOT_CONSISTENT")
    assert "iban or account_id" in answer.body["title"]
    assert relay.received(row) == []


@pytest.mark.parametrize("webhook", ["/account", "/account_balance", "/account_payments"])
def test_a_version_1_account_query_sends_the_iban_and_the_account_id_to_the_bank(relay: Relay, webhook: str) -> None:
    row = BY_WEBHOOK[webhook]

    assert relay.call(row, raw_query=f"iban={IBAN}&account_id=A-1").status == 200

    sent = loads(relay.received(row)[0].body)
    assert (sent["iban"], sent["account_id"]) == (IBAN, "A-1")


@pytest.mark.parametrize("webhook", ["/account", "/account_balance", "/account_payments"])
@pytest.mark.parametrize(("iban", "account_id"), [(IBAN, "A-2"), (OTHER_IBAN, "A-1")])
def test_a_version_1_account_query_with_one_unapproved_identifier_returns_403(
    relay: Relay, webhook: str, iban: str, account_id: str
) -> None:
    row = BY_WEBHOOK[webhook]
    bearer = relay.bearer_for(1, ibans=[IBAN], account_ids=["A-1"])

    answer = relay.call(row, raw_query=f"iban={iban}&account_id={account_id}", bearer=bearer)

    assert error_of(answer)[:2] == (403, "SERVICE_BLOCKED")
    assert relay.received(row) == []


@pytest.mark.parametrize("webhook", ["/account", "/account_balance", "/account_payments"])
@pytest.mark.parametrize("spelling", [IBAN, IBAN.lower(), "GB33 BUKB 2020 1555 5555 55"])
def test_an_iban_reaches_the_bank_in_upper_case_without_spaces(relay: Relay, webhook: str, spelling: str) -> None:
    row = BY_WEBHOOK[webhook]

    assert relay.call(row, {"iban": spelling}).status == 200
    body = loads(relay.received(row)[0].body)
    assert body["iban"] == IBAN
    assert "account_id" not in body


@pytest.mark.parametrize("webhook", ["/v2_account", "/v2_account_balances", "/v2_account_transactions"])
@pytest.mark.parametrize("account_id", ["", "&account_id=A-1"])
def test_a_version_2_account_query_with_an_iban_returns_400(relay: Relay, webhook: str, account_id: str) -> None:
    row = BY_WEBHOOK[webhook]

    answer = relay.call(row, raw_query=f"iban={IBAN}&booking_status=both{account_id}")

    status, code, additional = error_of(answer)
    assert (status, code) == (400, "PARAMETER_NOT_CONSISTENT")
    assert ("EXTRA_FIELDS_PROVIDED", "iban is not recognised") in [
        (each["code"], each["details"]) for each in additional
    ]
    assert relay.received(row) == []
