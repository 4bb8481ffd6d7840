"""The event receiver accepts only signed events, ignores duplicates, and waits for a limited time."""

import json
import time
from collections.abc import Iterator

import pytest
import requests

from chalicelib.foundation.crypto import event_signing
from infra import event_receiver
from infra.event_receiver import EventMissing, EventReceiver, listen
from tests.kit.time import PATIENCE_SECONDS

SECRET = event_signing.new_secret()


@pytest.fixture
def receiver(monkeypatch: pytest.MonkeyPatch) -> Iterator[EventReceiver]:
    monkeypatch.setattr(event_receiver, "SECONDS", 0.2)
    with listen() as made:
        made.secret = SECRET
        yield made


def send(receiver: EventReceiver, type_: str, message_id: str, secret: str = SECRET, **data: str) -> int:
    body = json.dumps({"type": type_, "timestamp": "2026-03-02T09:00:00+00:00", "data": data}).encode()
    headers = event_signing.headers([secret], message_id, int(time.time()), body)
    with requests.Session() as session:
        session.trust_env = False
        return session.post(receiver.url, data=body, headers=headers, timeout=PATIENCE_SECONDS).status_code


def test_wait_for_event_finds_events_by_type_and_members_in_any_order(receiver: EventReceiver) -> None:
    paid = {f"m{number}": {"payment_id": f"P{number}", "bic": "DEMODEF1"} for number in (1, 2)}
    statuses = [send(receiver, "payment.status_changed", name, **data) for name, data in paid.items()]

    assert statuses == [204, 204]
    assert receiver.wait_for_event("payment.status_changed", payment_id="P2").id == "m2"
    assert receiver.wait_for_event("payment.status_changed").event.to_json()["data"] == paid["m1"]


def test_a_duplicate_event_is_accepted_but_received_once(receiver: EventReceiver) -> None:
    assert [send(receiver, "test", "m1", message="Hello") for _ in range(2)] == [204, 204]

    assert receiver.wait_for_event("test").id == "m1"
    with pytest.raises(EventMissing, match="no test event arrived"):
        receiver.wait_for_event("test")


def test_an_event_with_an_invalid_signature_returns_400_and_ends_the_wait(receiver: EventReceiver) -> None:
    assert send(receiver, "test", "m1", event_signing.new_secret(), message="Hello") == 400

    with pytest.raises(EventMissing, match="not signed with the receiver's secret"):
        receiver.wait_for_event("test")


def test_the_receiver_returns_400_to_a_request_that_is_not_an_event(receiver: EventReceiver) -> None:
    with requests.Session() as session:
        session.trust_env = False
        headers = {"webhook-id": "m1"}
        answer = session.post(receiver.url, data=b"\xff", headers=headers, timeout=PATIENCE_SECONDS)
    assert answer.status_code == 400


def test_the_receiver_prints_only_the_events_that_a_program_waits_for() -> None:
    shown: list[str] = []
    with listen(lambda received: shown.append(received.id)) as receiver:
        receiver.secret = SECRET
        for name in ("m1", "m2"):
            send(receiver, "test", name, message=name)
        receiver.wait_for_event("test", message="m2")

    assert shown == ["m2"]
