"""Payments that are answered later: each reaches its bank at most once, and what is said about it is true."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from chalicelib.delivery.delivery_plan import MINUTE
from chalicelib.delivery.sweeper import sweep
from chalicelib.foundation.aws.errors import NotSent
from chalicelib.foundation.aws.queues import Queue
from chalicelib.foundation.dynamodb.store import StoreUnavailable
from chalicelib.foundation.http.outbound import ConnectionDropped, NotReached, Reply, ResponseTooLarge, TimedOut
from chalicelib.openbanking.bank_client.bank_circuits import Breaker
from chalicelib.openbanking.bank_client.bank_client import BankClient
from chalicelib.openbanking.bank_client.bank_failures import CircuitOpen
from chalicelib.openbanking.flows.payments import deferred_orders, execution
from chalicelib.openbanking.protocol import refusals
from tests.causeway import Answer, Causeway
from tests.openbanking.deferred_calls import DOWN, LATER, Died, accepted, dies
from tests.openbanking.deferred_payments import LaterPayer, payments
from tests.openbanking.faults import Fault
from tests.openbanking.payer import REFUSAL, WEBHOOKS, Payer, order, taken
from tests.openbanking.stage import error_of

VERSIONS = pytest.mark.parametrize("version", [1, 2])
KINDS = pytest.mark.parametrize("kind", ["single", "bulk", "direct"])
SOME = pytest.mark.parametrize(("version", "kind"), [(1, "single"), (2, "bulk"), (1, "direct")])
ONE_TIME = "one_time"


# -- as if it had been waited for


@pytest.mark.parametrize(("version", "kind"), [(1, "single"), (2, "single"), (1, "bulk"), (2, "direct")])
def test_deferred_payment_is_stored_like_an_immediate_payment(causeway: Causeway, version: int, kind: str) -> None:
    payer = LaterPayer(causeway, version, kind)
    assert payer.pay_at_once().status == 200
    payer.bank_does(taken(version, "P-2"))

    payer.attempt(payer.order())

    at_once, later = payments(causeway)
    differing = {"payment", "payment_id", "request_id"}
    assert {name: at_once[name] for name in at_once.keys() - differing} == {
        name: later[name] for name in later.keys() - differing
    }
    assert later["request_id"] == payer.side.received[1].headers["X-Request-Id"]
    assert payer.report(4, "P-2").status == 200


def test_status_report_on_a_deferred_payment_records_an_event(causeway: Causeway) -> None:
    causeway.tpp.set_events_url()
    payer = LaterPayer(causeway, 1, "direct")
    payer.attempt(payer.order())
    payer.report(4)

    (event,) = causeway.recorded("event")
    assert (event.topic, event.client_id) == ("payment.status_changed", causeway.tpp.client_id)


@VERSIONS
def test_early_report_on_a_deferred_payment_is_applied_and_records_an_event(causeway: Causeway, version: int) -> None:
    causeway.tpp.set_events_url()
    payer = LaterPayer(causeway, version, "direct")
    request_id = payer.order()
    assert payer.report(4).status == 400

    payer.attempt(request_id)

    assert payer.outcome(request_id)["state"] == "done"
    (payment,) = payments(causeway)
    assert [entry["status"] for entry in payment["history"]] == ([1, 4] if version == 1 else ["RCVD", "ACSC"])
    assert [each.topic for each in causeway.recorded("event")] == ["payment.status_changed"]


def test_deferred_bulk_order_of_1000_payments_is_stored_in_parts(causeway: Causeway) -> None:
    payer = LaterPayer(causeway, 2, "bulk")
    item = order(causeway, 2, "bulk")["payments"][0]
    item |= {"instructed_amount": {"amount": "0.10", "currency": "EUR"}, "creditor_name": "ö" * 70}
    item |= {"remittance_information_unstructured": "x" * 140}
    total = {"currency": "EUR", "amount": "100.00"}

    request_id = payer.order(payments=[item] * 1000, instructed_totals=total)
    assert causeway.delivery(request_id).body_parts > 1
    payer.attempt(request_id)

    assert payer.outcome(request_id)["state"] == "done"
    assert payer.side.received[0].body.count(b'"amount":"0.10"') == 1000


def test_bearer_of_a_spent_consent_can_fetch_the_outcome(causeway: Causeway) -> None:
    payer = LaterPayer(causeway, 1, consent_type=ONE_TIME)
    request_id = payer.order()
    assert (payer.consent_status(), payer.pay().status) == ("spent", 401)

    payer.attempt(request_id)

    assert payer.outcome(request_id)["state"] == "done"
    assert causeway.tpp.call("GET", "/tpp/consent", bearer=payer.bearer).status == 401
    assert payer.calls == 1


@KINDS
def test_reusable_consent_accepts_several_deferred_orders(causeway: Causeway, kind: str) -> None:
    payer = LaterPayer(causeway, 1, kind)

    ids = [payer.order(), payer.order()]
    for request_id in ids:
        payer.attempt(request_id)

    assert (len(set(ids)), payer.calls) == (2, 2)


WRONG_ORDERS: dict[str, tuple[int, str, str, dict[str, Any]]] = {
    "a negative amount": (400, "FORMAT_ERROR", "single", {"amount": "-1"}),
    "an unknown member": (400, "FORMAT_ERROR", "single", {"extra": 1}),
    "a callback elsewhere": (400, "FORMAT_ERROR", "single", {"callback_url": "https://evil.example/"}),
    "a scheme that the bank does not have": (400, "PAYMENT_SCHEME_INVALID", "single", {"payment_scheme": "SWIFT"}),
    "an account that was not approved": (403, "SERVICE_BLOCKED", "single", {"sender_iban": "DE89370400440532013000"}),
    "totals that are not the sum": (400, "FORMAT_ERROR", "bulk", {"totals": [{"currency": "EUR", "amount": "1"}]}),
    "an unknown bank": (404, "RESOURCE_UNKNOWN", "direct", {"bic": "NOSUCHXX"}),
}


@pytest.mark.parametrize(("status", "code", "kind", "wrong"), WRONG_ORDERS.values(), ids=WRONG_ORDERS)
def test_invalid_deferred_order_is_rejected_at_once_and_spends_nothing(
    causeway: Causeway, status: int, code: str, kind: str, wrong: dict[str, Any]
) -> None:
    payer = LaterPayer(causeway, 1, kind, ONE_TIME)

    assert error_of(payer.pay("key-1", **wrong))[:2] == (status, code)

    assert (causeway.recorded(), payer.calls) == ([], 0)
    assert payer.order("key-1")


def test_overlong_idempotency_key_of_a_deferred_order_returns_400(causeway: Causeway) -> None:
    assert error_of(LaterPayer(causeway, 1).pay("k" * 256))[:2] == (400, "HEADERS_ERROR")
    assert causeway.recorded() == []


# -- at most once


@SOME
def test_worker_death_after_sending_leaves_the_outcome_unknown(causeway: Causeway, version: int, kind: str) -> None:
    payer = LaterPayer(causeway, version, kind, ONE_TIME)
    request_id = payer.order()
    payer.side.answers[WEBHOOKS[version, kind]] = dies
    with pytest.raises(Died):
        payer.attempt(request_id)
    assert payer.outcome(request_id)["state"] == "running"
    payer.bank_does(taken(version))

    payer.attempt(request_id)

    assert payer.failure(request_id) == (502, refusals.PAYMENT_OUTCOME_UNKNOWN.sentence)
    assert payer.calls == 1
    assert kind == "direct" or payer.consent_status() == "spent"


def test_worker_death_before_sending_also_leaves_the_outcome_unknown(
    causeway: Causeway, monkeypatch: pytest.MonkeyPatch
) -> None:
    payer = LaterPayer(causeway, 1, consent_type=ONE_TIME)
    request_id = payer.order()
    with monkeypatch.context() as patch:
        patch.setattr(deferred_orders, "prepare_order", dies_instead)
        with pytest.raises(Died):
            payer.attempt(request_id)

    payer.attempt(request_id)

    assert payer.failure(request_id) == (502, refusals.PAYMENT_OUTCOME_UNKNOWN.sentence)
    assert (payer.calls, payer.consent_status()) == (0, "spent")


def dies_instead(*arguments: object, **options: object) -> Any:
    raise Died


@pytest.mark.parametrize("applied", [True, False], ids=["applied", "not applied"])
def test_failed_write_of_the_outcome_never_sends_the_order_again(causeway: Causeway, applied: bool) -> None:
    payer = LaterPayer(causeway, 2, consent_type=ONE_TIME)
    request_id = payer.order()
    fault = Fault(causeway, "after" if applied else "before", 2, lasting=True, operation="TransactWriteItems")
    with fault, pytest.raises(StoreUnavailable):
        payer.attempt(request_id)

    payer.attempt(request_id)

    assert payer.calls == 1
    if applied:
        assert payer.outcome(request_id)["state"] == "done"
    else:
        assert payer.failure(request_id) == (502, refusals.PAYMENT_OUTCOME_UNKNOWN.sentence)


def test_defect_after_sending_never_sends_the_order_again(causeway: Causeway, monkeypatch: pytest.MonkeyPatch) -> None:
    payer = LaterPayer(causeway, 1, consent_type=ONE_TIME)
    request_id = payer.order()
    real = execution.send_order

    def broken(*arguments: Any, bank_client: BankClient, is_local: bool) -> Any:
        real(*arguments, bank_client=bank_client, is_local=is_local)
        raise ZeroDivisionError

    monkeypatch.setattr(deferred_orders, "send_order", broken)
    for _ in range(3):
        payer.attempt(request_id)

    assert payer.calls == 1
    assert payer.failure(request_id) == (502, refusals.PAYMENT_OUTCOME_UNKNOWN.sentence)


@SOME
def test_order_that_never_reached_the_bank_is_sent_again(causeway: Causeway, version: int, kind: str) -> None:
    payer = LaterPayer(causeway, version, kind, ONE_TIME)
    request_id = payer.order()
    payer.bank_does(DOWN)
    payer.attempt(request_id)
    assert payer.outcome(request_id) == {"state": "queued", "status": None, "body": None}
    assert 4 <= (causeway.delivery(request_id).due_at or 0) - causeway.clock.time() <= 6
    payer.bank_does(taken(version))

    payer.attempt(request_id)

    assert (payer.outcome(request_id)["state"], payer.calls) == ("done", 2)
    assert len({sent.headers["X-Request-Id"] for sent in payer.side.received}) == 1
    assert kind == "direct" or payer.consent_status() == "spent"


@SOME
def test_second_failed_connection_returns_not_sent_and_restores_the_consent(
    causeway: Causeway, version: int, kind: str
) -> None:
    payer = LaterPayer(causeway, version, kind, ONE_TIME)
    payer.bank_does(DOWN)
    request_id = payer.order()
    for _ in range(2):
        payer.attempt(request_id)

    assert (payer.failure(request_id), payer.calls) == ((502, refusals.PAYMENT_NOT_SENT.sentence), 2)
    payer.bank_does(taken(version))
    assert payer.pay_at_once().status == 200


FINAL: dict[str, tuple[int, Any, str]] = {
    "refuses in version 1": (1, REFUSAL[1], refusals.PAYMENT_REFUSED.sentence),
    "refuses in version 2": (2, REFUSAL[2], refusals.PAYMENT_REFUSED.sentence),
    "is late": (1, TimedOut("no answer came in time"), refusals.PAYMENT_OUTCOME_UNKNOWN.sentence),
    "is cut off": (2, ConnectionDropped("broke"), refusals.PAYMENT_OUTCOME_UNKNOWN.sentence),
    "answers too much": (1, ResponseTooLarge("too large"), refusals.PAYMENT_ANSWER_BAD.sentence),
    "answers nonsense": (2, Reply(200, b"<html>", {}, 0), refusals.PAYMENT_ANSWER_BAD.sentence),
    "fails": (1, Reply(503, b"", {"Retry-After": "1"}, 0), refusals.PAYMENT_OUTCOME_UNKNOWN.sentence),
    "names no payment": (2, taken(2, ""), refusals.PAYMENT_ANSWER_BAD.sentence),
}


@pytest.mark.parametrize(("version", "answer", "words"), FINAL.values(), ids=FINAL)
def test_order_that_may_have_reached_the_bank_is_never_sent_again(
    causeway: Causeway, version: int, answer: Any, words: str
) -> None:
    payer = LaterPayer(causeway, version, consent_type=ONE_TIME)
    request_id = payer.order()
    payer.bank_does(answer)

    payer.attempt(request_id)

    assert payer.failure(request_id) == (502, words)
    assert (payer.calls, payer.consent_status()) == (1, "spent")


def test_timeout_after_a_failed_connection_leaves_the_outcome_unknown(causeway: Causeway) -> None:
    payer = LaterPayer(causeway, 1, consent_type=ONE_TIME)
    request_id = payer.order()
    payer.bank_does(DOWN)
    payer.attempt(request_id)
    payer.bank_does(TimedOut("no answer came in time"))

    payer.attempt(request_id)

    assert payer.failure(request_id) == (502, refusals.PAYMENT_OUTCOME_UNKNOWN.sentence)
    assert (payer.calls, payer.consent_status()) == (2, "spent")


class RefusingQueue:
    """The queue of deliveries, which refuses everything at some of its calls; delays go by the service's clock."""

    def __init__(self, causeway: Causeway, monkeypatch: pytest.MonkeyPatch, refused: Sequence[int]) -> None:
        self.clock = causeway.clock
        self.calls = 0
        self.messages: list[tuple[float, str]] = []
        self._refused = refused
        monkeypatch.setattr(Queue, "send_all", lambda _, bodies: self._take(bodies, 0))
        monkeypatch.setattr(Queue, "send", lambda _, body, delay=0: self._take([body], delay))
        monkeypatch.setattr(Queue, "count_messages", lambda _: len(self.messages))

    def _take(self, bodies: Sequence[str], delay: int) -> Sequence[str]:
        self.calls += 1
        if self.calls in self._refused:
            raise NotSent("no connection could be made")
        self.messages += [(self.clock.time() + delay, body) for body in bodies]
        return []

    def receive(self) -> list[str]:
        """The visible messages, which are taken out."""
        found = [body for at, body in self.messages if at <= self.clock.time()]
        self.messages = [each for each in self.messages if each[0] > self.clock.time()]
        return found


