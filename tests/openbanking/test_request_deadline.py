"""Tests of the request deadline: late orders are not sent, and late bank responses are recorded."""

from typing import Any

import pytest

from chalicelib.foundation import jsontext
from chalicelib.foundation.http.deadline_connections import SlowCheck
from chalicelib.foundation.http.outbound import Reply
from chalicelib.openbanking.records.payments import payment_key
from chalicelib.statistics.measurements import REQUEST_SECONDS
from tests.causeway import Causeway
from tests.kit.logs import Lines
from tests.openbanking.examples import ANSWERS
from tests.openbanking.kit import VERSIONS, ReceivedRequest
from tests.openbanking.payments import WEBHOOKS, Pisp, payment_answer


@VERSIONS
def test_a_payment_is_not_sent_when_its_request_has_too_little_time_left(causeway: Causeway, version: int) -> None:
    pisp = Pisp(causeway, version, consent_type="one_time")

    with causeway.meanwhile("transact", lambda: causeway.clock.advance(7)):
        refused = pisp.pay()

    assert (refused.status, refused.body["reason_code"], refused.headers["retry-after"]) == (502, "not_sent", "1")
    assert pisp.calls == 0
    assert pisp.pay().status == 200


@VERSIONS
def test_a_payment_is_recorded_after_the_deadline_of_its_request(causeway: Causeway, version: int) -> None:
    pisp = Pisp(causeway, version)

    def answer_late(_: ReceivedRequest) -> Any:
        causeway.clock.advance(REQUEST_SECONDS + 1)
        return payment_answer(version)

    pisp.bank.answers[WEBHOOKS[version, "single"]] = answer_late

    assert [pisp.pay("key-1").status, pisp.pay("key-1").status] == [200, 200]
    assert pisp.calls == 1
    assert causeway.hub.store.get(*payment_key(pisp.bank.bic, "P-1")) is not None


def test_a_request_delayed_by_storage_writes_nothing_after_its_deadline(causeway: Causeway) -> None:
    tokens = causeway.tpp.tokens(1)

    with causeway.meanwhile("batch_get", lambda: causeway.clock.advance(REQUEST_SECONDS)):
        refused = causeway.tpp.call("POST", "/tpp/token", {"refresh_token": tokens["refresh_token"]})

    assert refused.status == 500
    assert causeway.tpp.call("POST", "/tpp/token", {"refresh_token": tokens["refresh_token"]}).status == 200


def test_an_event_answered_after_the_deadline_is_recorded_and_not_sent_again(
    causeway: Causeway, monkeypatch: pytest.MonkeyPatch
) -> None:
    causeway.tpp.set_events_url()
    delivery_id = causeway.hub.openbanking.tpp_events.send_test(causeway.tpp.client)
    answer = causeway.receiver.answer

    def answer_late(sent: ReceivedRequest) -> Reply:
        causeway.clock.advance(REQUEST_SECONDS + 1)
        return answer(sent)

    monkeypatch.setattr(causeway.receiver, "answer", answer_late)
    for _ in range(2):
        with causeway.hub.statistics.measurements.measure():
            causeway.hub.delivery.worker.attempt(delivery_id)

    assert causeway.delivery(delivery_id).state == "delivered"
    assert len(causeway.receiver.received) == 1


def test_a_slow_call_releases_its_slot_for_slow_calls_even_after_the_deadline(
    causeway: Causeway, lines: Lines, monkeypatch: pytest.MonkeyPatch
) -> None:
    bearer = causeway.tpp.tokens(1)["access_token"]

    def post(*_: object, slow_check: SlowCheck, **__: object) -> Reply:
        slow_check.check()
        causeway.clock.advance(REQUEST_SECONDS + 1)
        return Reply(200, jsontext.dumps({"status": "success", **ANSWERS[1]["/accounts"]}).encode(), {}, 27)

    monkeypatch.setattr(causeway.hub.outbound, "post", post)

    assert causeway.tpp.call("GET", "/tpp/accounts", bearer=bearer).status == 200
    assert not [line for line in lines.all() if line["message"] == "slow call not ended"]
