"""Tests of storage faults at every storage call of the delivery jobs. No delivery is lost, and payments are sent at
most once.

After a fault, the time limit of the attempt passes and all due deliveries are attempted again.
"""

import contextlib
import sys
from collections.abc import Callable
from functools import partial
from typing import Any
from unittest.mock import patch

import pytest

from chalicelib.bootstrap import PLANS
from chalicelib.delivery import sweeper
from chalicelib.delivery.delivery_plan import SWEEP_WAITS
from chalicelib.delivery.delivery_record import CLAIMED_SECONDS
from chalicelib.delivery.receiver_slots import SLOTS, Slot
from chalicelib.foundation.dynamodb.store import StoreError
from chalicelib.foundation.http.outbound import NotReached, Reply, TimedOut
from chalicelib.openbanking.bank_client.bank_circuits import FAILURES
from chalicelib.openbanking.flows.consent.expiry import record_due_events
from chalicelib.openbanking.flows.payments.outcomes import (
    NotResolved,
    list_unresolved,
    record_accepted,
    record_not_accepted,
)
from chalicelib.openbanking.protocol import refusals
from chalicelib.openbanking.protocol.tpp_events import EXPIRING_SECONDS
from chalicelib.statistics import current_call, day_records
from chalicelib.statistics.call_counts import Outcome
from chalicelib.statistics.downtimes import OpenDowntimes
from chalicelib.statistics.ingest import IngestIncomplete
from chalicelib.statistics.measurements import Measurements
from tests.causeway import Causeway
from tests.openbanking.accounts import Aisp, limit_reads
from tests.openbanking.call_measurements import counters, sum_counts
from tests.openbanking.call_sites import call_sites, sites_of_requests
from tests.openbanking.fault_scenarios import (
    Run,
    Scenarios,
    attempt_all_due,
    consent_items,
    lose_first_transaction,
    recorded_events,
    records,
    slots_in_use,
    status_of_consent,
)
from tests.openbanking.faults import Fault, items
from tests.openbanking.kit import LATER, Poller, ReceivedRequest, event_ids
from tests.openbanking.payments import REFUSAL, WEBHOOKS, Pisp, payment_answer
from tests.statistics.bank_days import ingest, store_calls

pytestmark = pytest.mark.faults

scenario = Scenarios()
FAILS, GONE = Reply(503, b"", {}, 0.01), Reply(410, b"", {}, 0.01)


def during(fault: Fault, job: Callable[[], object]) -> None:
    """Run a job during the fault. If a storage error occurs, the job ends."""
    with fault, contextlib.suppress(StoreError):
        job()


def attempted(causeway: Causeway, fault: Fault, kind: str) -> None:
    """Attempt the only delivery of a kind while a storage fault is active, and then attempt all due deliveries."""
    (record,) = records(causeway, kind)
    during(fault, lambda: causeway.hub.delivery.worker.attempt(record["delivery_id"]))
    assert slots_in_use(causeway) == [] or fault.lasting
    attempt_all_due(causeway)


def revoked(causeway: Causeway, version: int = 1) -> None:
    causeway.tpp.call("POST", "/tpp/token/revoke", {"token": causeway.tpp.tokens(version)["access_token"]})


# -- notifications


@scenario("takes it", "is gone")
def notify_a_bank_that(causeway: Causeway, does: str) -> Run:
    revoked(causeway)
    side = causeway.banks[1]

    def run(fault: Fault) -> None:
        answers: list[Any] = {"takes it": [], "is gone": [GONE, GONE]}[does]
        side.answers["/revoke_token"] = lambda sent: answers.pop() if answers else {"status": "success"}
        attempted(causeway, fault, "revoke_token")
        (record,) = records(causeway)
        assert record["state"] == ("delivered" if does == "takes it" else "failed")
        assert {sent.headers["X-Request-Id"] for sent in side.received} == {record["request_id"]}
        assert len(side.received) == 1 or fault.lasting

    return run


