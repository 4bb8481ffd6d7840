"""Tests of measurements: each counted request has a bank, a service and, after a failure, the party at fault."""

import threading
from dataclasses import replace
from typing import Any

import pytest

from chalicelib.foundation.http.outbound import ConnectionDropped, NotReached, Reply, ResponseTooLarge, TimedOut
from chalicelib.openbanking.protocol.v1_version import REVOKE_TOKEN
from chalicelib.openbanking.protocol.versions import VERSIONS
from chalicelib.openbanking.protocol.webhooks import PAYMENTS, RELAYED
from chalicelib.statistics import current_call
from infra.render.openapi.own_calls import webhooks_of
from tests.causeway import Causeway
from tests.kit import logs
from tests.kit.storage import record_calls
from tests.kit.time import PATIENCE_SECONDS
from tests.openbanking.accounts import Aisp, limit_reads, open_circuit
from tests.openbanking.call_measurements import (
    BIC,
    LATER,
    counters,
    deliver,
    error,
    expected_counts,
    measure_counts,
    sum_counts,
)
from tests.openbanking.examples import ROWS
from tests.openbanking.relay import Relay

BOTH_VERSIONS = pytest.mark.parametrize("version", [1, 2])
SERVICES = {
    "accounts": "AISP",
    "account": "AISP",
    "account_balance": "AISP",
    "account_payments": "AISP",
    "account_payment": "AISP",
    "account_transactions": "AISP",
    "funds_confirmations": "CBPII",
}


# -- the protocol's rows


def test_every_webhook_call_is_counted_under_the_service_of_its_tpp_call() -> None:
    assert {call.name: call.service for call in RELAYED} == SERVICES
    for call in RELAYED:
        assert {webhook.service for webhook in webhooks_of(call).values()} == {call.service}
    assert {webhook.service for call in PAYMENTS for webhook in webhooks_of(call).values()} == {"PISP"}
    assert {webhook.service for webhook in VERSIONS[2].payment_status.values()} == {"PISP"}
    assert REVOKE_TOKEN.service == "authorization"


def test_measuring_a_webhook_without_a_service_raises_lookup_error() -> None:
    row = replace(REVOKE_TOKEN, part_of=None)

    with pytest.raises(LookupError, match="/revoke_token"):
        assert row.service


@pytest.mark.parametrize("row", ROWS, ids=str)
def test_an_answered_call_is_counted_once_for_its_service(causeway: Causeway, row: Any) -> None:
    relay = Relay(causeway)
    relay.call(row)

    service = "PISP" if "payment_" in row.call and not row.in_query else SERVICES.get(row.call[5:], "PISP")
    assert measure_counts(causeway, lambda: relay.call(row)) == expected_counts(
        row.version, service, calls=1, answered=1
    )


# -- whose fault

FAULTS: dict[str, tuple[Any, dict[str, int]]] = {
    "no connection": (NotReached("x"), {"unanswered": 1, "bank_failures": 1}),
    "a time-out": (TimedOut("x"), {"unanswered": 1, "bank_failures": 1}),
    "a broken connection": (ConnectionDropped("x"), {"unanswered": 1, "bank_failures": 1}),
    "too large an answer": (ResponseTooLarge("x"), {"answered": 1, "bank_failures": 1}),
    "no JSON": (Reply(200, b"<html>", {}, 0.01), {"answered": 1, "bank_failures": 1}),
    "no members": (Reply(200, b'{"status":"success"}', {}, 0.01), {"answered": 1, "bank_failures": 1}),
    "a server error": (Reply(503, b"", {}, 0.01), {"answered": 1, "bank_failures": 1}),
    "too many requests": (429, {"answered": 1, "bank_failures": 1}),
    "a conflict": (409, {"answered": 1, "bank_failures": 1}),
    "a server error of its form": (500, {"answered": 1, "bank_failures": 1}),
    "a failure of its own, by its code": ("broken", {"answered": 1, "bank_failures": 1}),
    "an internal error, by its code": ("internal", {"answered": 1, "bank_failures": 1}),
    "a plain no": (403, {"answered": 1, "caller_failures": 1}),
    "a token that it does not accept": (401, {"answered": 1, "caller_failures": 1}),
}


