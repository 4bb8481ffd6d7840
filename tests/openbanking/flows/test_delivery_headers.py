"""Tests of the request and response headers in delivery records: complete, and without credentials."""

from collections.abc import Callable, Mapping
from typing import Any

import pytest

from chalicelib.delivery.delivery_record import Delivery
from chalicelib.delivery.recorded_exchange import MASK
from chalicelib.foundation import jsontext
from chalicelib.foundation.http.outbound import NotReached, Reply, TimedOut
from tests.causeway import Causeway
from tests.openbanking.accounts import DeferredRead, open_circuit
from tests.openbanking.kit import ReceivedRequest
from tests.openbanking.payments import WEBHOOKS, Pisp, payment_answer

COOKIE = "session=what-nobody-is-shown"
PSU_ADDRESS = "192.0.2.77"
UNTOLD = ("X-Api-Key", "X-Auth-Token", "X-Signature", "PSU-IP-Address", "webhook-signature")
Told = Callable[[ReceivedRequest], Reply]


def telling(status: int, body: Any) -> Told:
    def answer(sent: ReceivedRequest) -> Reply:
        said = " ".join(sent.headers.values())
        others = {"Server": said, "Content-Type": said, "Location": said, "Set-Cookie": COOKIE, "Retry-After": "1"}
        return Reply(status, jsontext.dumps(body).encode(), {**sent.headers, **others}, 0.01)

    return answer


def asked(causeway: Causeway, version: int, told: Told) -> list[ReceivedRequest]:
    deferred = DeferredRead(causeway, version, **{"psu-ip-address": PSU_ADDRESS})
    deferred.bank.answers[deferred.row.webhook] = told
    deferred.attempt()
    return deferred.bank.received


def paid(causeway: Causeway, version: int, told: Told) -> list[ReceivedRequest]:
    pisp = Pisp(causeway, version, deferred=True)
    pisp.headers["psu-ip-address"] = PSU_ADDRESS
    pisp.bank.answers[WEBHOOKS[version, "single"]] = told
    pisp.attempt(pisp.order())
    return pisp.bank.received


def revoked(causeway: Causeway, version: int, told: Told) -> list[ReceivedRequest]:
    causeway.banks[version].answers["/revoke_token"] = told
    causeway.tpp.call("POST", "/tpp/token/revoke", {"token": causeway.tpp.tokens(version)["access_token"]})
    (notice,) = causeway.recorded("revoke_token")
    causeway.hub.delivery.worker.attempt(notice.delivery_id)
    return causeway.banks[version].received


def notified(causeway: Causeway, version: int, told: Told) -> list[ReceivedRequest]:
    """Send an event to a client once, during a rotation of its secret. Return the client's requests."""
    causeway.tpp.set_events_url()
    causeway.hub.openbanking.clients.rotate_events_secret(causeway.tpp.client_id, 3600)

    def answer(sent: ReceivedRequest) -> Reply:
        causeway.receiver.received.append(sent)
        return told(sent)

    causeway.receiver.answer = answer  # type: ignore[method-assign]
    causeway.hub.delivery.worker.attempt(causeway.hub.openbanking.tpp_events.send_test(causeway.tpp.client))
    return causeway.receiver.received


GOOD: dict[str, dict[int, Any]] = {
    "relay": {1: {"status": "success", "accounts": []}, 2: {"accounts": []}},
    "payment": {1: payment_answer(1), 2: payment_answer(2)},
    "revoke_token": {1: {"status": "success"}, 2: {"status": "success"}},
    "event": {1: {}, 2: {}},
}
ATTEMPTED: Mapping[str, Callable[[Causeway, int, Told], list[ReceivedRequest]]] = {
    "relay": asked,
    "payment": paid,
    "revoke_token": revoked,
    "event": notified,
}
KINDS = pytest.mark.parametrize("kind", ATTEMPTED)


def attempted(causeway: Causeway, kind: str, version: int, told: Told) -> tuple[list[ReceivedRequest], Delivery]:
    sent = ATTEMPTED[kind](causeway, version, told)
    return sent, causeway.recorded(kind)[0]


@pytest.mark.parametrize(("version", "status"), [(1, 200), (2, 503)])
@KINDS
def test_credentials_in_request_and_response_headers_are_masked_in_delivery_records(
    causeway: Causeway, kind: str, version: int, status: int
) -> None:
    ((sent,), delivery) = attempted(causeway, kind, version, telling(status, GOOD[kind][version]))

    untold = [sent.headers[name] for name in UNTOLD if name in sent.headers]
    parts = [part.rpartition(".")[2] for value in untold for part in value.replace(",", " ").split()]
    stored = repr(list(causeway.hub.store.scan("deliveries")))
    assert (delivery.last["status"], len(untold) > 0) == (status, True)
    assert [secret for secret in (*untold, *parts, COOKIE) if len(secret) > 4 and secret in stored] == []
    assert delivery.last["sent"] == {
        name.lower(): MASK if name in UNTOLD else value for name, value in sent.headers.items()
    }
    assert delivery.last["received"] == delivery.last["sent"] | {
        **dict.fromkeys(("server", "content-type", "location", "set-cookie"), MASK),
        "retry-after": "1",
    }


@KINDS
def test_an_attempt_without_a_response_records_the_sent_headers(causeway: Causeway, kind: str) -> None:
    def fails(sent: ReceivedRequest) -> Any:
        raise TimedOut("late")

    ((sent,), delivery) = attempted(causeway, kind, 1, fails)

    assert [*delivery.last["sent"]] == [name.lower() for name in sent.headers]
    assert "received" not in delivery.last


@KINDS
def test_an_attempt_without_a_connection_records_no_headers(causeway: Causeway, kind: str) -> None:
    def fails(sent: ReceivedRequest) -> Any:
        raise NotReached("no connection could be made")

    _, delivery = attempted(causeway, kind, 1, fails)

    assert delivery.last["error"] == "no connection could be made"
    assert delivery.last.keys() == {"at", "milliseconds", "error"}


@pytest.mark.parametrize("kind", ["relay", "payment", "revoke_token"])
def test_an_open_circuit_adds_no_attempt_to_the_record(causeway: Causeway, kind: str) -> None:
    unused = telling(200, GOOD[kind][1])
    open_circuit(causeway, 1)

    sent, delivery = attempted(causeway, kind, 1, unused)

    assert (sent, delivery.history) == ([], ())


@KINDS
def test_an_unusable_response_is_recorded_with_its_headers(causeway: Causeway, kind: str) -> None:
    status = 500 if kind == "event" else 200
    _, delivery = attempted(causeway, kind, 2, lambda sent: Reply(status, b"<html>", {"Server": "proxy/1.0"}, 0.01))

    assert (delivery.last["status"], delivery.last["received"]) == (status, {"server": "proxy/1.0"})


def test_response_headers_are_recorded_despite_an_internal_error_after_the_response(
    causeway: Causeway, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("chalicelib.openbanking.bank_client.bank_answers.parse_reply", lambda *_: 1 / 0)

    _, delivery = attempted(causeway, "relay", 1, lambda sent: Reply(200, b"{}", {"Server": "bank"}, 0.01))

    assert delivery.last["error"] == "a defect of this service: ZeroDivisionError"
    assert delivery.last["received"] == {"server": "bank"}