@scenario("takes it", "fails")
def send_an_event_to_a_client_that(causeway: Causeway, does: str) -> Run:
    causeway.tpp.set_events_url()
    causeway.psu.approve(1)

    def run(fault: Fault) -> None:
        causeway.receiver.answers += [FAILS] if does == "fails" else []
        attempted(causeway, fault, "event")
        (record,) = records(causeway)
        assert record["state"] == "delivered"
        assert {sent.headers["webhook-id"] for sent in causeway.receiver.received} == {record["delivery_id"]}
        assert len({sent.body for sent in causeway.receiver.received}) == 1
        assert len(causeway.receiver.received) == (2 if does == "fails" else 1) or fault.lasting

    return run


@scenario()
def deliver_an_event_to_a_client_that_changed_to_fetching(causeway: Causeway) -> Run:
    causeway.tpp.set_events_url()
    causeway.psu.approve(1)
    causeway.tpp.poll_events()

    def run(fault: Fault) -> None:
        attempted(causeway, fault, "event")
        (record,) = records(causeway)
        assert record["state"] == "delivered"
        assert event_ids(Poller(causeway.tpp).fetch()) == [record["delivery_id"]]
        assert causeway.receiver.received == []

    return run


@scenario("one slot", "every slot", "every slot for a moment")
def notify_a_bank_while_other_deliveries_hold(causeway: Causeway, which: str) -> Run:
    revoked(causeway)
    side, until = causeway.banks[1], causeway.clock.time() + CLAIMED_SECONDS
    side.answers["/revoke_token"] = lambda sent: {"status": "success"}
    since = causeway.clock.time() if which.endswith("moment") else 0
    for number in range(1 if which == "one slot" else SLOTS):
        key = Slot("bank#ALPHGB21#notices", number).key
        causeway.hub.store.put("deliveries", key | {"taken_at": since, "held_until": until, "expires_at": until})

    def run(fault: Fault) -> None:
        (record,) = records(causeway)
        during(fault, lambda: causeway.hub.delivery.worker.attempt(record["delivery_id"]))
        assert side.received == [] or which == "one slot"
        causeway.clock.advance(CLAIMED_SECONDS)
        attempt_all_due(causeway)
        (record,) = records(causeway)
        assert record["state"] == "delivered"
        assert len(side.received) == 1 or fault.lasting

    return run


@scenario()
def expire_an_event(causeway: Causeway) -> Run:
    causeway.tpp.set_events_url()
    causeway.psu.approve(1)
    causeway.clock.advance(PLANS["event"].lifetime + 1)

    def run(fault: Fault) -> None:
        attempted(causeway, fault, "event")
        (record,) = records(causeway)
        assert record["state"] == "failed"
        assert causeway.receiver.received == []

    return run


# -- questions


@scenario((1, "answers"), (1, "fails"), (2, "refuses"), (1, "is never asked"))
def read_deferred_from_a_bank_that(causeway: Causeway, version: int, does: str) -> Run:
    bearer, side = causeway.tpp.tokens(version)["access_token"], causeway.banks[version]
    asked = causeway.tpp.call("GET", "/tpp/accounts", bearer=bearer, headers=LATER).body["request_id"]
    good: Any = {"accounts": []} | ({"status": "success"} if version == 1 else {})
    webhook = "/accounts" if version == 1 else "/v2_accounts"
    late = does == "is never asked"
    causeway.clock.advance(PLANS["relay"].lifetime + 1 if late else 0)

    def run(fault: Fault) -> None:
        answers: list[Any] = {"fails": [FAILS], "refuses": [REFUSAL[version]] * 2}.get(does, [])
        side.answers[webhook] = lambda sent: answers.pop() if answers else good
        attempted(causeway, fault, "relay")
        found = causeway.tpp.outcome(asked, bearer)
        assert (found["state"], found["status"]) == (("failed", 502) if late or does == "refuses" else ("done", 200))
        assert len({sent.headers["X-Request-Id"] for sent in side.received}) == (0 if late else 1)

    return run