@BOTH_VERSIONS
@pytest.mark.parametrize(("answer", "expected"), FAULTS.values(), ids=FAULTS)
def test_a_failure_at_the_bank_counts_once_for_the_party_at_fault(
    causeway: Causeway, version: int, answer: Any, expected: dict[str, int]
) -> None:
    aisp = Aisp(causeway, version)
    if answer == "broken":
        answer = error(version, 4002 if version == 1 else "ASPSP_UNKNOWN_ERROR", 200 if version == 1 else 400)
    elif answer == "internal":
        answer = error(version, 4000 if version == 1 else "INTERNAL_SERVER_ERROR", 200 if version == 1 else 400)
    elif isinstance(answer, int):
        answer = error(version, 4200 if version == 1 else "SERVICE_BLOCKED", answer)

    assert measure_counts(causeway, lambda: aisp.list_accounts(answer)) == expected_counts(
        version, "AISP", calls=1, **expected
    )


@BOTH_VERSIONS
def test_a_call_refused_by_an_open_circuit_is_counted_as_not_sent_to_the_bank(causeway: Causeway, version: int) -> None:
    aisp = Aisp(causeway, version)
    open_circuit(causeway, version)

    assert measure_counts(causeway, aisp.list_accounts) == expected_counts(version, "AISP", calls=1, not_asked=1)


@BOTH_VERSIONS
def test_a_refused_call_to_a_known_bank_counts_as_a_caller_failure(causeway: Causeway, version: int) -> None:
    bearer = causeway.tpp.tokens(version)["access_token"]
    only_there = "/tpp/account_transactions" if version == 1 else "/tpp/account_payments"
    refused = {
        "/tpp/account?account_id=1&account_id=2": ("AISP", 400),
        "/tpp/account?nonsense=1": ("AISP", 400),
        "/tpp/account_balance?account_id=1": ("AISP", 403),
        "/tpp/account?iban=DE89370400440532013000": ("AISP", 403 if version == 1 else 400),
        only_there: ("AISP", 401),
        "/tpp/payment_status?payment_id=no-such": ("PISP", 404),
    }

    for path, (service, status) in refused.items():

        def ask(path: str = path, status: int = status) -> None:
            assert causeway.tpp.call("GET", path, bearer=bearer).status == status

        assert measure_counts(causeway, ask) == expected_counts(version, service, calls=1, caller_failures=1), path


@BOTH_VERSIONS
def test_a_read_above_the_banks_limit_counts_as_a_caller_failure(causeway: Causeway, version: int) -> None:
    limit_reads(causeway, version, 1)
    aisp = Aisp(causeway, version)
    assert measure_counts(causeway, aisp.list_accounts) == expected_counts(version, "AISP", calls=1, answered=1)

    assert measure_counts(causeway, aisp.list_accounts) == expected_counts(version, "AISP", calls=1, caller_failures=1)


@BOTH_VERSIONS
def test_a_limited_read_refused_by_an_open_circuit_is_counted_as_not_sent_to_the_bank(
    causeway: Causeway, version: int
) -> None:
    limit_reads(causeway, version)
    aisp = Aisp(causeway, version)
    open_circuit(causeway, version)

    assert measure_counts(causeway, aisp.list_accounts) == expected_counts(version, "AISP", calls=1, not_asked=1)


def test_a_call_to_an_inactive_bank_counts_as_a_caller_failure(causeway: Causeway) -> None:
    bearer = causeway.tpp.tokens(1)["access_token"]
    causeway.hub.openbanking.banks.change("ALPHGB21", active=False)
    try:
        found = measure_counts(causeway, lambda: causeway.tpp.call("GET", "/tpp/accounts", bearer=bearer))
    finally:
        causeway.hub.openbanking.banks.change("ALPHGB21", active=True)

    assert found == expected_counts(1, "AISP", calls=1, caller_failures=1)


