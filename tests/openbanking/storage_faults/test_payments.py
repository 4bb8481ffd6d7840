"""Tests of storage faults during immediate and deferred payments, and during bank reports."""

import uuid
from typing import Any

import pytest

from chalicelib.foundation.http.outbound import NotReached, TimedOut
from chalicelib.openbanking.protocol import refusals
from chalicelib.openbanking.records.orders import order_key
from tests.causeway import Answer, Causeway
from tests.openbanking.fault_scenarios import (
    Run,
    attempt_all_due,
    completed,
    consent_items,
    lose_first_transaction,
    recorded_events,
    records,
    refused,
    scenario,
    status_of_consent,
)
from tests.openbanking.faults import Fault, items
from tests.openbanking.kit import LATER
from tests.openbanking.payments import REFUSAL, WEBHOOKS, Pisp, payment_answer

pytestmark = pytest.mark.faults

# -- payments


@scenario(
    (1, "single", "reusable", None),
    (2, "single", "reusable", "key"),
    (1, "single", "one_time", None),
    (2, "single", "one_time", "key"),
    (1, "bulk", "one_time", "key"),
    (2, "direct", "reusable", None),
    (1, "direct", "reusable", "key"),
    (1, "single", "reusable", None, "with an id"),
    (2, "direct", "reusable", None, "with an id"),
    (2, "single", "one_time", "key", "with an id"),
)
def pay(causeway: Causeway, version: int, kind: str, consent_type: str, key: str | None, request_id: str = "") -> Run:
    pisp = _pisp(causeway, version, kind, consent_type, request_id)

    def run(fault: Fault) -> None:
        _taken(fault, pisp, _paid(fault, pisp, key), key)

    return run


@scenario((1, "one_time", None), (2, "one_time", "key"), (1, "reusable", None, "with an id"))
def pay_with_a_lost_transaction_response(
    causeway: Causeway, version: int, consent_type: str, key: str | None, request_id: str = ""
) -> Run:
    pisp = _pisp(causeway, version, "single", consent_type, request_id)

    def run(fault: Fault) -> None:
        if fault.lasting:
            return  # nobody can find out then
        with lose_first_transaction(causeway):
            first = _paid(fault, pisp, key)
        _taken(fault, pisp, first, key)

    return run


def _pisp(causeway: Causeway, version: int, kind: str, consent_type: str, request_id: str) -> Pisp:
    pisp = Pisp(causeway, version, kind, consent_type)
    pisp.request_id = str(uuid.uuid4()) if request_id else None
    return pisp


def _paid(fault: Fault, pisp: Pisp, key: str | None) -> Answer:
    """Pay during the fault. If the payment is refused before the bank call, pay again. Return the response."""
    with fault:
        first = pisp.pay(key)
    if pisp.calls == 0:
        assert refused(first)
        first = pisp.pay(key)
    assert pisp.calls == 1
    return first


def _taken(fault: Fault, pisp: Pisp, first: Answer, key: str | None) -> None:
    """Check that an accepted payment is recorded once and that a retry does not call the bank again."""
    if first.status == 200:
        (payment,) = items(pisp.causeway, "payments")
        assert [entry["status"] for entry in payment["history"]] == [1 if pisp.version == 1 else "RCVD"]
    else:
        assert fault.lasting, first
        assert (first.status, first.body["code"]) == (500, "INTERNAL_SERVER_ERROR")
        assert "unknown" in first.body["title"]
        assert "retry-after" not in first.headers
    if pisp.kind != "direct":
        one_time = consent_items(pisp.causeway, "consent")[0]["consent_type"] == "one_time"
        assert status_of_consent(pisp.causeway) == ("spent" if one_time else "authorised")
        if one_time:
            assert pisp.pay("another key").status == 401
    if key and (first.status == 200 or fault.loses_what_was_applied()):
        again = pisp.pay(key)
        assert (again.status, again.body["payment_id"]) == (200, "P-1")
        assert first.status != 200 or again.text == first.text
    elif key:
        assert pisp.pay(key).status == 409
        _never_ended(pisp, key)
    assert pisp.calls == 1
    _is_refused_to_others(pisp)