@scenario("is never reached", "is never asked")
def read_unattended_deferred_from_a_bank_that(causeway: Causeway, does: str) -> Run:
    limit_reads(causeway, 1)
    aisp = Aisp(causeway, 1)
    aisp.bank_answers(NotReached("no connection"), "/accounts")
    asked = aisp.read(headers=LATER).body["request_id"]
    causeway.clock.advance(PLANS["relay"].lifetime + (1 if does == "is never asked" else -1))

    def run(fault: Fault) -> None:
        assert aisp.counted() == 1
        attempted(causeway, fault, "relay")
        found = causeway.tpp.outcome(asked, aisp.bearer)
        assert (found["state"], found["status"]) == ("failed", 502)
        assert aisp.counted() == 0 or (fault.lasting and aisp.counted() == 1)

    return run


@scenario("single", "direct")
def query_the_status_of_a_payment_deferred(causeway: Causeway, kind: str) -> Run:
    pisp = Pisp(causeway, 2, kind)
    pisp.pay()
    pisp.bank.answers["/v2_payment_single_status"] = lambda sent: {"transaction_status": "ACSC"}
    bic = "&bic=BETADEF1" if kind == "direct" else ""
    asked = causeway.tpp.call("GET", f"/tpp/payment_status?payment_id=P-1{bic}", bearer=pisp.bearer, headers=LATER)

    def run(fault: Fault) -> None:
        attempted(causeway, fault, "relay")
        assert pisp.outcome(asked.body["request_id"])["body"]["transaction_status"] == "ACSC"

    return run


# -- payments

WORDS = {
    "refuses": refusals.PAYMENT_REFUSED.sentence,
    "is late": refusals.PAYMENT_OUTCOME_UNKNOWN.sentence,
    "is never reached": refusals.PAYMENT_NOT_SENT.sentence,
}


@scenario(
    (1, "single", "one_time", "takes it"),
    (2, "bulk", "reusable", "takes it"),
    (1, "single", "one_time", "refuses"),
    (2, "single", "one_time", "is late"),
    (2, "single", "one_time", "is never reached"),
)
def send_a_deferred_payment_to_a_bank_that(
    causeway: Causeway, version: int, kind: str, consent_type: str, does: str
) -> Run:
    pisp = Pisp(causeway, version, kind, consent_type)
    accepted = pisp.pay_later()
    answers = {"refuses": REFUSAL[version], "is late": TimedOut("late"), "is never reached": NotReached("closed")}

    def run(fault: Fault) -> None:
        pisp.bank_answers(answers.get(does, payment_answer(version)))
        attempted(causeway, fault, "payment")
        found, never = pisp.outcome(accepted.body["request_id"]), does == "is never reached"
        is_unknown = found["state"] == "failed" and refusals.PAYMENT_OUTCOME_UNKNOWN.sentence in found["body"]["title"]
        if is_unknown and does != "is late":
            assert fault.lasting
            assert pisp.calls >= 1, "what was never sent is not unknown"
        elif does == "takes it":
            assert found["state"] == "done"
            assert found["status"] == 200
            assert found["body"]["payment_id"] == "P-1"
            (payment,) = items(causeway, "payments")
            assert len(payment["history"]) == 1
        else:
            assert (found["state"], found["status"]) == ("failed", 502)
            assert WORDS[does] in found["body"]["title"]
        assert pisp.calls == (2 if never else 1) or (fault.lasting and pisp.calls <= (2 if never else 1))
        assert _holds_its_id(pisp) != (never and not is_unknown)
        if consent_type == "one_time":
            _pays_once_more(pisp, never and not is_unknown)

    return run


def _holds_its_id(pisp: Pisp) -> bool:
    """Return whether the only order still claims its X-Request-Id. An order that was not sent releases the id."""
    (claim,) = [item for item in items(pisp.causeway, "idempotency") if item["claim"].startswith("order#")]
    assert claim["sendings"] in (0, 1)
    return bool(claim["sendings"])