@pytest.mark.parametrize("refused", [(1,), (2,), (1, 2), (1, 2, 3)], ids=str)
@pytest.mark.parametrize("waiting", [0, 60])
def test_deferred_payment_reaches_its_bank_within_5_minutes_if_the_queue_refuses_messages(
    causeway: Causeway, monkeypatch: pytest.MonkeyPatch, refused: Sequence[int], waiting: int
) -> None:
    """The queue refuses the messages of the payment, of its second attempt or of the first sweeps."""
    payer, queue = LaterPayer(causeway, 2), RefusingQueue(causeway, monkeypatch, refused)
    answers: list[Any] = [taken(2), NotReached("nobody is there")]
    payer.side.answers[WEBHOOKS[2, "single"]] = lambda sent: answers.pop()
    request_id, accepted_at = payer.order(), causeway.clock.time()
    for _ in range(waiting):
        recorded = causeway.hub.delivery.outbox.record("event", "", receiver="client#absent", client_id="absent")
        causeway.hub.store.transact(recorded.operations)
    while payer.outcome(request_id)["state"] != "done":
        for delivery_id in queue.receive():
            causeway.hub.delivery.worker.attempt(delivery_id)
        causeway.clock.advance(6)
        if (causeway.clock.time() - accepted_at) % 60 == 0:
            causeway.hub.delivery.call(sweep)
        assert causeway.clock.time() <= accepted_at + 5 * MINUTE

    assert queue.calls >= max(refused)
    assert answers == []


