"""A request ends in time: no bank gets an order that cannot be awaited, and what a bank did is recorded."""

from __future__ import annotations

from typing import Any

import pytest

from chalicelib.foundation import jsontext
from chalicelib.foundation.http.deadline_connections import SlowCheck
from chalicelib.foundation.http.outbound import Reply
from chalicelib.openbanking.records.payments import payment_key
from chalicelib.statistics.measurements import REQUEST_SECONDS
from tests.log_lines import Lines
from tests.openbanking.examples import ANSWERS
from tests.openbanking.payer import VERSIONS, WEBHOOKS, Payer, taken
from tests.world import Sent, World


@VERSIONS
def test_a_payment_is_not_sent_when_its_request_has_too_little_time_left(world: World, version: int) -> None:
    payer = Payer(world, version, consent_type="one_time")

    with world.meanwhile("transact", lambda: world.clock.advance(7)):
        refused = payer.pay()

    assert (refused.status, refused.body["reason_code"], refused.headers["retry-after"]) == (502, "not_sent", "1")
    assert payer.calls == 0
    assert payer.pay().status == 200


@VERSIONS
def test_a_payment_is_recorded_after_the_deadline_of_its_request(world: World, version: int) -> None:
    payer = Payer(world, version)

    def answer_late(_: Sent) -> Any:
        world.clock.advance(REQUEST_SECONDS + 1)
        return taken(version)

    payer.side.answers[WEBHOOKS[version, "single"]] = answer_late

    assert [payer.pay("key-1").status, payer.pay("key-1").status] == [200, 200]
    assert payer.calls == 1
    assert world.hub.store.get(*payment_key(payer.side.bank.bic, "P-1")) is not None


def test_a_request_delayed_by_storage_writes_nothing_after_its_deadline(world: World) -> None:
    tokens = world.tokens(1)

    with world.meanwhile("batch_get", lambda: world.clock.advance(REQUEST_SECONDS)):
        refused = world.tpp("POST", "/tpp/token", {"refresh_token": tokens["refresh_token"]})

    assert refused.status == 500
    assert world.tpp("POST", "/tpp/token", {"refresh_token": tokens["refresh_token"]}).status == 200


def test_an_event_answered_after_the_deadline_is_recorded_and_not_sent_again(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    world.wants_events()
    delivery_id = world.hub.openbanking.tpp_events.send_test(world.client)
    answer = world.receiver.answer

    def answer_late(sent: Sent) -> Reply:
        world.clock.advance(REQUEST_SECONDS + 1)
        return answer(sent)

    monkeypatch.setattr(world.receiver, "answer", answer_late)
    for _ in range(2):
        with world.hub.statistics.measurements.measure():
            world.hub.delivery.worker.attempt(delivery_id)

    assert world.delivery(delivery_id).state == "delivered"
    assert len(world.receiver.received) == 1


def test_a_slow_call_releases_its_slot_after_the_deadline(
    world: World, lines: Lines, monkeypatch: pytest.MonkeyPatch
) -> None:
    bearer = world.tokens(1)["access_token"]

    def post(*_: object, slow_check: SlowCheck, **__: object) -> Reply:
        slow_check.check()
        world.clock.advance(REQUEST_SECONDS + 1)
        return Reply(200, jsontext.dumps({"status": "success", **ANSWERS[1]["/accounts"]}).encode(), {}, 27)

    monkeypatch.setattr(world.hub.outbound, "post", post)

    assert world.tpp("GET", "/tpp/accounts", bearer=bearer).status == 200
    assert not [line for line in lines.all() if line["message"] == "slow call not ended"]