def _is_refused_to_others(pisp: Pisp) -> None:
    other, calls = Pisp(pisp.causeway, pisp.version, "direct"), pisp.calls
    other.request_id = pisp.request_id
    refused = other.pay(callback_url="http://127.0.0.1:8000/payments/callback?other") if other.request_id else None
    assert refused is None or (refused.status, refused.body["code"]) == (400, "HEADERS_ERROR")
    assert pisp.calls == calls


def _never_ended(pisp: Pisp, key: str) -> None:
    """Check that the key of a request that did not end returns an unknown outcome after 31 seconds."""
    pisp.causeway.clock.advance(31)
    late = pisp.pay(key)
    assert (late.status, late.body["code"]) == (502, "ASPSP_UNKNOWN_ERROR")
    assert "unknown" in late.body["title"]


FAILURES: dict[str, tuple[Any, str]] = {
    "refuses": (REFUSAL, "refused"),
    "is never reached": (NotReached("no connection"), "not sent"),
    "is late": (TimedOut("no answer came in time"), "unknown"),
}


@scenario(
    (1, "refuses", "one_time", "key"),
    (2, "is late", "one_time", "key"),
    (2, "is never reached", "one_time", "key"),
    (1, "is never reached", "one_time", None),
    (2, "is late", "reusable", None, "with an id"),
    (1, "is never reached", "reusable", None, "with an id"),
    (2, "is never reached", "one_time", "key", "with an id"),
)
def pay_at_a_bank_that(
    causeway: Causeway, version: int, failure: str, consent_type: str, key: str | None, request_id: str = ""
) -> Run:
    pisp = _pisp(causeway, version, "single", consent_type, request_id)
    answer, words = FAILURES[failure]

    def run(fault: Fault) -> None:
        pisp.bank_answers(answer[version] if failure == "refuses" else answer)
        first = _paid(fault, pisp, key)
        assert first.status == 502
        assert words in first.body["title"]
        if key:
            again = pisp.pay(key)
            assert again.text == first.text if again.status == 502 else (again.status == 409 and fault.lasting)
            if failure == "is never reached":
                assert (again.status == 502) == (status_of_consent(causeway) == "authorised"), (
                    "both were written, or none"
                )
        assert pisp.calls == 1
        if failure != "is never reached":
            _is_refused_to_others(pisp)
        elif pisp.request_id:
            _is_free_for_others(fault, pisp)
            return
        _given_back_or_spent(fault, pisp, failure, consent_type)

    return run


def _is_free_for_others(fault: Fault, pisp: Pisp) -> None:
    """Check that an unsent order releases its request id and its consent, unless the release cannot be written."""
    other = Pisp(pisp.causeway, pisp.version, "direct")
    other.request_id = pisp.request_id
    answer = other.pay()
    assert answer.status == 200 or (answer.status == 400 and fault.lasting)
    one_time = consent_items(pisp.causeway, "consent")[0]["consent_type"] == "one_time"
    spent = one_time and answer.status == 400
    assert status_of_consent(pisp.causeway) == ("spent" if spent else "authorised"), "both were written, or none"


def _given_back_or_spent(fault: Fault, pisp: Pisp, failure: str, consent_type: str) -> None:
    """Check that a one-time consent is restored, for exactly one payment, only if the bank was never reached."""
    status, whole = status_of_consent(pisp.causeway), consent_type == "reusable" or failure == "is never reached"
    assert status == ("authorised" if whole else "spent") or (fault.lasting and status == "spent")
    pisp.bank_answers(payment_answer(pisp.version))
    assert pisp.pay("another key").status == (200 if status == "authorised" else 401)
    if consent_type == "one_time":
        assert pisp.pay("a third key").status == 401
        assert pisp.calls == (2 if status == "authorised" else 1)


@scenario()
def pay_with_a_consent_revoked_during_a_failed_connection(causeway: Causeway) -> Run:
    pisp = Pisp(causeway, 1, consent_type="one_time")

    def run(fault: Fault) -> None:
        def revoked_on_the_way(sent: object) -> Any:
            with fault.resting():
                causeway.tpp.call("POST", "/tpp/token/revoke", {"token": pisp.bearer})
            return NotReached("no connection")

        pisp.bank.answers[WEBHOOKS[1, "single"]] = revoked_on_the_way
        assert _paid(fault, pisp, "key").status == 502
        assert status_of_consent(causeway) == "revoked"
        assert pisp.pay("key").status == 401
        if not fault.lasting:
            (claim,) = [item for item in items(causeway, "idempotency") if item["claim"].startswith("tpp#")]
            assert "outcome" in claim

    return run