def open_circuit(payer: Payer) -> None:
    for _ in range(5):
        payer.causeway.hub.openbanking.bank_client.breaker.record_failure(payer.side.bic)


def test_order_waits_during_an_open_circuit_without_counting_an_attempt(causeway: Causeway) -> None:
    payer = LaterPayer(causeway, 2, consent_type=ONE_TIME)
    open_circuit(payer)
    request_id = payer.order()
    payer.attempt(request_id)
    assert (causeway.delivery(request_id).attempts, payer.outcome(request_id)["state"]) == (0, "queued")

    while causeway.delivery(request_id).state == "due":
        payer.attempt(request_id)

    assert (payer.outcome(request_id)["state"], payer.calls) == ("done", 1)
    assert causeway.delivery(request_id).attempts == 1


def test_order_expires_as_not_sent_if_the_circuit_stays_open(
    causeway: Causeway, monkeypatch: pytest.MonkeyPatch
) -> None:
    payer = LaterPayer(causeway, 1, consent_type=ONE_TIME)
    request_id, began = payer.order(), causeway.clock.time()

    def stays_open(breaker: Breaker, key: str) -> None:
        raise CircuitOpen(30)

    monkeypatch.setattr(Breaker, "admit", stays_open)
    while causeway.delivery(request_id).state == "due":
        payer.attempt(request_id)

    assert 200 < causeway.clock.time() - began <= 360
    assert payer.failure(request_id) == (502, refusals.PAYMENT_NOT_SENT.sentence)
    assert (payer.calls, payer.consent_status()) == (0, "authorised")


