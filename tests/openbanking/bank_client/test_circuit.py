"""The circuit of a bank: who is left alone after failures, what the TPP is told, and what it does not cost."""

from __future__ import annotations

from typing import Any

import pytest

from chalicelib.foundation.http.outbound import ConnectionDropped, Reply, ResponseTooLarge, TimedOut
from chalicelib.openbanking.bank_client.bank_circuits import FAILURES
from chalicelib.openbanking.bank_client.bank_failures import BankFailed
from tests.log_lines import Lines
from tests.openbanking.circuits import GONE, GOOD, Reader, opened
from tests.openbanking.payer import Payer, taken
from tests.world import Answer, World

REFUSAL = {"status": "error", "error_code": 4200, "message": "no"}


@pytest.fixture
def reader(world: World) -> Reader:
    return Reader(world)


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
def test_after_five_failures_in_a_row_a_bank_is_left_alone(reader: Reader, failure: Any) -> None:
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
def test_a_bank_that_says_no_or_nonsense_answers_and_is_asked_again(reader: Reader, answer: Any) -> None:
    for _ in range(FAILURES + 1):
        assert reader.ask(answer).status == 502

    assert reader.calls == FAILURES + 1


@pytest.mark.parametrize("answer", [GOOD[1], REFUSAL])
def test_an_answer_in_between_begins_the_count_again(reader: Reader, answer: Any) -> None:
    for _ in range(2):
        reader.fail(FAILURES - 1)
        reader.ask(answer)

    assert reader.ask().status == 200


def test_the_other_banks_are_asked_as_before(world: World, reader: Reader) -> None:
    other = Reader(world, 2)
    reader.fail()

    assert (reader.ask().status, other.ask().status) == (502, 200)


def test_what_is_sent_without_a_tpp_waiting_counts_and_is_held_back_as_well(world: World, reader: Reader) -> None:
    link, bank = world.hub.openbanking.bank_client, reader.side.bank
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
def test_the_tpp_is_told_that_the_bank_was_not_asked_and_when_it_will_be(
    world: World, version: int, lines: Lines
) -> None:
    reader = Reader(world, version)
    opened(world, version)
    world.clock.advance(12)

    answer = reader.ask()

    assert (answer.status, answer.headers["retry-after"]) == (502, "18")
    assert answer.body["code"] == "ASPSP_UNKNOWN_ERROR"
    (additional,) = answer.body["additionalErrors"]
    assert additional["code"] == "ASPSP_ERROR_DESC"
    assert additional["details"] == "the bank does not answer at the moment and is not asked again for 18 s"
    assert "bank;dur" not in answer.headers["server-timing"]
    assert "bank called" not in lines.text


# -- what closes it


def test_after_half_a_minute_a_good_answer_closes_it(world: World, reader: Reader) -> None:
    reader.fail()
    world.clock.advance(29)
    assert reader.ask().headers["retry-after"] == "1"
    world.clock.advance(1)

    assert [reader.ask().status, reader.ask().status] == [200, 200]
    reader.fail(FAILURES - 1)
    assert reader.ask().status == 200


def test_while_one_call_tries_the_others_are_refused(world: World, reader: Reader) -> None:
    reader.fail()
    world.clock.advance(30)
    others: list[Answer] = []

    def answer(sent: object) -> Any:
        others.append(world.tpp("GET", "/tpp/accounts", bearer=reader.bearer))
        return GOOD[1]

    reader.side.answers["/accounts"] = answer

    assert world.tpp("GET", "/tpp/accounts", bearer=reader.bearer).status == 200
    assert [(other.status, other.headers["retry-after"]) for other in others] == [(502, "1")]


def test_a_refusal_closes_it_too(world: World, reader: Reader) -> None:
    reader.fail()
    world.clock.advance(30)

    assert reader.ask(REFUSAL).status == 502
    assert reader.ask().status == 200


def test_another_failure_leaves_it_open_for_another_half_minute(world: World, reader: Reader) -> None:
    reader.fail()
    world.clock.advance(30)
    reader.fail(1)

    assert reader.ask().headers["retry-after"] == "30"
    assert reader.calls == FAILURES + 1


# -- payments


@pytest.mark.parametrize("version", [1, 2])
@pytest.mark.parametrize("kind", ["single", "direct"])
def test_a_payment_is_refused_before_anything_is_used_up(world: World, version: int, kind: str) -> None:
    payer = Payer(world, version, kind, consent_type="one_time")
    opened(world, version)

    with world.storage_gone("transact"):
        refused = payer.pay("key-1")

    assert refused.status == 502
    assert refused.body["code"] == "ASPSP_UNKNOWN_ERROR"
    assert refused.headers["retry-after"] == "30"
    assert "not sent" in refused.body["title"]
    assert "is not asked again for 30 s" in refused.body["additionalErrors"][0]["details"]
    assert payer.calls == 0
    world.clock.advance(30)
    assert (payer.pay("key-1").status, payer.calls) == (200, 1)


@pytest.mark.parametrize("version", [1, 2])
def test_the_circuit_does_not_stand_between_a_repeat_and_its_stored_answer(world: World, version: int) -> None:
    payer = Payer(world, version, consent_type="one_time")
    assert payer.pay("key-1").status == 200
    opened(world, version)

    repeat = payer.pay("key-1")

    assert repeat.status == 200
    assert repeat.body["payment_id"] == "P-1"
    assert payer.calls == 1


def test_a_payment_that_another_call_outran_is_given_back(world: World) -> None:
    """Asked first, the circuit let it pass; before it was sent, another call was the probe."""
    payer = Payer(world, 1, consent_type="one_time")
    opened(world, 1)
    world.clock.advance(30)
    bic = payer.side.bank.bic

    with world.meanwhile("transact", lambda: world.hub.openbanking.bank_client.breaker.admit(bic)):
        refused = payer.pay("key-1")

    assert (refused.status, payer.calls) == (502, 0)
    assert "not sent" in refused.body["title"]
    world.hub.openbanking.bank_client.breaker.record_success(bic)
    assert (payer.pay("key-1").status, payer.calls) == (200, 1)


def test_payments_count_like_other_calls(world: World) -> None:
    payer = Payer(world, 1)
    payer.bank_does(GONE)
    for _ in range(FAILURES):
        assert payer.pay().status == 502
    payer.bank_does(taken(1))

    refused = payer.pay()

    assert refused.status == 502
    assert refused.headers["retry-after"] == "30"
    assert payer.calls == FAILURES