def test_a_storage_failure_counts_as_a_hub_failure(causeway: Causeway) -> None:
    bearer = causeway.tpp.tokens(1)["access_token"]

    def ask() -> None:
        with causeway.storage_gone("transact"):
            assert causeway.tpp.call("GET", "/tpp/accounts", bearer=bearer, headers=LATER).status == 500

    assert measure_counts(causeway, ask) == expected_counts(1, "AISP", calls=1, hub_failures=1)


def test_a_call_that_identifies_no_known_bank_is_not_counted(causeway: Causeway) -> None:
    bearer = causeway.tpp.tokens(1)["access_token"]

    def ask() -> None:
        causeway.tpp.call("GET", "/tpp/accounts", client_id="nobody", bearer=bearer)
        causeway.tpp.call("GET", "/tpp/accounts")
        causeway.tpp.call("GET", "/tpp/accounts", bearer="a~b~ALPHGB21." + "x" * 43)
        causeway.tpp.call("POST", "/tpp/authorize", {"bic": "NOSUCHXX", "scopes": ["account.list"]})
        causeway.tpp.call("POST", "/tpp/token", {"code": "a." + "x" * 43})
        causeway.tpp.call("POST", "/tpp/direct_payment_initiation", {"bic": "NOSUCHXX"})
        causeway.tpp.call("GET", "/tpp/payment_status?payment_id=1&bic=ALPHGB21")
        with causeway.storage_gone("batch_get"):
            causeway.tpp.call("GET", "/tpp/accounts", bearer=bearer)

    assert measure_counts(causeway, ask) == {}


@pytest.mark.parametrize("path", ["/tpp/banks", "/tpp/scope?bic=ALPHGB21", "/tpp/consent", "/health", "/", "/tpp/no"])
def test_a_call_that_needs_no_bank_request_is_not_counted(causeway: Causeway, path: str) -> None:
    bearer = causeway.tpp.tokens(1)["access_token"]

    assert measure_counts(causeway, lambda: causeway.tpp.call("GET", path, bearer=bearer)) == {}


# -- times


@BOTH_VERSIONS
def test_bank_duration_is_counted_separately_from_hub_duration_in_the_second_of_the_request(
    causeway: Causeway, version: int
) -> None:
    aisp = Aisp(causeway, version)
    causeway.clock.advance(3599.5)

    def answer(sent: object) -> Any:
        causeway.clock.advance(1.5)
        return {"accounts": [], "status": "success"} if version == 1 else {"accounts": []}

    def ask() -> None:
        aisp.bank.answers["/accounts" if version == 1 else "/v2_accounts"] = answer
        assert causeway.tpp.call("GET", "/tpp/accounts", bearer=aisp.bearer).status == 200

    measure_counts(causeway, ask)

    (hourly,) = counters(causeway)
    assert hourly.hour == causeway.clock.time() // 3600 * 3600 - 3600
    assert list(hourly.replies()) == [(hourly.hour + 3599, True, 0)]
    assert (hourly.latencies["AISP"].bank.microseconds, hourly.latencies["AISP"].hub.microseconds) == (1_500_000, 0)


# -- what is carried out later


@BOTH_VERSIONS
@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        (None, {"answered": 1}),
        (NotReached("x"), {"unanswered": 1, "bank_failures": 1}),
        (403, {"answered": 1, "caller_failures": 1}),
    ],
    ids=["answered", "not reached", "refused"],
)
def test_a_deferred_call_is_counted_when_accepted_and_each_attempt_counts_as_a_bank_request(
    causeway: Causeway, version: int, answer: Any, expected: dict[str, int]
) -> None:
    bearer = causeway.tpp.tokens(version)["access_token"]
    answer = error(version, 4200 if version == 1 else "SERVICE_BLOCKED", 403) if answer == 403 else answer
    good = {"status": "success", "accounts": []} if version == 1 else {"accounts": []}
    path = "/accounts" if version == 1 else "/v2_accounts"
    causeway.banks[version].answers[path] = lambda sent: good if answer is None else answer
    accepted: list[str] = []

    def ask() -> None:
        answered = causeway.tpp.call("GET", "/tpp/accounts", bearer=bearer, headers=LATER)
        assert answered.status == 202
        accepted.append(answered.body["request_id"])

    assert measure_counts(causeway, ask) == expected_counts(version, "AISP", calls=1)
    assert measure_counts(causeway, lambda: deliver(*accepted)) == expected_counts(version, "AISP", **expected)
    assert (
        measure_counts(causeway, lambda: causeway.tpp.call("GET", f"/tpp/requests/{accepted[0]}", bearer=bearer)) == {}
    )