@SOME
def test_order_without_an_attempt_in_5_minutes_expires_as_not_sent(causeway: Causeway, version: int, kind: str) -> None:
    payer = LaterPayer(causeway, version, kind, ONE_TIME)
    request_id = payer.order()
    causeway.clock.advance(301)

    payer.attempt(request_id)

    assert payer.failure(request_id) == (502, refusals.PAYMENT_NOT_SENT.sentence)
    assert payer.calls == 0
    assert payer.pay_at_once().status == 200


# -- what has changed in the meantime


@SOME
def test_order_to_an_inactive_bank_is_not_sent(causeway: Causeway, version: int, kind: str) -> None:
    payer = LaterPayer(causeway, version, kind, ONE_TIME)
    request_id, bic = payer.order(), payer.side.bic
    causeway.hub.openbanking.banks.change(bic, active=False)
    causeway.hub.openbanking.banks._forget()
    try:
        payer.attempt(request_id)
    finally:
        causeway.hub.openbanking.banks.change(bic, active=True)
        causeway.hub.openbanking.banks._forget()

    assert payer.failure(request_id) == (502, refusals.PAYMENT_NOT_SENT.sentence)
    assert payer.calls == 0
    assert payer.pay_at_once().status == 200


@pytest.mark.parametrize("consent_type", ["reusable", ONE_TIME])
def test_order_of_a_revoked_consent_is_not_sent(causeway: Causeway, consent_type: str) -> None:
    payer = LaterPayer(causeway, 1, consent_type=consent_type)
    request_id = payer.order()
    assert causeway.tpp.call("POST", "/tpp/token/revoke", {"token": payer.bearer}).status == 200

    payer.attempt(request_id)

    delivery = causeway.delivery(request_id)
    assert delivery.state == "failed"
    assert payer.calls == 0
    assert payer.consent_status() == "revoked"
    assert delivery.answer is not None
    assert delivery.answer["status"] == 401


