"""Tests of the circuit of a bank: pauses after failures, responses to TPPs, and storage calls."""

from typing import Any

import pytest

from chalicelib.foundation.http.outbound import ConnectionDropped, Reply, ResponseTooLarge, TimedOut
from chalicelib.openbanking.bank_client.bank_circuits import FAILURES
from chalicelib.openbanking.bank_client.bank_failures import BankFailed
from tests.causeway import Answer, Causeway
from tests.kit.logs import Lines
from tests.openbanking.accounts import NO_ACCOUNTS, Aisp, open_circuit
from tests.openbanking.kit import UNREACHABLE
from tests.openbanking.payments import Pisp, payment_answer

REFUSAL = {"status": "error", "error_code": 4200, "message": "no"}


@pytest.fixture
def aisp(causeway: Causeway) -> Aisp:
    return Aisp(causeway)


# -- what opens it


@pytest.mark.parametrize(
    "failure",
    [
        UNREACHABLE,
        TimedOut("late"),
        ConnectionDropped("broke"),
        ResponseTooLarge("large"),
        Reply(500, b"", {}, 0),
        "error",
        "mixed",
    ],
)
def test_five_failures_in_a_row_pause_calls_to_a_bank(aisp: Aisp, failure: Any) -> None:
    five: dict[str, list[Any]] = {
        "error": [Reply(503, b'{"status":"error","error_code":4002,"message":"down"}', {}, 0)] * 5,
        "mixed": [
            UNREACHABLE,
            Reply(502, b"<html>", {}, 0),
            TimedOut("late"),
            ConnectionDropped("broke"),
            Reply(500, b"{}", {}, 0),
        ],
    }
    for each in five[failure] if isinstance(failure, str) else [failure] * 5:
        assert aisp.list_accounts(each).status == 502

    assert (aisp.list_accounts().status, aisp.calls) == (502, 5)


@pytest.mark.parametrize(
    "answer",
    [REFUSAL, Reply(400, b"{}", {}, 0), Reply(401, b"", {}, 0), Reply(429, b"", {}, 0), Reply(302, b"", {}, 0), {}],
)
def test_refusals_and_malformed_responses_do_not_pause_a_bank(aisp: Aisp, answer: Any) -> None:
    for _ in range(FAILURES + 1):
        assert aisp.list_accounts(answer).status == 502

    assert aisp.calls == FAILURES + 1


@pytest.mark.parametrize("answer", [NO_ACCOUNTS[1], REFUSAL])
def test_a_bank_response_resets_the_count_of_failures(aisp: Aisp, answer: Any) -> None:
    for _ in range(2):
        aisp.fail(FAILURES - 1)
        aisp.list_accounts(answer)

    assert aisp.list_accounts().status == 200


def test_an_open_circuit_breaker_of_one_bank_does_not_affect_calls_to_other_banks(
    causeway: Causeway, aisp: Aisp
) -> None:
    other = Aisp(causeway, 2)
    aisp.fail()

    assert (aisp.list_accounts().status, other.list_accounts().status) == (502, 200)


def test_background_calls_count_as_failures_and_are_paused_by_an_open_circuit(causeway: Causeway, aisp: Aisp) -> None:
    link, bank = causeway.hub.openbanking.bank_client, aisp.bank.record
    aisp.bank.answers["/revoke"] = lambda sent: UNREACHABLE
    outgoing = link.prepare(bank, "/revoke", {}, request_id="1", token=None)
    for _ in range(FAILURES):
        with pytest.raises(BankFailed, match="BANK_FAILED"):
            link.send(outgoing)

    assert aisp.list_accounts().headers["retry-after"] == "30"
    with pytest.raises(BankFailed) as caught:
        link.send(outgoing)
    assert caught.value.reach == "never"
    assert caught.value.retry_after == 30
    assert caught.value.status is None


# -- what the TPP is told


@pytest.mark.parametrize("version", [1, 2])
def test_an_open_circuit_returns_502_with_retry_after_and_the_reason(
    causeway: Causeway, version: int, lines: Lines
) -> None:
    aisp = Aisp(causeway, version)
    open_circuit(causeway, version)
    causeway.clock.advance(12)

    answer = aisp.list_accounts()

    assert (answer.status, answer.headers["retry-after"]) == (502, "18")
    assert answer.body["code"] == "ASPSP_UNKNOWN_ERROR"
    (additional,) = answer.body["additionalErrors"]
    assert additional["code"] == "ASPSP_ERROR_DESC"
    assert additional["details"] == "the bank does not answer at the moment and is not asked again for 18 s"
    assert "bank;dur" not in answer.headers["server-timing"]
    assert "bank called" not in lines.text