def test_a_delivery_postponed_by_an_open_circuit_is_not_counted(causeway: Causeway) -> None:
    bearer = causeway.tpp.tokens(1)["access_token"]
    request_id = causeway.tpp.call("GET", "/tpp/accounts", bearer=bearer, headers=LATER).body["request_id"]
    open_circuit(causeway, 1)

    assert measure_counts(causeway, lambda: deliver(request_id)) == {}


def test_concurrent_deliveries_are_counted_separately(causeway: Causeway) -> None:
    """A worker sends several messages in parallel."""
    both = threading.Barrier(2)

    class Worker:
        def attempt(self, bic: str) -> None:
            both.wait(PATIENCE_SECONDS)
            current_call.record_bank_request(bic, "PISP", causeway.clock.time(), "answered", 0)
            both.wait(PATIENCE_SECONDS)
            current_call.record_failure("bank" if bic == "ALPHGB21" else "caller")
            both.wait(PATIENCE_SECONDS)

    causeway.hub.delivery.__dict__["worker"] = Worker()

    assert measure_counts(causeway, lambda: deliver("ALPHGB21", "BETADEF1")) == {
        **expected_counts(1, "PISP", answered=1, bank_failures=1),
        **expected_counts(2, "PISP", answered=1, caller_failures=1),
    }


# -- the storage, and the circuit


@BOTH_VERSIONS
def test_measurements_add_two_storage_calls_to_a_read_once_a_minute(causeway: Causeway, version: int) -> None:
    aisp = Aisp(causeway, version)
    aisp.list_accounts()
    causeway.writes_measurements()
    taken = []

    for seconds in (0, 1, 58, 1, 30):
        causeway.clock.advance(seconds)
        causeway.hub.openbanking.banks.find(BIC[version])
        with record_calls(causeway) as calls:
            assert aisp.list_accounts().status == 200
        taken.append(calls)

    assert taken == [
        ["BatchGetItem", "TransactWriteItems", "Query"],
        ["BatchGetItem"],
        ["BatchGetItem"],
        ["BatchGetItem", "TransactWriteItems", "Query"],
        ["BatchGetItem"],
    ]


def test_a_request_succeeds_when_its_measurements_cannot_be_written(causeway: Causeway) -> None:
    aisp = Aisp(causeway)
    causeway.writes_measurements()

    with causeway.storage_gone("transact"):
        assert aisp.list_accounts().status == 200
    causeway.hub.statistics.measurements.write()

    assert sum_counts(counters(causeway))["ALPHGB21 AISP"] == {"calls": 1, "answered": 1}


def test_each_opening_of_a_circuit_is_reported_once(causeway: Causeway, capsys: pytest.CaptureFixture[str]) -> None:
    aisp = Aisp(causeway)

    def openings() -> int:
        return len(logs.metric_values(capsys.readouterr().out, "CircuitOpened", Stage="local", Bank="ALPHGB21"))

    aisp.fail(4)
    assert openings() == 0
    aisp.fail(1)
    assert openings() == 1
    for _ in range(3):
        aisp.list_accounts(NotReached("x"))
    assert openings() == 0
    causeway.clock.advance(30)
    aisp.fail(1)  # the probe
    assert openings() == 1
    causeway.clock.advance(30)
    assert aisp.list_accounts().status == 200
    aisp.fail(5)
    assert openings() == 1