def test_order_of_an_inactive_client_is_not_sent(causeway: Causeway) -> None:
    payer = LaterPayer(causeway, 1, "direct")
    request_id = payer.order()
    causeway.hub.openbanking.clients.deactivate(causeway.tpp.client_id)
    payer.attempt(request_id)
    causeway.hub.openbanking.clients.activate(causeway.tpp.client_id)

    status, _ = payer.failure(request_id)
    assert (status, payer.calls) == (401, 0)


def test_consent_revoked_during_a_failed_connection_stays_revoked(causeway: Causeway) -> None:
    payer = LaterPayer(causeway, 1, consent_type=ONE_TIME)
    request_id = payer.order()
    payer.bank_does(DOWN)
    payer.attempt(request_id)

    def revoked_on_the_way(sent: object) -> Any:
        causeway.tpp.call("POST", "/tpp/token/revoke", {"token": payer.bearer})
        return NotReached("no connection")

    payer.side.answers[WEBHOOKS[1, "single"]] = revoked_on_the_way
    payer.attempt(request_id)

    assert (causeway.delivery(request_id).state, payer.consent_status()) == ("failed", "revoked")


def test_deferred_order_is_sent_after_a_refresh_of_its_bearer(causeway: Causeway) -> None:
    payer = LaterPayer(causeway, 1)
    request_id = payer.order()
    tokens = causeway.tpp.call("POST", "/tpp/token", {"refresh_token": payer.refresh_token}).body

    payer.attempt(request_id)

    payer.bearer = tokens["access_token"]
    assert payer.outcome(request_id)["state"] == "done"


