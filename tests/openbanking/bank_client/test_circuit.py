"""The circuit of a bank: who is left alone after failures, what the TPP is told, and what it does not cost."""

from __future__ import annotations

from typing import Any

import pytest

from chalicelib.foundation.http.outbound import ConnectionDropped, Reply, ResponseTooLarge, TimedOut
from chalicelib.openbanking.bank_client.bank_circuits import FAILURES
from chalicelib.openbanking.bank_client.bank_failures import BankFailed
from tests.causeway import Answer, Causeway
from tests.kit.logs import Lines
from tests.openbanking.circuits import GONE, GOOD, Reader, opened
from tests.openbanking.payer import Payer, taken

REFUSAL = {"status": "error", "error_code": 4200, "message": "no"}


@pytest.fixture
def reader(causeway: Causeway) -> Reader:
    return Reader(causeway)


# -- what opens it


@pytest.mark.parametrize(
    "failure",
    [
        GONE,
        TimedOut("late"),
        ConnectionDropped("broke"),
        ResponseTooLarge("large"),
        Reply(500, b"", {}, 0),
        "error",
        "mixed",
    ],
)
def test_five_failures_in_a_row_pause_calls_to_a_bank(reader: Reader, failure: Any) -> None:
    five: dict[str, list[Any]] = {
        "error": [Reply(503, b'{"status":"error","error_code":4002,"message":"down"}', {}, 0)] * 5,
        "mixed": [
            GONE,
            Reply(502, b"<html>", {}, 0),
            TimedOut("late"),
            ConnectionDropped("broke"),
            Reply(500, b"{}", {}, 0),
        ],
    }
    for each in five[failure] if isinstance(failure, str) else [failure] * 5:
        assert reader.ask(each).status == 502

    assert (reader.ask().status, reader.calls) == (502, 5)


@pytest.mark.parametrize(
    "answer",
    [REFUSAL, Reply(400, b"{}", {}, 0), Reply(401, b"", {}, 0), Reply(429, b"", {}, 0), Reply(302, b"", {}, 0), {}],
)
def test_refusals_and_malformed_responses_do_not_pause_a_bank(reader: Reader, answer: Any) -> None:
    for _ in range(FAILURES + 1):
        assert reader.ask(answer).status == 502

    assert reader.calls == FAILURES + 1


@pytest.mark.parametrize("answer", [GOOD[1], REFUSAL])
def test_bank_response_resets_the_count_of_failures(reader: Reader, answer: Any) -> None:
    for _ in range(2):
        reader.fail(FAILURES - 1)
        reader.ask(answer)

    assert reader.ask().status == 200


def test_open_circuit_leaves_other_banks_available(causeway: Causeway, reader: Reader) -> None:
    other = Reader(causeway, 2)
    reader.fail()

    assert (reader.ask().status, other.ask().status) == (502, 200)


def test_background_calls_count_toward_the_circuit_and_obey_it(causeway: Causeway, reader: Reader) -> None:
    link, bank = causeway.hub.openbanking.bank_client, reader.side.record
    reader.side.answers["/revoke"] = lambda sent: GONE
    outgoing = link.prepare(bank, "/revoke", {}, request_id="1", token=None)
    for _ in range(FAILURES):
        with pytest.raises(BankFailed, match="BANK_FAILED"):
            link.send(outgoing)

    assert reader.ask().headers["retry-after"] == "30"
    with pytest.raises(BankFailed) as caught:
        link.send(outgoing)
    assert caught.value.reach == "never"
    assert caught.value.retry_after == 30
    assert caught.value.status is None


# -- what the TPP is told


@pytest.mark.parametrize("version", [1, 2])
def test_open_circuit_returns_502_with_retry_after_and_the_reason(
    causeway: Causeway, version: int, lines: Lines
) -> None:
    reader = Reader(causeway, version)
    opened(causeway, version)
    causeway.clock.advance(12)

    answer = reader.ask()

    assert (answer.status, answer.headers["retry-after"]) == (502, "18")
    assert answer.body["code"] == "ASPSP_UNKNOWN_ERROR"
    (additional,) = answer.body["additionalErrors"]
    assert additional["code"] == "ASPSP_ERROR_DESC"
    assert additional["details"] == "the bank does not answer at the moment and is not asked again for 18 s"
    assert "bank;dur" not in answer.headers["server-timing"]
    assert "bank called" not in lines.text