@scenario(1, 2)
def send_a_deferred_payment_to_a_bank_that_reuses_its_payment_id(causeway: Causeway, version: int) -> Run:
    first = Pisp(causeway, version, "direct")
    first.pay()
    (before,) = items(causeway, "payments")
    pisp = Pisp(causeway, version, consent_type="one_time")
    accepted = pisp.pay_later()

    def run(fault: Fault) -> None:
        pisp.bank.received.clear()
        pisp.bank_answers(payment_answer(version))
        attempted(causeway, fault, "payment")
        found = pisp.outcome(accepted.body["request_id"])
        assert (found["state"], found["status"]) == ("failed", 502)
        assert found["body"]["reason_code"] in ("bad_answer", "outcome_unknown" if fault.lasting else "")
        assert items(causeway, "payments") == [before]
        assert pisp.calls == 1 or (fault.lasting and pisp.calls == 0)
        _pays_once_more(pisp, given_back=False)

    return run


def _pays_once_more(pisp: Pisp, given_back: bool) -> None:
    """Check that a one-time consent is restored, for exactly one payment, only if the bank was never reached."""
    assert status_of_consent(pisp.causeway) == ("authorised" if given_back else "spent")
    pisp.bank_answers(payment_answer(pisp.version))
    assert pisp.pay().status == (200 if given_back else 401)
    assert status_of_consent(pisp.causeway) == "spent"


@scenario()
def send_a_deferred_payment_with_a_lost_response_to_its_claim(causeway: Causeway) -> Run:
    pisp = Pisp(causeway, 1, consent_type="one_time")
    accepted = pisp.pay_later()

    def run(fault: Fault) -> None:
        with lose_first_transaction(causeway):
            attempted(causeway, fault, "payment")
        assert pisp.outcome(accepted.body["request_id"])["state"] == "done" or fault.lasting
        assert pisp.calls == 1 or (fault.lasting and pisp.calls == 0)
        _pays_once_more(pisp, given_back=False)

    return run


@scenario()
def send_a_deferred_payment_during_an_open_circuit(causeway: Causeway) -> Run:
    pisp = Pisp(causeway, 1, consent_type="one_time")
    accepted = pisp.pay_later()

    def run(fault: Fault) -> None:
        for _ in range(FAILURES):
            causeway.hub.openbanking.bank_client.breaker.record_failure("ALPHGB21")
        attempted(causeway, fault, "payment")
        if pisp.outcome(accepted.body["request_id"])["state"] == "done":
            assert pisp.calls == len(items(causeway, "payments")) == 1
        else:
            assert fault.lasting
            assert pisp.calls == 0
            assert (
                refusals.PAYMENT_OUTCOME_UNKNOWN.sentence in pisp.outcome(accepted.body["request_id"])["body"]["title"]
            )
        _pays_once_more(pisp, given_back=False)

    return run


@scenario((1, "single", "one_time"), (2, "direct", "reusable"))
def expire_a_deferred_payment(causeway: Causeway, version: int, kind: str, consent_type: str) -> Run:
    pisp = Pisp(causeway, version, kind, consent_type)
    accepted = pisp.pay_later()
    causeway.clock.advance(PLANS["payment"].lifetime + 1)

    def run(fault: Fault) -> None:
        attempted(causeway, fault, "payment")
        assert pisp.calls == 0
        assert refusals.PAYMENT_NOT_SENT.sentence in pisp.outcome(accepted.body["request_id"])["body"]["title"]
        if consent_type == "one_time":
            _pays_once_more(pisp, given_back=True)

    return run


@scenario("in time", "too late")
def retry_a_payment_whose_worker_died(causeway: Causeway, when: str) -> Run:
    pisp = Pisp(causeway, 2, "bulk", "one_time")
    accepted = pisp.pay_later()
    (record,) = records(causeway)
    causeway.hub.delivery.worker.begin(record["delivery_id"])
    causeway.clock.advance(CLAIMED_SECONDS if when == "in time" else PLANS["payment"].lifetime + 1)

    def run(fault: Fault) -> None:
        attempted(causeway, fault, "payment")
        assert pisp.calls == 0, "nobody knows whether it was sent"
        assert refusals.PAYMENT_OUTCOME_UNKNOWN.sentence in pisp.outcome(accepted.body["request_id"])["body"]["title"]
        _pays_once_more(pisp, given_back=False)

    return run


