"""Tests of deferred payments: a bank receives each payment at most once, and the reported outcome is correct."""

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
from tests.openbanking.faults import Fault
from tests.openbanking.kit import LATER, UNREACHABLE, VERSIONS, WorkerKilled, accepted_id, kill_worker
from tests.openbanking.payments import KINDS, REFUSAL, WEBHOOKS, Pisp, order, payment_answer, stored_payments
from tests.openbanking.relay import error_of

SOME = pytest.mark.parametrize(("version", "kind"), [(1, "single"), (2, "bulk"), (1, "direct")])
ONE_TIME = "one_time"


# -- as if it had been waited for


@pytest.mark.parametrize(("version", "kind"), [(1, "single"), (2, "single"), (1, "bulk"), (2, "direct")])
def test_a_deferred_payment_creates_the_same_records_as_an_immediate_payment(
    causeway: Causeway, version: int, kind: str
) -> None:
    pisp = Pisp(causeway, version, kind, deferred=True)
    assert pisp.pay_at_once().status == 200
    pisp.bank_answers(payment_answer(version, "P-2"))

    pisp.attempt(pisp.order())

    at_once, later = stored_payments(causeway)
    differing = {"payment", "payment_id", "request_id"}
    assert {name: at_once[name] for name in at_once.keys() - differing} == {
        name: later[name] for name in later.keys() - differing
    }
    assert later["request_id"] == pisp.bank.received[1].headers["X-Request-Id"]
    assert pisp.report(4, "P-2").status == 200


def test_a_status_report_on_a_deferred_payment_records_an_event(causeway: Causeway) -> None:
    causeway.tpp.set_events_url()
    pisp = Pisp(causeway, 1, "direct", deferred=True)
    pisp.attempt(pisp.order())
    pisp.report(4)

    (event,) = causeway.recorded("event")
    assert (event.topic, event.client_id) == ("payment.status_changed", causeway.tpp.client_id)


@VERSIONS
def test_an_early_status_report_on_a_deferred_payment_is_applied_and_records_an_event(
    causeway: Causeway, version: int
) -> None:
    causeway.tpp.set_events_url()
    pisp = Pisp(causeway, version, "direct", deferred=True)
    request_id = pisp.order()
    assert pisp.report(4).status == 400

    pisp.attempt(request_id)

    assert pisp.outcome(request_id)["state"] == "done"
    (payment,) = stored_payments(causeway)
    assert [entry["status"] for entry in payment["history"]] == ([1, 4] if version == 1 else ["RCVD", "ACSC"])
    assert [each.topic for each in causeway.recorded("event")] == ["payment.status_changed"]


def test_a_deferred_bulk_order_of_1000_payments_is_stored_in_parts(causeway: Causeway) -> None:
    pisp = Pisp(causeway, 2, "bulk", deferred=True)
    item = order(causeway, 2, "bulk")["payments"][0]
    item |= {"instructed_amount": {"amount": "0.10", "currency": "EUR"}, "creditor_name": "ö" * 70}
    item |= {"remittance_information_unstructured": "x" * 140}
    total = {"currency": "EUR", "amount": "100.00"}

    request_id = pisp.order(payments=[item] * 1000, instructed_totals=total)
    assert causeway.delivery(request_id).body_parts > 1
    pisp.attempt(request_id)

    assert pisp.outcome(request_id)["state"] == "done"
    assert pisp.bank.received[0].body.count(b'"amount":"0.10"') == 1000


def test_the_bearer_token_of_a_used_one_time_consent_can_fetch_the_outcome_of_its_payment(causeway: Causeway) -> None:
    pisp = Pisp(causeway, 1, consent_type=ONE_TIME, deferred=True)
    request_id = pisp.order()
    assert (pisp.consent_status(), pisp.pay().status) == ("spent", 401)

    pisp.attempt(request_id)

    assert pisp.outcome(request_id)["state"] == "done"
    assert causeway.tpp.call("GET", "/tpp/consent", bearer=pisp.bearer).status == 401
    assert pisp.calls == 1