# -- what closes it


def test_successful_call_after_30_seconds_closes_the_circuit(causeway: Causeway, reader: Reader) -> None:
    reader.fail()
    causeway.clock.advance(29)
    assert reader.ask().headers["retry-after"] == "1"
    causeway.clock.advance(1)

    assert [reader.ask().status, reader.ask().status] == [200, 200]
    reader.fail(FAILURES - 1)
    assert reader.ask().status == 200


def test_calls_during_a_probe_return_502(causeway: Causeway, reader: Reader) -> None:
    reader.fail()
    causeway.clock.advance(30)
    others: list[Answer] = []

    def answer(sent: object) -> Any:
        others.append(causeway.tpp.call("GET", "/tpp/accounts", bearer=reader.bearer))
        return GOOD[1]

    reader.side.answers["/accounts"] = answer

    assert causeway.tpp.call("GET", "/tpp/accounts", bearer=reader.bearer).status == 200
    assert [(other.status, other.headers["retry-after"]) for other in others] == [(502, "1")]


def test_bank_refusal_closes_the_circuit(causeway: Causeway, reader: Reader) -> None:
    reader.fail()
    causeway.clock.advance(30)

    assert reader.ask(REFUSAL).status == 502
    assert reader.ask().status == 200


def test_failed_probe_keeps_the_circuit_open_for_30_more_seconds(causeway: Causeway, reader: Reader) -> None:
    reader.fail()
    causeway.clock.advance(30)
    reader.fail(1)

    assert reader.ask().headers["retry-after"] == "30"
    assert reader.calls == FAILURES + 1


# -- payments


@pytest.mark.parametrize("version", [1, 2])
@pytest.mark.parametrize("kind", ["single", "direct"])
def test_payment_during_an_open_circuit_returns_502_before_any_write(
    causeway: Causeway, version: int, kind: str
) -> None:
    payer = Payer(causeway, version, kind, consent_type="one_time")
    opened(causeway, version)

    with causeway.storage_gone("transact"):
        refused = payer.pay("key-1")

    assert refused.status == 502
    assert refused.body["code"] == "ASPSP_UNKNOWN_ERROR"
    assert refused.headers["retry-after"] == "30"
    assert "not sent" in refused.body["title"]
    assert "is not asked again for 30 s" in refused.body["additionalErrors"][0]["details"]
    assert payer.calls == 0
    causeway.clock.advance(30)
    assert (payer.pay("key-1").status, payer.calls) == (200, 1)


@pytest.mark.parametrize("version", [1, 2])
def test_repeated_payment_returns_the_stored_response_during_an_open_circuit(causeway: Causeway, version: int) -> None:
    payer = Payer(causeway, version, consent_type="one_time")
    assert payer.pay("key-1").status == 200
    opened(causeway, version)

    repeat = payer.pay("key-1")

    assert repeat.status == 200
    assert repeat.body["payment_id"] == "P-1"
    assert payer.calls == 1


def test_payment_that_loses_the_probe_to_another_call_can_be_repeated(causeway: Causeway) -> None:
    """The first check admits the payment; another call claims the probe before the payment is sent."""
    payer = Payer(causeway, 1, consent_type="one_time")
    opened(causeway, 1)
    causeway.clock.advance(30)
    bic = payer.side.bic

    with causeway.meanwhile("transact", lambda: causeway.hub.openbanking.bank_client.breaker.admit(bic)):
        refused = payer.pay("key-1")

    assert (refused.status, payer.calls) == (502, 0)
    assert "not sent" in refused.body["title"]
    causeway.hub.openbanking.bank_client.breaker.record_success(bic)
    assert (payer.pay("key-1").status, payer.calls) == (200, 1)


def test_failed_payments_count_toward_the_circuit(causeway: Causeway) -> None:
    payer = Payer(causeway, 1)
    payer.bank_does(GONE)
    for _ in range(FAILURES):
        assert payer.pay().status == 502
    payer.bank_does(taken(1))

    refused = payer.pay()

    assert refused.status == 502
    assert refused.headers["retry-after"] == "30"
    assert payer.calls == FAILURES