@scenario()
def pay_at_a_bank_that_recognises_the_payment(causeway: Causeway) -> Run:
    pisp = Pisp.with_request_id(causeway, 2)
    pisp.pay()
    pisp.report("ACSC")

    def run(fault: Fault) -> None:
        pisp.bank.received.clear()
        first = _paid(fault, pisp, "key")
        assert first.status == 200 or fault.lasting
        (payment,) = items(causeway, "payments")
        assert [entry["status"] for entry in payment["history"]] == ["RCVD", "ACSC"]
        assert pisp.pay("key").status == first.status or fault.lasting
        assert pisp.calls == 1

    return run


@scenario((1, "reusable", None), (2, "one_time", "key"))
def pay_at_a_bank_that_reuses_a_payment_id(causeway: Causeway, version: int, consent_type: str, key: str | None) -> Run:
    first = Pisp(causeway, version, "direct")
    first.pay()
    (before,) = items(causeway, "payments")
    pisp = Pisp.with_request_id(causeway, version, consent_type=consent_type)

    def run(fault: Fault) -> None:
        pisp.bank.received.clear()
        pisp.bank_answers(payment_answer(version))
        refused = _paid(fault, pisp, key)
        assert refused.status == 502 or (fault.lasting and refused.status == 500)
        assert "unknown" in refused.body["title"]
        assert items(causeway, "payments") == [before]
        if key:
            assert pisp.pay(key).text == refused.text or fault.lasting
        assert status_of_consent(causeway) == ("spent" if consent_type == "one_time" else "authorised")
        _is_refused_to_others(pisp)

    return run


UNUSABLE = {"confirmation_url": "javascript:1"}


def _unknown(causeway: Causeway, kind: str = "single") -> Pisp:
    pisp = Pisp.with_request_id(causeway, 2, kind)
    pisp.bank_answers(payment_answer(2) | UNUSABLE)
    assert pisp.pay().status == 502
    return pisp


@scenario("single", "direct")
def query_a_payment_by_its_request_id(causeway: Causeway, kind: str) -> Run:
    pisp = Pisp.with_request_id(causeway, 1, kind)
    pisp.pay()

    def run(fault: Fault) -> None:
        answer = completed(fault, pisp.status_of_order)
        assert (answer.body["payment_id"], answer.body["payment_status"]) == ("P-1", 1)

    return run


@scenario("single", "direct")
def query_a_bank_about_an_unknown_payment(causeway: Causeway, kind: str) -> Run:
    pisp = _unknown(causeway, kind)
    pisp.bank.answers["/v2_payment_single_status"] = lambda sent: {"transaction_status": "ACSC"}

    def run(fault: Fault) -> None:
        answer = completed(fault, pisp.status)
        assert answer.body == {"payment_id": "P-1", "transaction_status": "ACSC"}
        assert pisp.status().status == 200
        (payment,) = items(causeway, "payments")
        assert (payment["status"], "outcome" in payment) == ("ACSC", False)

    return run


@scenario()
def report_on_a_payment_with_a_reused_request_id(causeway: Causeway) -> Run:
    pisp, other = Pisp(causeway, 1), Pisp(causeway, 1, "direct")
    pisp.request_id = other.request_id = str(uuid.uuid4())
    pisp.bank_answers(payment_answer(1) | UNUSABLE)
    assert pisp.pay().status == 502
    key = order_key(pisp.bank.bic, pisp.request_id)
    causeway.hub.store.delete(*key)
    other.bank.answers[WEBHOOKS[1, "direct"]] = lambda sent: payment_answer(1, "P-2")
    assert other.pay().status == 200

    def run(fault: Fault) -> None:
        request_id = str(uuid.uuid4())
        completed(fault, lambda: pisp.report(4, **{"x-request-id": request_id}))
        assert pisp.status().body["payment_status"] == 4
        assert other.status_of_order().body["payment_id"] == "P-2"

    return run


# -- calls that are answered later