# -- what closes it


def test_a_successful_call_after_30_seconds_closes_the_circuit(causeway: Causeway, aisp: Aisp) -> None:
    aisp.fail()
    causeway.clock.advance(29)
    assert aisp.list_accounts().headers["retry-after"] == "1"
    causeway.clock.advance(1)

    assert [aisp.list_accounts().status, aisp.list_accounts().status] == [200, 200]
    aisp.fail(FAILURES - 1)
    assert aisp.list_accounts().status == 200


def test_calls_during_a_probe_return_502(causeway: Causeway, aisp: Aisp) -> None:
    aisp.fail()
    causeway.clock.advance(30)
    others: list[Answer] = []

    def answer(sent: object) -> Any:
        others.append(causeway.tpp.call("GET", "/tpp/accounts", bearer=aisp.bearer))
        return NO_ACCOUNTS[1]

    aisp.bank.answers["/accounts"] = answer

    assert causeway.tpp.call("GET", "/tpp/accounts", bearer=aisp.bearer).status == 200
    assert [(other.status, other.headers["retry-after"]) for other in others] == [(502, "1")]


def test_a_bank_refusal_closes_the_circuit(causeway: Causeway, aisp: Aisp) -> None:
    aisp.fail()
    causeway.clock.advance(30)

    assert aisp.list_accounts(REFUSAL).status == 502
    assert aisp.list_accounts().status == 200


def test_the_circuit_breaker_remains_open_for_30_more_seconds_after_a_failed_probe(
    causeway: Causeway, aisp: Aisp
) -> None:
    aisp.fail()
    causeway.clock.advance(30)
    aisp.fail(1)

    assert aisp.list_accounts().headers["retry-after"] == "30"
    assert aisp.calls == FAILURES + 1


# -- payments


@pytest.mark.parametrize("version", [1, 2])
@pytest.mark.parametrize("kind", ["single", "direct"])
def test_a_payment_during_an_open_circuit_returns_502_before_any_write(
    causeway: Causeway, version: int, kind: str
) -> None:
    pisp = Pisp(causeway, version, kind, consent_type="one_time")
    open_circuit(causeway, version)

    with causeway.storage_gone("transact"):
        refused = pisp.pay("key-1")

    assert refused.status == 502
    assert refused.body["code"] == "ASPSP_UNKNOWN_ERROR"
    assert refused.headers["retry-after"] == "30"
    assert "not sent" in refused.body["title"]
    assert "is not asked again for 30 s" in refused.body["additionalErrors"][0]["details"]
    assert pisp.calls == 0
    causeway.clock.advance(30)
    assert (pisp.pay("key-1").status, pisp.calls) == (200, 1)


@pytest.mark.parametrize("version", [1, 2])
def test_a_payment_retry_returns_the_stored_response_during_an_open_circuit(causeway: Causeway, version: int) -> None:
    pisp = Pisp(causeway, version, consent_type="one_time")
    assert pisp.pay("key-1").status == 200
    open_circuit(causeway, version)

    repeat = pisp.pay("key-1")

    assert repeat.status == 200
    assert repeat.body["payment_id"] == "P-1"
    assert pisp.calls == 1


def test_a_payment_can_be_retried_when_another_call_claims_the_probe_first(causeway: Causeway) -> None:
    """Another call claims the probe after the first check of this payment and before the payment is sent."""
    pisp = Pisp(causeway, 1, consent_type="one_time")
    open_circuit(causeway, 1)
    causeway.clock.advance(30)
    bic = pisp.bank.bic

    with causeway.meanwhile("transact", lambda: causeway.hub.openbanking.bank_client.breaker.admit(bic)):
        refused = pisp.pay("key-1")

    assert (refused.status, pisp.calls) == (502, 0)
    assert "not sent" in refused.body["title"]
    causeway.hub.openbanking.bank_client.breaker.record_success(bic)
    assert (pisp.pay("key-1").status, pisp.calls) == (200, 1)


def test_failed_payments_count_toward_the_circuit(causeway: Causeway) -> None:
    pisp = Pisp(causeway, 1)
    pisp.bank_answers(UNREACHABLE)
    for _ in range(FAILURES):
        assert pisp.pay().status == 502
    pisp.bank_answers(payment_answer(1))

    refused = pisp.pay()

    assert refused.status == 502
    assert refused.headers["retry-after"] == "30"
    assert pisp.calls == FAILURES