@scenario()
def send_a_deferred_payment_with_an_early_status_report(causeway: Causeway) -> Run:
    causeway.tpp.set_events_url()
    pisp = Pisp(causeway, 2, "direct")
    accepted = pisp.pay_later()
    pisp.report("ACSC")

    def run(fault: Fault) -> None:
        attempted(causeway, fault, "payment")
        assert pisp.calls <= 1
        if pisp.outcome(accepted.body["request_id"])["state"] == "done":
            (payment,) = items(causeway, "payments")
            assert [entry["status"] for entry in payment["history"]] == ["RCVD", "ACSC"]
            assert recorded_events(causeway) == ["payment.status_changed"]
            assert len(causeway.receiver.received) == 1
        else:
            assert fault.lasting
            assert recorded_events(causeway) == []

    return run


@scenario()
def send_a_deferred_payment_that_is_recorded_already(causeway: Causeway) -> Run:
    pisp = Pisp(causeway, 2, "direct")
    accepted = pisp.pay_later()
    (record,) = records(causeway)
    pisp.request_id = record["request_id"]
    pisp.pay()
    causeway.clock.advance(1)
    pisp.bank.received.clear()

    def run(fault: Fault) -> None:
        attempted(causeway, fault, "payment")
        assert pisp.outcome(accepted.body["request_id"])["state"] == "done" or fault.lasting
        assert len(items(causeway, "payments")) == pisp.calls == 1

    return run


@scenario()
def send_a_deferred_payment_with_a_consent_revoked_during_a_failed_connection(causeway: Causeway) -> Run:
    pisp = Pisp(causeway, 1, consent_type="one_time")
    pisp.pay_later()
    causeway.banks[1].answers["/revoke_token"] = lambda sent: {"status": "success"}
    causeway.clock.advance(PLANS["payment"].lifetime - 1)

    def run(fault: Fault) -> None:
        def revoked_on_the_way(sent: ReceivedRequest) -> Any:
            with fault.resting():
                causeway.tpp.call("POST", "/tpp/token/revoke", {"token": pisp.bearer})
            return NotReached("no connection")

        pisp.bank.answers[WEBHOOKS[1, "single"]] = revoked_on_the_way
        attempted(causeway, fault, "payment")
        sent = [each for each in pisp.bank.received if each.path == WEBHOOKS[1, "single"]]
        assert len(sent) == 1 or (fault.lasting and not sent)
        assert status_of_consent(causeway) == ("revoked" if sent else "authorised")
        found = records(causeway, "payment")[0]
        assert (found["state"], found["answer"]["status"]) == ("failed", 502)
        assert not _holds_its_id(pisp) or (fault.lasting and sent), "what became of the order is unknown then"

    return run


@scenario("answers", "is late")
def query_the_status_of_an_unknown_payment_at_a_bank_that(causeway: Causeway, does: str) -> Run:
    pisp = Pisp(causeway, 2, consent_type="one_time")
    pisp.bank_answers(payment_answer(2) | {"confirmation_url": "javascript:1"})
    pisp.pay()
    pisp.bank.received.clear()

    def run(fault: Fault) -> None:
        answers: list[Any] = [TimedOut("late")] if does == "is late" else []
        status = {"transaction_status": "ACSC"}
        pisp.bank.answers["/v2_payment_single_status"] = lambda sent: answers.pop() if answers else status
        attempted(causeway, fault, "payment_status")
        (record,), (payment,) = records(causeway, "payment_status"), items(causeway, "payments")
        assert record["state"] == "delivered"
        assert (payment["status"], "outcome" in payment) == ("ACSC", False)
        assert len(pisp.bank.received) == (2 if does == "is late" else 1) or fault.lasting

    return run


@scenario("accepted", "not_accepted")
def resolve_an_unknown_outcome(causeway: Causeway, outcome: str) -> Run:
    causeway.tpp.set_events_url()
    pisp = Pisp.with_request_id(causeway, 1)
    pisp.bank_answers(payment_answer(1) | {"confirmation_url": "javascript:1"})
    pisp.pay()
    openbanking, order = causeway.hub.openbanking, (pisp.bank.bic, str(pisp.request_id))

    def settle() -> None:
        if outcome == "accepted":
            openbanking.call(record_accepted, *order, "P-1")
        else:
            openbanking.call(record_not_accepted, *order)

    def run(fault: Fault) -> None:
        during(fault, settle)
        with contextlib.suppress(NotResolved):  # it has been settled
            settle()
        attempt_all_due(causeway)
        (payment,) = items(causeway, "payments")
        assert payment.get("outcome") == (None if outcome == "accepted" else "not_accepted")
        assert recorded_events(causeway).count("payment.status_changed") == (1 if outcome == "accepted" else 0)
        assert openbanking.call(list_unresolved, 10) == []

    return run