@KINDS
def test_a_reusable_consent_accepts_several_deferred_orders(causeway: Causeway, kind: str) -> None:
    pisp = Pisp(causeway, 1, kind, deferred=True)

    ids = [pisp.order(), pisp.order()]
    for request_id in ids:
        pisp.attempt(request_id)

    assert (len(set(ids)), pisp.calls) == (2, 2)


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
def test_an_invalid_deferred_order_is_rejected_immediately_and_does_not_use_the_consent(
    causeway: Causeway, status: int, code: str, kind: str, wrong: dict[str, Any]
) -> None:
    pisp = Pisp(causeway, 1, kind, ONE_TIME, deferred=True)

    assert error_of(pisp.pay("key-1", **wrong))[:2] == (status, code)

    assert (causeway.recorded(), pisp.calls) == ([], 0)
    assert pisp.order("key-1")


def test_an_overlong_idempotency_key_of_a_deferred_order_returns_400(causeway: Causeway) -> None:
    assert error_of(Pisp(causeway, 1, deferred=True).pay("k" * 256))[:2] == (400, "HEADERS_ERROR")
    assert causeway.recorded() == []


# -- at most once


@SOME
def test_a_payment_has_an_unknown_outcome_if_the_worker_crashes_after_sending_the_payment(
    causeway: Causeway, version: int, kind: str
) -> None:
    pisp = Pisp(causeway, version, kind, ONE_TIME, deferred=True)
    request_id = pisp.order()
    pisp.bank.answers[WEBHOOKS[version, kind]] = kill_worker
    with pytest.raises(WorkerKilled):
        pisp.attempt(request_id)
    assert pisp.outcome(request_id)["state"] == "running"
    pisp.bank_answers(payment_answer(version))

    pisp.attempt(request_id)

    assert pisp.failure(request_id) == (502, refusals.PAYMENT_OUTCOME_UNKNOWN.sentence)
    assert pisp.calls == 1
    assert kind == "direct" or pisp.consent_status() == "spent"


def test_a_payment_has_an_unknown_outcome_if_the_worker_crashes_before_sending_the_payment(
    causeway: Causeway, monkeypatch: pytest.MonkeyPatch
) -> None:
    pisp = Pisp(causeway, 1, consent_type=ONE_TIME, deferred=True)
    request_id = pisp.order()
    with monkeypatch.context() as patch:
        patch.setattr(deferred_orders, "prepare_order", dies_instead)
        with pytest.raises(WorkerKilled):
            pisp.attempt(request_id)

    pisp.attempt(request_id)

    assert pisp.failure(request_id) == (502, refusals.PAYMENT_OUTCOME_UNKNOWN.sentence)
    assert (pisp.calls, pisp.consent_status()) == (0, "spent")


def dies_instead(*arguments: object, **options: object) -> Any:
    raise WorkerKilled


@pytest.mark.parametrize("applied", [True, False], ids=["applied", "not applied"])
def test_a_payment_order_is_not_sent_again_if_its_outcome_could_not_be_stored(
    causeway: Causeway, applied: bool
) -> None:
    pisp = Pisp(causeway, 2, consent_type=ONE_TIME, deferred=True)
    request_id = pisp.order()
    fault = Fault(causeway, "after" if applied else "before", 2, lasting=True, operation="TransactWriteItems")
    with fault, pytest.raises(StoreUnavailable):
        pisp.attempt(request_id)

    pisp.attempt(request_id)

    assert pisp.calls == 1
    if applied:
        assert pisp.outcome(request_id)["state"] == "done"
    else:
        assert pisp.failure(request_id) == (502, refusals.PAYMENT_OUTCOME_UNKNOWN.sentence)