@scenario(1, 2)
def accept_a_deferred_read(causeway: Causeway, version: int) -> Run:
    bearer, path = causeway.tpp.tokens(version)["access_token"], "/tpp/accounts"
    webhook, answer = {1: ("/accounts", {"status": "success"}), 2: ("/v2_accounts", {})}[version]
    causeway.banks[version].answers[webhook] = lambda sent: answer | {"accounts": []}

    def run(fault: Fault) -> None:
        accepted = completed(fault, lambda: causeway.tpp.call("GET", path, bearer=bearer, headers=LATER), 202)
        assert len(records(causeway, "relay")) == 1 or fault.loses_what_was_applied()
        attempt_all_due(causeway)
        assert causeway.tpp.outcome(accepted.body["request_id"], bearer)["state"] == "done"

    return run


@scenario((2, "single"), (2, "direct"))
def accept_a_deferred_status_query(causeway: Causeway, version: int, kind: str) -> Run:
    pisp = Pisp(causeway, version, kind)
    pisp.pay()
    pisp.bank.answers["/v2_payment_single_status"] = lambda sent: {"transaction_status": "ACSC"}
    bic = "&bic=BETADEF1" if kind == "direct" else ""
    path = f"/tpp/payment_status?payment_id=P-1{bic}"

    def run(fault: Fault) -> None:
        accepted = completed(fault, lambda: causeway.tpp.call("GET", path, bearer=pisp.bearer, headers=LATER), 202)
        assert len(records(causeway, "relay")) == 1 or fault.loses_what_was_applied()
        attempt_all_due(causeway)
        assert pisp.outcome(accepted.body["request_id"])["body"]["transaction_status"] == "ACSC"

    return run


@scenario(
    (1, "single", "one_time", None),
    (2, "bulk", "one_time", "key"),
    (1, "bulk", "reusable", None),
    (2, "direct", "reusable", None),
    (1, "direct", "reusable", "key"),
    (1, "single", "reusable", "key", "with an id"),
)
def accept_a_deferred_payment(
    causeway: Causeway, version: int, kind: str, consent_type: str, key: str | None, request_id: str = ""
) -> Run:
    pisp = Pisp(causeway, version, kind, consent_type)
    pisp.request_id = str(uuid.uuid4()) if request_id else None

    def run(fault: Fault) -> None:
        with fault:
            accepted = pisp.pay_later(key)
        if accepted.status == 500:
            assert _was_not_accepted(accepted)
            assert records(causeway, "payment") == []
            accepted = pisp.pay_later(key)
        assert accepted.status == 202, accepted
        assert len(records(causeway, "payment")) == 1
        if consent_type == "one_time":
            assert (status_of_consent(causeway), pisp.pay().status) == ("spent", 401)
        if key:
            assert pisp.pay_later(key).text == accepted.text
        _is_refused_to_others(pisp)
        attempt_all_due(causeway)
        assert pisp.outcome(accepted.body["request_id"])["status"] == 200
        assert pisp.calls == len(items(causeway, "payments")) == 1

    return run


@scenario((1, "one_time", None), (2, "reusable", None), (2, "one_time", "key"))
def accept_a_deferred_payment_with_a_lost_transaction_response(
    causeway: Causeway, version: int, consent_type: str, key: str | None
) -> Run:
    pisp = Pisp(causeway, version, consent_type=consent_type)

    def run(fault: Fault) -> None:
        with lose_first_transaction(causeway), fault:
            accepted = pisp.pay_later(key)
        if records(causeway, "payment") == []:
            assert _was_not_accepted(accepted)
            accepted = pisp.pay_later(key)
        assert accepted.status == 202 or fault.lasting
        if accepted.status == 500 and key is None and consent_type == "reusable":
            assert accepted.body["title"] == refusals.ACCEPTANCE_UNKNOWN.sentence, "a repeat would be a second payment"
        elif accepted.status == 500:
            assert refused(accepted)
            assert pisp.pay_later(key).status == (202 if key else 401)
        else:
            assert accepted.status == 202, accepted
        attempt_all_due(causeway)
        assert len(records(causeway, "payment")) == pisp.calls == 1

    return run


def _was_not_accepted(answer: Answer) -> bool:
    """Return whether an order was refused with Retry-After, or with the error that the acceptance is unknown."""
    if "retry-after" in answer.headers:
        return refused(answer)
    return bool(answer.status == 500 and answer.body["title"] == refusals.ACCEPTANCE_UNKNOWN.sentence)