# -- the sweeper


@scenario("never queued", "abandoned")
def sweep(causeway: Causeway, why: str) -> Run:
    revoked(causeway)
    (record,) = records(causeway)
    if why == "abandoned":
        causeway.hub.delivery.worker.begin(record["delivery_id"])
        causeway.clock.advance(CLAIMED_SECONDS)
    causeway.clock.advance(SWEEP_WAITS[0])

    def run(fault: Fault) -> None:
        queue: Any = causeway.hub.delivery.queue
        queue.ids.clear()
        during(fault, partial(causeway.hub.delivery.call, sweeper.sweep))
        causeway.clock.advance(SWEEP_WAITS[1])
        causeway.hub.delivery.call(sweeper.sweep)
        assert set(queue.ids) == {record["delivery_id"]}
        assert len(queue.ids) == 2 or fault.lasting

    return run


@scenario()
def sweep_more_deliveries_than_one_page(causeway: Causeway) -> Run:
    revoked(causeway)
    (record,) = records(causeway)
    causeway.clock.advance(SWEEP_WAITS[0])

    def run(fault: Fault) -> None:
        queue: Any = causeway.hub.delivery.queue
        queue.ids.clear()
        with patch("chalicelib.delivery.sweeper.BACKLOG", 1):
            during(fault, partial(causeway.hub.delivery.call, sweeper.sweep))
            causeway.clock.advance(SWEEP_WAITS[1])
            causeway.hub.delivery.call(sweeper.sweep)
        assert set(queue.ids) == {record["delivery_id"]}

    return run


# -- consents that end by themselves


@scenario(("at its time", 1), ("at once with the end", 2))
def announce_the_expiry_of_consents(causeway: Causeway, when: str, events: int) -> Run:
    causeway.tpp.set_events_url()
    for version in (1, 2):
        causeway.tpp.tokens(version)
    for record in records(causeway):
        causeway.hub.store.delete("deliveries", {"delivery_id": record["delivery_id"], "part": "record"})
    until = max(consent["valid_until"] for consent in consent_items(causeway, "consent")) - causeway.clock.time()
    causeway.clock.advance(until - EXPIRING_SECONDS if events == 1 else until)

    def run(fault: Fault) -> None:
        during(fault, partial(causeway.hub.openbanking.call, record_due_events))
        causeway.hub.openbanking.call(record_due_events)  # five minutes later
        types = ["consent.expired", "consent.expiring"][2 - events :]
        assert recorded_events(causeway) == sorted(types * 2)
        assert len({(record["consent_id"], record["topic"]) for record in records(causeway)}) == 2 * events

    return run


# -- what operators ask for


@scenario()
def send_a_test_event(causeway: Causeway) -> Run:
    causeway.tpp.set_events_url()

    def run(fault: Fault) -> None:
        during(fault, lambda: causeway.hub.openbanking.tpp_events.send_test(causeway.tpp.client))
        if not records(causeway):
            causeway.hub.openbanking.tpp_events.send_test(causeway.tpp.client)
        attempt_all_due(causeway)
        assert [event["type"] for event in causeway.receiver.events] == ["test"]

    return run