def test_a_payment_order_is_not_sent_again_after_an_internal_error_that_follows_sending(
    causeway: Causeway, monkeypatch: pytest.MonkeyPatch
) -> None:
    pisp = Pisp(causeway, 1, consent_type=ONE_TIME, deferred=True)
    request_id = pisp.order()
    real = execution.send_order

    def broken(*arguments: Any, bank_client: BankClient, is_local: bool) -> Any:
        real(*arguments, bank_client=bank_client, is_local=is_local)
        raise ZeroDivisionError

    monkeypatch.setattr(deferred_orders, "send_order", broken)
    for _ in range(3):
        pisp.attempt(request_id)

    assert pisp.calls == 1
    assert pisp.failure(request_id) == (502, refusals.PAYMENT_OUTCOME_UNKNOWN.sentence)


@SOME
def test_a_payment_order_that_never_reached_the_bank_is_sent_again(causeway: Causeway, version: int, kind: str) -> None:
    pisp = Pisp(causeway, version, kind, ONE_TIME, deferred=True)
    request_id = pisp.order()
    pisp.bank_answers(UNREACHABLE)
    pisp.attempt(request_id)
    assert pisp.outcome(request_id) == {"state": "queued", "status": None, "body": None}
    assert 4 <= (causeway.delivery(request_id).due_at or 0) - causeway.clock.time() <= 6
    pisp.bank_answers(payment_answer(version))

    pisp.attempt(request_id)

    assert (pisp.outcome(request_id)["state"], pisp.calls) == ("done", 2)
    assert len({sent.headers["X-Request-Id"] for sent in pisp.bank.received}) == 1
    assert kind == "direct" or pisp.consent_status() == "spent"


@SOME
def test_after_a_second_failed_connection_the_outcome_is_not_sent_and_the_consent_is_restored(
    causeway: Causeway, version: int, kind: str
) -> None:
    pisp = Pisp(causeway, version, kind, ONE_TIME, deferred=True)
    pisp.bank_answers(UNREACHABLE)
    request_id = pisp.order()
    for _ in range(2):
        pisp.attempt(request_id)

    assert (pisp.failure(request_id), pisp.calls) == ((502, refusals.PAYMENT_NOT_SENT.sentence), 2)
    pisp.bank_answers(payment_answer(version))
    assert pisp.pay_at_once().status == 200


FINAL: dict[str, tuple[int, Any, str]] = {
    "refuses in version 1": (1, REFUSAL[1], refusals.PAYMENT_REFUSED.sentence),
    "refuses in version 2": (2, REFUSAL[2], refusals.PAYMENT_REFUSED.sentence),
    "is late": (1, TimedOut("no answer came in time"), refusals.PAYMENT_OUTCOME_UNKNOWN.sentence),
    "is cut off": (2, ConnectionDropped("broke"), refusals.PAYMENT_OUTCOME_UNKNOWN.sentence),
    "answers too much": (1, ResponseTooLarge("too large"), refusals.PAYMENT_ANSWER_BAD.sentence),
    "answers nonsense": (2, Reply(200, b"<html>", {}, 0), refusals.PAYMENT_ANSWER_BAD.sentence),
    "fails": (1, Reply(503, b"", {"Retry-After": "1"}, 0), refusals.PAYMENT_OUTCOME_UNKNOWN.sentence),
    "names no payment": (2, payment_answer(2, ""), refusals.PAYMENT_ANSWER_BAD.sentence),
}


@pytest.mark.parametrize(("version", "answer", "words"), FINAL.values(), ids=FINAL)
def test_a_payment_order_that_may_have_reached_the_bank_is_never_sent_again(
    causeway: Causeway, version: int, answer: Any, words: str
) -> None:
    pisp = Pisp(causeway, version, consent_type=ONE_TIME, deferred=True)
    request_id = pisp.order()
    pisp.bank_answers(answer)

    pisp.attempt(request_id)

    assert pisp.failure(request_id) == (502, words)
    assert (pisp.calls, pisp.consent_status()) == (1, "spent")