@scenario("done", "failed", "queued")
def fetch_the_outcome_of_a_deferred_call(causeway: Causeway, state: str) -> Run:
    pisp = Pisp(causeway, 1)
    accepted = pisp.pay_later()
    pisp.bank_answers(payment_answer(1) if state == "done" else REFUSAL[1])
    if state != "queued":
        attempt_all_due(causeway)

    def run(fault: Fault) -> None:
        path = f"/tpp/requests/{accepted.body['request_id']}"
        assert completed(fault, lambda: causeway.tpp.call("GET", path, bearer=pisp.bearer)).body["state"] == state

    return run


# -- what banks report


@scenario(1, 2)
def report_a_payments_status(causeway: Causeway, version: int) -> Run:
    causeway.tpp.set_events_url()
    pisp, request_id = Pisp(causeway, version, "direct"), str(uuid.uuid4())
    pisp.pay()
    first, new, newer = (1, 0, 4) if version == 1 else ("RCVD", "ACSP", "ACSC")

    def report() -> Answer:
        return pisp.report(new, **{"x-request-id": request_id})

    def run(fault: Fault) -> None:
        assert completed(fault, report).text == report().text
        assert pisp.report(newer).status == 200
        assert report().status == 200
        (payment,) = items(causeway, "payments")
        assert [entry["status"] for entry in payment["history"]] == [first, new, newer]
        assert recorded_events(causeway) == ["payment.status_changed"] * 2

    return run


@scenario()
def report_another_status_before_a_retry(causeway: Causeway) -> Run:
    causeway.tpp.set_events_url()
    pisp, request_id = Pisp(causeway, 2, "direct"), str(uuid.uuid4())
    pisp.pay()

    def run(fault: Fault) -> None:
        with fault:
            answer = pisp.report("ACSP", **{"x-request-id": request_id})
        assert answer.status == 200 or refused(answer)
        assert pisp.report("ACWC").status == 200
        assert pisp.report("ACSP", **{"x-request-id": request_id}).status == 200
        (payment,) = items(causeway, "payments")
        later = sorted(entry["status"] for entry in payment["history"][1:])
        assert later == ["ACSP", "ACWC"], "each of them once"
        assert recorded_events(causeway) == ["payment.status_changed"] * 2

    return run


@scenario()
def report_after_a_final_status(causeway: Causeway) -> Run:
    pisp, request_id = Pisp(causeway, 1, "direct"), str(uuid.uuid4())
    pisp.pay()
    pisp.report(4)

    def report() -> Answer:
        return pisp.report(2, **{"x-request-id": request_id})

    def run(fault: Fault) -> None:
        assert completed(fault, report).text == report().text
        (payment,) = items(causeway, "payments")
        assert [entry["status"] for entry in payment["history"]] == [1, 4]

    return run


@scenario(1, 2)
def report_before_the_payment_is_known(causeway: Causeway, version: int) -> Run:
    pisp, request_id = Pisp(causeway, version, "direct"), str(uuid.uuid4())
    new = 4 if version == 1 else "ACSC"

    def run(fault: Fault) -> None:
        completed(fault, lambda: pisp.report(new, **{"x-request-id": request_id}), 400)
        assert pisp.pay().status == 200
        (payment,) = items(causeway, "payments")
        assert [entry["status"] for entry in payment["history"]] == [1 if version == 1 else "RCVD", new]

    return run


@scenario((1, None), (2, "key"))
def pay_after_the_bank_has_reported(causeway: Causeway, version: int, key: str | None) -> Run:
    causeway.tpp.set_events_url()
    pisp = Pisp(causeway, version, "direct")
    new = 4 if version == 1 else "ACSC"
    pisp.report(new)

    def run(fault: Fault) -> None:
        first = _paid(fault, pisp, key)
        assert first.status == 200 or fault.lasting
        (payment,) = items(causeway, "payments")
        kept: Any = payment.get("history", payment.get("early"))
        assert [entry["status"] for entry in kept][-1:] == [new]
        assert first.status != 200 or len(kept) == 2
        assert recorded_events(causeway) == (["payment.status_changed"] if "history" in payment else [])

    return run


@pytest.mark.parametrize("name", scenario.of(__name__))
def test_a_storage_fault_during_a_payment_neither_loses_nor_duplicates_data(
    causeway: Causeway, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    scenario.run_with_faults(causeway, name, monkeypatch)