@scenario("one", "all", "one that waits", "all that wait")
def resend_failed_deliveries(causeway: Causeway, which: str) -> Run:
    revoked(causeway)
    (record,) = records(causeway)
    delivery_id, receiver = record["delivery_id"], record["receiver"]
    answers = [FAILS if "wait" in which else GONE]
    side = causeway.banks[1]
    side.answers["/revoke_token"] = lambda sent: answers[0]
    causeway.hub.delivery.worker.attempt(delivery_id)
    journal = causeway.hub.delivery.journal

    def run(fault: Fault) -> None:
        side.answers["/revoke_token"] = lambda sent: {"status": "success"}

        def again() -> object:
            if which == "all that wait":
                return journal.resend_waiting(receiver)
            return journal.resend_failed(0) if which == "all" else journal.resend(delivery_id)

        during(fault, again)
        if records(causeway)[0]["state"] == "failed":
            again()
        attempt_all_due(causeway)
        (record,) = records(causeway)
        assert record["state"] == "delivered"
        assert {sent.headers["X-Request-Id"] for sent in side.received} == {record["request_id"]}

    return run


@scenario()
def list_the_delivery_journal(causeway: Causeway) -> Run:
    revoked(causeway)
    (record,) = records(causeway)

    def run(fault: Fault) -> None:
        with fault, contextlib.suppress(StoreError):
            assert [each.delivery_id for each in causeway.hub.delivery.journal.list()] == [record["delivery_id"]]
            assert causeway.hub.delivery.journal.show(record["delivery_id"]).state == "due"

    return run


# -- what was measured


@scenario()
def write_measurements(causeway: Causeway) -> Run:
    def run(fault: Fault) -> None:
        instance = Measurements(lambda: causeway.hub.store, causeway.clock, causeway.hub.metrics)
        with fault:
            for bic in ("ALPHGB21", "BETADEF1"):  # the first is written at once
                with instance.measure():
                    current_call.record_concern(bic, "AISP")
            instance.write()
        instance.write()  # a minute later
        assert sum_counts(counters(causeway)) == {"ALPHGB21 AISP": {"calls": 1}, "BETADEF1 AISP": {"calls": 1}}

    return run


@scenario("begins", "ends")
def record_a_downtime(causeway: Causeway, which: str) -> Run:
    def ask(instance: Measurements, outcome: Outcome, count: int) -> None:
        for _ in range(count):
            with instance.measure():
                current_call.record_bank_request("ALPHGB21", "AISP", causeway.clock.time(), outcome, 0.1)
            causeway.clock.advance(1)

    before = Measurements(lambda: causeway.hub.store, causeway.clock, causeway.hub.metrics, sys.maxsize)
    ask(before, "unanswered", 5)
    if which == "ends":
        before.write()

    def run(fault: Fault) -> None:
        instance = Measurements(lambda: causeway.hub.store, causeway.clock, causeway.hub.metrics, sys.maxsize)
        ask(instance, "unanswered" if which == "begins" else "answered", 5)
        with fault:
            instance.write()
        instance.write()  # a minute later
        down = OpenDowntimes(causeway.hub.store, causeway.clock).bics()
        assert down == ({"ALPHGB21"} if which == "begins" else set())

    return run


@scenario()
def ingest_counters_and_reports(causeway: Causeway) -> Run:
    day = causeway.clock.now().date()
    store_calls(causeway.hub.store, "ALPHGB21", day, answered=["08:00:00"])
    assert causeway.banks[2].call("/daily_performance", {"date": day.isoformat(), "consentDuration": 7}).status == 200
    causeway.clock.advance(24 * 3600)

    def run(fault: Fault) -> None:
        with contextlib.suppress(IngestIncomplete):
            during(fault, lambda: ingest(causeway))
        ingest(causeway)  # when Lambda tries it again
        (of_alpha, of_beta) = day_records.records_of_all(causeway.hub.store, day, day)
        assert of_alpha.bic == "ALPHGB21"
        assert of_alpha.total.answered == 1
        assert of_alpha.report == "not_expected"
        assert of_beta.bic == "BETADEF1"
        assert of_beta.total.answered == 0
        assert of_beta.consent_duration == 7

    return run


# -- the scenarios, run


@pytest.mark.parametrize("name", scenario.all)
def test_a_storage_fault_during_a_job_neither_loses_nor_duplicates_a_delivery(
    causeway: Causeway, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    scenario.run_with_faults(causeway, name, monkeypatch)


def test_every_storage_call_of_a_job_is_tested_with_every_fault() -> None:
    missed = scenario.missed(call_sites() - sites_of_requests(), [__name__])
    assert missed == [], "\n".join(missed)