def test_a_timeout_after_a_failed_connection_leaves_the_outcome_unknown(causeway: Causeway) -> None:
    pisp = Pisp(causeway, 1, consent_type=ONE_TIME, deferred=True)
    request_id = pisp.order()
    pisp.bank_answers(UNREACHABLE)
    pisp.attempt(request_id)
    pisp.bank_answers(TimedOut("no answer came in time"))

    pisp.attempt(request_id)

    assert pisp.failure(request_id) == (502, refusals.PAYMENT_OUTCOME_UNKNOWN.sentence)
    assert (pisp.calls, pisp.consent_status()) == (2, "spent")


class RefusingQueue:
    """A queue of deliveries that rejects all messages of selected calls. Delays follow the service's clock."""

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
        found = [body for at, body in self.messages if at <= self.clock.time()]
        self.messages = [each for each in self.messages if each[0] > self.clock.time()]
        return found


@pytest.mark.parametrize("refused", [(1,), (2,), (1, 2), (1, 2, 3)], ids=str)
@pytest.mark.parametrize("waiting", [0, 60])
def test_a_deferred_payment_reaches_its_bank_within_5_minutes_if_the_queue_refuses_messages(
    causeway: Causeway, monkeypatch: pytest.MonkeyPatch, refused: Sequence[int], waiting: int
) -> None:
    """The queue rejects the messages of the payment, of the second attempt or of the first sweeps."""
    pisp, queue = Pisp(causeway, 2, deferred=True), RefusingQueue(causeway, monkeypatch, refused)
    answers: list[Any] = [payment_answer(2), NotReached("nobody is there")]
    pisp.bank.answers[WEBHOOKS[2, "single"]] = lambda sent: answers.pop()
    request_id, accepted_at = pisp.order(), causeway.clock.time()
    for _ in range(waiting):
        recorded = causeway.hub.delivery.outbox.record("event", "", receiver="client#absent", client_id="absent")
        causeway.hub.store.transact(recorded.operations)
    while pisp.outcome(request_id)["state"] != "done":
        for delivery_id in queue.receive():
            causeway.hub.delivery.worker.attempt(delivery_id)
        causeway.clock.advance(6)
        if (causeway.clock.time() - accepted_at) % 60 == 0:
            causeway.hub.delivery.call(sweep)
        assert causeway.clock.time() <= accepted_at + 5 * MINUTE

    assert queue.calls >= max(refused)
    assert answers == []


def open_circuit(pisp: Pisp) -> None:
    for _ in range(5):
        pisp.causeway.hub.openbanking.bank_client.breaker.record_failure(pisp.bank.bic)


def test_a_payment_order_waits_while_the_circuit_is_open_and_no_attempt_is_counted(causeway: Causeway) -> None:
    pisp = Pisp(causeway, 2, consent_type=ONE_TIME, deferred=True)
    open_circuit(pisp)
    request_id = pisp.order()
    pisp.attempt(request_id)
    assert (causeway.delivery(request_id).attempts, pisp.outcome(request_id)["state"]) == (0, "queued")

    while causeway.delivery(request_id).state == "due":
        pisp.attempt(request_id)

    assert (pisp.outcome(request_id)["state"], pisp.calls) == ("done", 1)
    assert causeway.delivery(request_id).attempts == 1


def test_a_payment_order_expires_with_the_outcome_not_sent_if_the_circuit_remains_open(
    causeway: Causeway, monkeypatch: pytest.MonkeyPatch
) -> None:
    pisp = Pisp(causeway, 1, consent_type=ONE_TIME, deferred=True)
    request_id, began = pisp.order(), causeway.clock.time()

    def stays_open(breaker: Breaker, key: str) -> None:
        raise CircuitOpen(30)

    monkeypatch.setattr(Breaker, "admit", stays_open)
    while causeway.delivery(request_id).state == "due":
        pisp.attempt(request_id)

    assert 200 < causeway.clock.time() - began <= 360
    assert pisp.failure(request_id) == (502, refusals.PAYMENT_NOT_SENT.sentence)
    assert (pisp.calls, pisp.consent_status()) == (0, "authorised")


