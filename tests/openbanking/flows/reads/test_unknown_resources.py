"""Tests of accounts and payments unknown to the bank, which are errors of the caller and not failures of the bank."""

import json
from typing import Any

import pytest

from chalicelib.foundation.http.outbound import Reply
from chalicelib.openbanking.bank_client.bank_circuits import FAILURES
from chalicelib.openbanking.protocol import refusals
from chalicelib.statistics.call_counts import TABLE, HourlyCounters
from chalicelib.statistics.measurements import WRITE_INTERVAL
from tests.causeway import Answer, Causeway
from tests.openbanking.kit import always

V1 = {"status": "error", "error_code": 4001, "message": "there is no such payment"}
V2 = {"code": "RESOURCE_UNKNOWN", "title": "no such account"}
SCOPES = {
    1: ["account.details", "account.balance", "account.payments", "account.payment"],
    2: ["accounts", "accounts.balances", "accounts.transactions"],
}
CALLS = {
    1: {
        "/account_payment": "/tpp/account_payment?payment_id=77",
        "/account": "/tpp/account?account_id=1",
        "/account_balance": "/tpp/account_balance?account_id=1",
        "/account_payments": "/tpp/account_payments?account_id=1",
    },
    2: {
        "/v2_account": "/tpp/account?account_id=1",
        "/v2_account_balances": "/tpp/account_balance?account_id=1",
        "/v2_account_transactions": "/tpp/account_transactions?account_id=1&booking_status=booked&date_from=2026-01-01",
    },
}


class Caller:
    def __init__(self, causeway: Causeway, version: int) -> None:
        self.causeway = causeway
        self.version = version
        scopes = SCOPES[version]
        asked = causeway.tpp.authorize(version, scopes=scopes)
        members = {"scopes": scopes, "ibans": None, "account_ids": ["1"]}
        body = {
            name: value
            for name, value in causeway.banks[version].consent_body(asked["redirect_url"], **members).items()
            if value
        }
        saved = causeway.banks[version].call("/consent", body)
        code = saved.text.partition("code=")[2].partition("&")[0]
        self.bearer = causeway.tpp.call("POST", "/tpp/token", {"code": code}).body["access_token"]

    def ask(self, path: str, status: int, body: Any) -> Answer:
        self.causeway.banks[self.version].answers[path] = always(Reply(status, json.dumps(body).encode(), {}, 0.01))
        return self.causeway.tpp.call("GET", CALLS[self.version][path], bearer=self.bearer)


@pytest.mark.parametrize("status", [200, 400, 404])
def test_a_query_for_a_payment_that_a_version_1_bank_does_not_know_returns_404(causeway: Causeway, status: int) -> None:
    answer = Caller(causeway, 1).ask("/account_payment", status, V1)

    assert (answer.status, answer.body["code"]) == (404, "RESOURCE_UNKNOWN")
    assert answer.body["title"] == refusals.RESOURCE_UNKNOWN_TO_BANK().message
    assert answer.body["additionalErrors"] == [
        {
            "code": "ASPSP_ERROR_DESC",
            "title": "The bank's own description of the error",
            "details": "4001: there is no such payment",
        }
    ]


@pytest.mark.parametrize(
    ("version", "path", "status", "body"),
    [
        *((1, path, 404, V1 | {"error_code": 77}) for path in CALLS[1]),
        *((1, path, 400, V1) for path in CALLS[1]),
        *((2, path, 404, {"code": "NO_SUCH_THING", "title": "no"}) for path in CALLS[2]),
        *((2, path, 400, V2) for path in CALLS[2]),
    ],
)
def test_a_query_for_an_account_or_a_payment_that_the_bank_does_not_know_returns_404(
    causeway: Causeway, version: int, path: str, status: int, body: Any
) -> None:
    answer = Caller(causeway, version).ask(path, status, body)

    assert (answer.status, answer.body["code"]) == (404, "RESOURCE_UNKNOWN")


@pytest.mark.parametrize(
    ("version", "path", "status", "body"),
    [
        (1, "/account", 400, V1 | {"error_code": 4004}),
        (1, "/account_payment", 400, V1 | {"error_code": 4003}),
        (1, "/account_payment", 503, V1),
        (1, "/account_payment", 429, V1),
        (1, "/account_payment", 404, V1 | {"error_code": 4000}),
        (1, "/account_payment", 404, {"message": "no route"}),
        (2, "/v2_account", 500, V2),
        (2, "/v2_account", 429, V2),
        (2, "/v2_account", 404, {"code": "INTERNAL_SERVER_ERROR", "title": "no"}),
        (2, "/v2_account", 404, {"detail": "no route"}),
    ],
)
def test_a_bank_refusal_for_a_reason_other_than_an_unknown_resource_returns_502(
    causeway: Causeway, version: int, path: str, status: int, body: Any
) -> None:
    answer = Caller(causeway, version).ask(path, status, body)

    assert (answer.status, answer.body["code"]) == (502, "ASPSP_UNKNOWN_ERROR")


def test_queries_for_unknown_payments_neither_open_the_circuit_nor_count_as_bank_failures(causeway: Causeway) -> None:
    caller = Caller(causeway, 1)
    causeway.writes_measurements()
    answers = [caller.ask("/account_payment", 404, V1) for _ in range(FAILURES + 1)]
    causeway.clock.advance(WRITE_INTERVAL)
    answers.append(caller.ask("/account_payment", 404, V1))

    assert {answer.status for answer in answers} == {404}
    assert len([sent for sent in causeway.banks[1].received if sent.path == "/account_payment"]) == FAILURES + 2
    counts = [
        HourlyCounters.from_item(item) for item in causeway.hub.store.scan(TABLE) if item.keys() >= {"bic", "counts"}
    ]
    tallies = [each for hour in counts for services in hour.minutes.values() for each in services.values()]
    assert sum(each.caller_failures for each in tallies) == FAILURES + 2
    assert sum(each.bank_failures for each in tallies) == 0