# -- idempotency keys


@SOME
def test_repeated_order_returns_the_same_request_id_with_or_without_respond_async(
    causeway: Causeway, version: int, kind: str
) -> None:
    payer = LaterPayer(causeway, version, kind, ONE_TIME)
    request_id = payer.order("key-1")

    assert [payer.order("key-1"), accepted(payer.pay_at_once("key-1"))] == [request_id] * 2
    payer.attempt(request_id)
    assert [payer.order("key-1"), accepted(payer.pay_at_once("key-1"))] == [request_id] * 2
    assert (len(causeway.recorded()), payer.calls) == (1, 1)


def test_repeat_of_a_failed_order_returns_the_same_request_id(causeway: Causeway) -> None:
    payer = LaterPayer(causeway, 1)
    payer.bank_does(REFUSAL[1])
    request_id = payer.order("key-1")
    payer.attempt(request_id)

    assert payer.order("key-1") == request_id
    assert payer.calls == 1


def test_reused_key_with_another_body_returns_400(causeway: Causeway) -> None:
    payer = LaterPayer(causeway, 1)
    payer.order("key-1")

    assert error_of(payer.pay("key-1", extra=1))[:2] == (400, "HEADERS_ERROR")
    assert len(causeway.recorded()) == 1


@pytest.mark.parametrize(("version", "consent_type"), [(1, "reusable"), (2, ONE_TIME)])
def test_deferred_repeat_of_an_immediate_payment_returns_the_stored_response(
    causeway: Causeway, version: int, consent_type: str
) -> None:
    payer = LaterPayer(causeway, version, consent_type=consent_type)
    first = payer.pay_at_once("key-1")

    second = payer.pay("key-1")

    assert (second.status, second.text) == (200, first.text)
    assert "preference-applied" not in second.headers
    assert (causeway.recorded(), payer.calls) == ([], 1)


@pytest.mark.parametrize(("key", "consent_type"), [("key-1", "reusable"), ("key-1", ONE_TIME), (None, ONE_TIME)])
def test_two_concurrent_deferred_orders_record_one_delivery(
    causeway: Causeway, key: str | None, consent_type: str
) -> None:
    payer = LaterPayer(causeway, 1, consent_type=consent_type)
    inner: list[Answer] = []

    with causeway.meanwhile("transact", lambda: inner.append(payer.pay(key))):
        outer = payer.pay(key)

    (delivery,) = causeway.recorded()
    assert accepted(inner[0]) == delivery.delivery_id
    if key:
        assert accepted(outer) == delivery.delivery_id
    else:
        assert outer.status == 401


def test_concurrent_immediate_and_deferred_orders_reach_the_bank_once(causeway: Causeway) -> None:
    payer = LaterPayer(causeway, 1)
    inner: list[str] = []

    def ordered() -> None:
        payer.headers = dict(LATER)
        inner.append(payer.order("key-1"))

    with causeway.meanwhile("transact", ordered):
        assert accepted(payer.pay_at_once("key-1")) == inner[0]

    payer.attempt(inner[0])
    assert payer.calls == 1


@pytest.mark.parametrize("applied", [True, False], ids=["applied", "not applied"])
@pytest.mark.parametrize(("key", "consent_type"), [("key-1", ONE_TIME), (None, "reusable")])
def test_deferred_order_returns_202_only_if_it_was_written(
    causeway: Causeway, key: str | None, consent_type: str, applied: bool
) -> None:
    payer = LaterPayer(causeway, 1, consent_type=consent_type)

    with causeway.answer_lost("transact", applied=applied):
        first = payer.pay(key)

    assert first.status == (202 if applied else 500)
    assert len(causeway.recorded()) == (1 if applied else 0)
    request_id = accepted(first) if applied else payer.order(key)
    payer.attempt(request_id)
    assert (payer.outcome(request_id)["state"], payer.calls) == ("done", 1)