@SOME
def test_a_payment_order_without_an_attempt_in_5_minutes_expires_with_the_outcome_not_sent(
    causeway: Causeway, version: int, kind: str
) -> None:
    pisp = Pisp(causeway, version, kind, ONE_TIME, deferred=True)
    request_id = pisp.order()
    causeway.clock.advance(301)

    pisp.attempt(request_id)

    assert pisp.failure(request_id) == (502, refusals.PAYMENT_NOT_SENT.sentence)
    assert pisp.calls == 0
    assert pisp.pay_at_once().status == 200


# -- what has changed in the meantime


@SOME
def test_a_payment_order_to_an_inactive_bank_is_not_sent(causeway: Causeway, version: int, kind: str) -> None:
    pisp = Pisp(causeway, version, kind, ONE_TIME, deferred=True)
    request_id, bic = pisp.order(), pisp.bank.bic
    causeway.hub.openbanking.banks.change(bic, active=False)
    causeway.hub.openbanking.banks.forget()
    try:
        pisp.attempt(request_id)
    finally:
        causeway.hub.openbanking.banks.change(bic, active=True)
        causeway.hub.openbanking.banks.forget()

    assert pisp.failure(request_id) == (502, refusals.PAYMENT_NOT_SENT.sentence)
    assert pisp.calls == 0
    assert pisp.pay_at_once().status == 200


@pytest.mark.parametrize("consent_type", ["reusable", ONE_TIME])
def test_a_payment_order_of_a_revoked_consent_is_not_sent(causeway: Causeway, consent_type: str) -> None:
    pisp = Pisp(causeway, 1, consent_type=consent_type, deferred=True)
    request_id = pisp.order()
    assert causeway.tpp.call("POST", "/tpp/token/revoke", {"token": pisp.bearer}).status == 200

    pisp.attempt(request_id)

    delivery = causeway.delivery(request_id)
    assert delivery.state == "failed"
    assert pisp.calls == 0
    assert pisp.consent_status() == "revoked"
    assert delivery.answer is not None
    assert delivery.answer["status"] == 401


def test_a_payment_order_of_an_inactive_client_is_not_sent(causeway: Causeway) -> None:
    pisp = Pisp(causeway, 1, "direct", deferred=True)
    request_id = pisp.order()
    causeway.hub.openbanking.clients.deactivate(causeway.tpp.client_id)
    pisp.attempt(request_id)
    causeway.hub.openbanking.clients.activate(causeway.tpp.client_id)

    status, _ = pisp.failure(request_id)
    assert (status, pisp.calls) == (401, 0)


def test_a_consent_revoked_during_a_failed_connection_remains_revoked(causeway: Causeway) -> None:
    pisp = Pisp(causeway, 1, consent_type=ONE_TIME, deferred=True)
    request_id = pisp.order()
    pisp.bank_answers(UNREACHABLE)
    pisp.attempt(request_id)

    def revoked_on_the_way(sent: object) -> Any:
        causeway.tpp.call("POST", "/tpp/token/revoke", {"token": pisp.bearer})
        return NotReached("no connection")

    pisp.bank.answers[WEBHOOKS[1, "single"]] = revoked_on_the_way
    pisp.attempt(request_id)

    assert (causeway.delivery(request_id).state, pisp.consent_status()) == ("failed", "revoked")


def test_a_deferred_order_is_sent_although_its_access_token_was_refreshed(causeway: Causeway) -> None:
    pisp = Pisp(causeway, 1, deferred=True)
    request_id = pisp.order()
    tokens = causeway.tpp.call("POST", "/tpp/token", {"refresh_token": pisp.refresh_token}).body

    pisp.attempt(request_id)

    pisp.bearer = tokens["access_token"]
    assert pisp.outcome(request_id)["state"] == "done"


# -- idempotency keys


@SOME
def test_a_retry_of_a_deferred_order_returns_its_request_id_even_without_respond_async(
    causeway: Causeway, version: int, kind: str
) -> None:
    pisp = Pisp(causeway, version, kind, ONE_TIME, deferred=True)
    request_id = pisp.order("key-1")

    assert [pisp.order("key-1"), accepted_id(pisp.pay_at_once("key-1"))] == [request_id] * 2
    pisp.attempt(request_id)
    assert [pisp.order("key-1"), accepted_id(pisp.pay_at_once("key-1"))] == [request_id] * 2
    assert (len(causeway.recorded()), pisp.calls) == (1, 1)


def test_a_retry_of_a_failed_deferred_order_returns_the_same_request_id(causeway: Causeway) -> None:
    pisp = Pisp(causeway, 1, deferred=True)
    pisp.bank_answers(REFUSAL[1])
    request_id = pisp.order("key-1")
    pisp.attempt(request_id)

    assert pisp.order("key-1") == request_id
    assert pisp.calls == 1


def test_a_reused_idempotency_key_with_another_body_returns_400(causeway: Causeway) -> None:
    pisp = Pisp(causeway, 1, deferred=True)
    pisp.order("key-1")

    assert error_of(pisp.pay("key-1", extra=1))[:2] == (400, "HEADERS_ERROR")
    assert len(causeway.recorded()) == 1


@pytest.mark.parametrize(("version", "consent_type"), [(1, "reusable"), (2, ONE_TIME)])
def test_a_deferred_retry_of_an_immediate_payment_returns_the_stored_response(
    causeway: Causeway, version: int, consent_type: str
) -> None:
    pisp = Pisp(causeway, version, consent_type=consent_type, deferred=True)
    first = pisp.pay_at_once("key-1")

    second = pisp.pay("key-1")

    assert (second.status, second.text) == (200, first.text)
    assert "preference-applied" not in second.headers
    assert (causeway.recorded(), pisp.calls) == ([], 1)


@pytest.mark.parametrize(("key", "consent_type"), [("key-1", "reusable"), ("key-1", ONE_TIME), (None, ONE_TIME)])
def test_two_concurrent_deferred_orders_record_one_delivery(
    causeway: Causeway, key: str | None, consent_type: str
) -> None:
    pisp = Pisp(causeway, 1, consent_type=consent_type, deferred=True)
    inner: list[Answer] = []

    with causeway.meanwhile("transact", lambda: inner.append(pisp.pay(key))):
        outer = pisp.pay(key)

    (delivery,) = causeway.recorded()
    assert accepted_id(inner[0]) == delivery.delivery_id
    if key:
        assert accepted_id(outer) == delivery.delivery_id
    else:
        assert outer.status == 401


def test_a_concurrent_immediate_and_deferred_request_for_one_order_reach_the_bank_once(causeway: Causeway) -> None:
    pisp = Pisp(causeway, 1, deferred=True)
    inner: list[str] = []

    def ordered() -> None:
        pisp.headers = dict(LATER)
        inner.append(pisp.order("key-1"))

    with causeway.meanwhile("transact", ordered):
        assert accepted_id(pisp.pay_at_once("key-1")) == inner[0]

    pisp.attempt(inner[0])
    assert pisp.calls == 1


@pytest.mark.parametrize("applied", [True, False], ids=["applied", "not applied"])
@pytest.mark.parametrize(("key", "consent_type"), [("key-1", ONE_TIME), (None, "reusable")])
def test_a_deferred_order_returns_202_only_if_the_order_was_stored(
    causeway: Causeway, key: str | None, consent_type: str, applied: bool
) -> None:
    pisp = Pisp(causeway, 1, consent_type=consent_type, deferred=True)

    with causeway.answer_lost("transact", applied=applied):
        first = pisp.pay(key)

    assert first.status == (202 if applied else 500)
    assert len(causeway.recorded()) == (1 if applied else 0)
    request_id = accepted_id(first) if applied else pisp.order(key)
    pisp.attempt(request_id)
    assert (pisp.outcome(request_id)["state"], pisp.calls) == ("done", 1)
