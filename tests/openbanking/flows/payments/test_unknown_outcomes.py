"""Tests of unknown payment outcomes: reason codes, status queries, and responses to TPPs and operators."""

import uuid
from functools import partial
from typing import Any

import pytest

from chalicelib.bootstrap import PLANS
from chalicelib.delivery.delivery_plan import DAY, JITTER
from chalicelib.foundation import jsontext
from chalicelib.foundation.http.outbound import ConnectionDropped, NotReached, Reply, ResponseTooLarge, TimedOut
from chalicelib.openbanking.flows.payments.callback_status import StatusResult, find_payment_status
from chalicelib.openbanking.flows.payments.outcomes import (
    NotResolved,
    list_unresolved,
    record_accepted,
    record_not_accepted,
)
from chalicelib.openbanking.records.orders import CLAIMED_SECONDS, RUNNING_SECONDS, Order, RecordedOrder, order_key
from tests.causeway import Causeway
from tests.openbanking.fault_scenarios import attempt_all_due, recorded_events
from tests.openbanking.faults import Fault, items
from tests.openbanking.kit import VERSIONS, ReceivedRequest
from tests.openbanking.payments import KINDS, REFUSAL, WEBHOOKS, Pisp, payment_answer

UNUSABLE = {"confirmation_url": "javascript:1"}
STATUS = "/v2_payment_single_status"
REASONS: dict[str, tuple[Any, str]] = {
    "was not reached": (NotReached("no connection"), "not_sent"),
    "did not answer in time": (TimedOut("late"), "outcome_unknown"),
    "dropped the connection": (ConnectionDropped("broke"), "outcome_unknown"),
    "failed": (Reply(503, b"", {}, 0), "outcome_unknown"),
    "failed with its own code": (Reply(500, b'{"code":"X","title":"y"}', {}, 0), "outcome_unknown"),
    "answered too much": (ResponseTooLarge("too large"), "bad_answer"),
    "answered nonsense": (Reply(200, b"<html>", {}, 0), "bad_answer"),
    "named no payment": (payment_answer(2, ""), "bad_answer"),
    "gave no usable address": (payment_answer(2) | UNUSABLE, "bad_answer"),
    "refused": (REFUSAL[2], "refused_by_bank"),
    "refused the token": (Reply(401, b'{"code":"AUTHENTICATION_REQUIRED","title":"x"}', {}, 0), "refused_by_bank"),
}


def unresolved(causeway: Causeway) -> list[RecordedOrder]:
    return causeway.hub.openbanking.call(list_unresolved, 100)


def order_of(pisp: Pisp) -> RecordedOrder:
    item = pisp.causeway.hub.store.get(*order_key(pisp.bank.bic, pisp.request_id or ""))
    found = RecordedOrder.from_item(item) if item else None
    assert found is not None
    return found


def with_unknown_outcome(causeway: Causeway, version: int = 2, kind: str = "single") -> Pisp:
    """Create a TPP with the payment P-1. The outcome of the payment is unknown, because the bank's response was
    unusable.
    """
    pisp = Pisp.with_request_id(causeway, version, kind)
    pisp.bank_answers(payment_answer(version) | UNUSABLE)
    assert pisp.pay().body["reason_code"] == "bad_answer"
    return pisp


# -- the reason


@pytest.mark.parametrize(("does", "reason"), REASONS.values(), ids=REASONS)
def test_every_payment_failure_has_a_reason_code(causeway: Causeway, does: Any, reason: str) -> None:
    pisp = Pisp(causeway, 2)
    pisp.bank_answers(does)

    first = pisp.pay("key")

    assert (first.status, first.body["code"], first.body["reason_code"]) == (502, "ASPSP_UNKNOWN_ERROR", reason)
    assert pisp.pay("key").text == first.text


@pytest.mark.parametrize(("does", "reason"), REASONS.values(), ids=REASONS)
def test_a_deferred_payment_failure_has_the_same_reason_code(causeway: Causeway, does: Any, reason: str) -> None:
    pisp = Pisp(causeway, 2, deferred=True)
    pisp.bank_answers(does)
    pisp.bank.answers[STATUS] = lambda sent: {"transaction_status": "RCVD"}

    accepted = pisp.order()
    attempt_all_due(causeway)

    assert pisp.outcome(accepted)["body"]["reason_code"] == reason


def test_repeating_an_unfinished_payment_request_returns_the_reason_outcome_unknown(causeway: Causeway) -> None:
    pisp = Pisp(causeway, 2)
    with Fault(causeway, "before", 3, lasting=True):
        first = pisp.pay("key")
    causeway.clock.advance(31)

    assert first.body["reason_code"] == "outcome_unknown"
    assert pisp.pay("key").body["reason_code"] == "outcome_unknown"


def test_a_failed_read_has_no_reason_code(causeway: Causeway) -> None:
    bearer = causeway.tpp.tokens(2)["access_token"]
    causeway.banks[2].answers["/v2_accounts"] = lambda sent: TimedOut("late")

    refused = causeway.tpp.call("GET", "/tpp/accounts", bearer=bearer)

    assert (refused.status, "reason_code" in refused.body) == (502, False)


# -- the bank is asked


@KINDS
def test_the_hub_sends_status_queries_to_a_version_2_bank_until_the_bank_returns_a_status(
    causeway: Causeway, kind: str
) -> None:
    causeway.tpp.set_events_url()
    pisp = with_unknown_outcome(causeway, kind=kind)
    path = "/v2_payment_bulk_status" if kind == "bulk" else STATUS
    answers: list[Any] = [{"transaction_status": "ACTC"}, Reply(404, b"{}", {}, 0), TimedOut("late")]
    pisp.bank.answers[path] = lambda sent: answers.pop()

    attempt_all_due(causeway)

    asked = [sent for sent in pisp.bank.received if sent.path == path]
    assert len(asked) == 3
    assert ["X-Auth-Token" in sent.headers for sent in asked] == [kind != "direct"] * 3
    (payment,) = items(causeway, "payments")
    assert (payment["status"], "outcome" in payment) == ("ACTC", False)
    assert recorded_events(causeway).count("payment.status_changed") == 1
    assert unresolved(causeway) == []


def test_resolving_an_outcome_with_an_unchanged_status_sends_an_event(causeway: Causeway) -> None:
    causeway.tpp.set_events_url()
    pisp = with_unknown_outcome(causeway)
    pisp.bank.answers[STATUS] = lambda sent: {"transaction_status": "RCVD"}

    attempt_all_due(causeway)

    assert recorded_events(causeway).count("payment.status_changed") == 1
    (payment,) = items(causeway, "payments")
    assert [entry["status"] for entry in payment["history"]] == ["RCVD"]


def test_the_hub_stops_sending_status_queries_for_an_unknown_outcome_after_a_day(causeway: Causeway) -> None:
    pisp = with_unknown_outcome(causeway)
    begun = causeway.clock.time()

    attempt_all_due(causeway)

    (query,) = causeway.recorded("payment_status")
    assert query.state == "failed"
    asked = [sent for sent in pisp.bank.received if sent.path == STATUS]
    assert len(asked) == len(PLANS["payment_status"].waits) + 1
    assert len({sent.headers["X-Request-Id"] for sent in asked}) == len(asked), "each is a question of its own"
    assert (query.failed_at or 0) - begun <= DAY
    assert DAY / 2 < sum(PLANS["payment_status"].waits) * (1 + JITTER) < DAY - 600, "all attempts fit into the day"
    assert [order.payment_id for order in unresolved(causeway)] == ["P-1"], "the operator still sees it"


def test_an_unknown_status_from_the_bank_does_not_resolve_an_unknown_payment_outcome(causeway: Causeway) -> None:
    pisp = with_unknown_outcome(causeway)
    answers = ["ACSC", "XXXX"]
    pisp.bank.answers[STATUS] = lambda sent: {"transaction_status": answers.pop()}

    attempt_all_due(causeway)

    assert items(causeway, "payments")[0]["status"] == "ACSC"


def test_a_status_query_is_not_sent_after_the_consent_ended(causeway: Causeway) -> None:
    pisp = with_unknown_outcome(causeway)
    causeway.tpp.call("POST", "/tpp/token/revoke", {"token": pisp.bearer})
    pisp.bank.answers["/revoke_token"] = lambda sent: {"status": "success"}

    attempt_all_due(causeway)

    assert [sent.path for sent in pisp.bank.received].count(STATUS) == 0
    assert causeway.recorded("payment_status")[0].state == "failed"


def test_a_status_query_is_not_sent_after_the_outcome_is_known(causeway: Causeway) -> None:
    pisp = with_unknown_outcome(causeway)
    pisp.report("ACSC")

    attempt_all_due(causeway)

    assert [sent.path for sent in pisp.bank.received].count(STATUS) == 0
    assert causeway.recorded("payment_status")[0].state == "delivered"


def test_the_hub_sends_no_status_queries_to_a_version_1_bank(causeway: Causeway) -> None:
    with_unknown_outcome(causeway, version=1)

    assert causeway.recorded("payment_status") == []


# -- the outcome becomes known


@VERSIONS
@pytest.mark.parametrize("status", ["first", "final"])
def test_a_status_report_resolves_an_unknown_payment_outcome(causeway: Causeway, version: int, status: str) -> None:
    pisp = with_unknown_outcome(causeway, version)

    assert pisp.report({("first", 1): 1, ("first", 2): "RCVD", ("final", 1): 4, ("final", 2): "ACSC"}[status, version])

    (payment,) = items(causeway, "payments")
    assert "outcome" not in payment
    assert unresolved(causeway) == []


@VERSIONS
def test_an_unknown_outcome_is_resolved_by_a_usable_response_to_a_repeated_order(
    causeway: Causeway, version: int
) -> None:
    pisp = with_unknown_outcome(causeway, version)
    pisp.bank_accepts_all()

    assert pisp.pay().status == 200

    (payment,) = items(causeway, "payments")
    assert "outcome" not in payment
    assert unresolved(causeway) == []


def test_an_early_status_report_resolves_an_outcome_left_unknown_by_an_unusable_response(causeway: Causeway) -> None:
    pisp = Pisp.with_request_id(causeway, 2)
    pisp.report("ACSC")
    pisp.bank_answers(payment_answer(2) | UNUSABLE)

    pisp.pay()

    assert "outcome" not in items(causeway, "payments")[0]
    assert (unresolved(causeway), causeway.recorded("payment_status")) == ([], [])


# -- what the TPP sees


def test_a_version_1_status_shows_an_unknown_outcome_until_a_report(causeway: Causeway) -> None:
    pisp = with_unknown_outcome(causeway, version=1)

    before = pisp.status().body
    pisp.report(4)

    assert (before["payment_status"], before["outcome"]) == (1, "unknown")
    assert "outcome" not in pisp.status().body


def test_a_version_2_status_shows_an_unknown_outcome_while_the_bank_times_out(causeway: Causeway) -> None:
    pisp = with_unknown_outcome(causeway)
    pisp.bank.answers[STATUS] = lambda sent: TimedOut("late")

    before = pisp.status()
    pisp.bank.answers[STATUS] = lambda sent: {"transaction_status": "ACSC"}

    assert (before.status, before.body) == (
        200,
        {"payment_id": "P-1", "transaction_status": "RCVD", "outcome": "unknown"},
    )
    assert pisp.status().body == {"payment_id": "P-1", "transaction_status": "ACSC"}
    assert unresolved(causeway) == [], "the answer to the TPP's own query settles it, too"


def test_refused_status_query_leaves_the_outcome_unknown(causeway: Causeway) -> None:
    pisp = with_unknown_outcome(causeway)
    pisp.bank.answers[STATUS] = lambda sent: REFUSAL[2]

    assert pisp.status().body["outcome"] == "unknown"
    causeway.hub.openbanking.call(record_not_accepted, pisp.bank.bic, pisp.request_id or "")
    assert pisp.status().body["outcome"] == pisp.status_of_order().body["outcome"] == "not_accepted"


def test_a_status_query_with_a_rejected_token_returns_502(causeway: Causeway) -> None:
    pisp = with_unknown_outcome(causeway)
    pisp.bank.answers[STATUS] = lambda sent: Reply(401, b'{"code":"AUTHENTICATION_REQUIRED","title":"x"}', {}, 0)

    assert pisp.status().status == 502


@VERSIONS
@KINDS
def test_a_payment_order_without_a_response_is_found_by_its_request_id(
    causeway: Causeway, version: int, kind: str
) -> None:
    pisp = Pisp.with_request_id(causeway, version, kind)
    pisp.bank_answers(TimedOut("late"))
    pisp.pay()

    answer = pisp.status_of_order()

    assert (answer.status, answer.body) == (200, {"request_id": pisp.request_id, "outcome": "unknown"})


@VERSIONS
@pytest.mark.parametrize("does", ["refuses", "is not reached"])
def test_refused_or_unsent_order_has_the_outcome_not_accepted(causeway: Causeway, version: int, does: str) -> None:
    pisp = Pisp.with_request_id(causeway, version)
    pisp.bank_answers(REFUSAL[version] if does == "refuses" else NotReached("no connection"))
    pisp.pay()

    assert pisp.status_of_order().body == {"request_id": pisp.request_id, "outcome": "not_accepted"}
    assert unresolved(causeway) == []


@KINDS
def test_a_payment_with_a_lost_response_is_found_by_its_request_id(causeway: Causeway, kind: str) -> None:
    pisp = Pisp.with_request_id(causeway, 1, kind)
    pisp.pay()

    answer = pisp.status_of_order()

    assert (answer.status, answer.body["payment_id"], answer.body["payment_status"]) == (200, "P-1", 1)


def test_a_payment_is_found_by_a_generated_request_id(causeway: Causeway) -> None:
    pisp = Pisp(causeway, 1)
    pisp.request_id = pisp.pay().headers["x-request-id"]

    assert pisp.status_of_order().body["payment_id"] == "P-1"


def test_the_outcome_of_the_first_attempt_remains_unknown_after_a_refused_retry(causeway: Causeway) -> None:
    pisp = Pisp.with_request_id(causeway, 2)
    pisp.bank_answers(TimedOut("late"))
    pisp.pay()
    for does in (REFUSAL[2], NotReached("no connection")):
        pisp.bank_answers(does)
        pisp.pay()

    causeway.clock.advance(RUNNING_SECONDS)
    assert pisp.status_of_order().body["outcome"] == "unknown"
    assert len(unresolved(causeway)) == 1


def test_the_outcome_of_a_payment_order_is_returned_only_to_the_client_of_the_order(causeway: Causeway) -> None:
    pisp = Pisp.with_request_id(causeway, 2)
    pisp.bank_answers(TimedOut("late"))
    pisp.pay()
    of_another_consent = Pisp(causeway, 2)
    without_bearer = Pisp(causeway, 2, "direct")
    spent = Pisp(causeway, 2, consent_type="one_time")
    spent.bank_accepts_all()
    spent.pay()
    for each in (of_another_consent, without_bearer, spent):
        each.request_id = pisp.request_id

    assert of_another_consent.status_of_order().body["outcome"] == "unknown", "as a payment is shown by its payment_id"
    assert without_bearer.status_of_order().status == 404
    assert spent.status_of_order().status == 401
    causeway.tpp.client = causeway.hub.openbanking.clients.create(owner="other@example.com", title="Other").client
    assert without_bearer.status_of_order().status == 404


@pytest.mark.parametrize(
    "query", ["", "payment_id=P-1&request_id=5b1b1c9a-6a0f-4b52-9a53-64f4f2d6f0c1", "request_id=7", "request_id="]
)
def test_a_status_query_without_exactly_one_valid_id_returns_400(causeway: Causeway, query: str) -> None:
    pisp = Pisp(causeway, 2)

    answer = causeway.tpp.call("GET", f"/tpp/payment_status?{query}", bearer=pisp.bearer)

    assert (answer.status, answer.body["code"]) == (400, "PARAMETER_NOT_CONSISTENT")


def test_the_bearer_token_of_a_used_one_time_consent_gets_the_outcome_of_its_own_order(causeway: Causeway) -> None:
    pisp = Pisp.with_request_id(causeway, 2, consent_type="one_time")
    pisp.bank_answers(TimedOut("late"))
    pisp.pay()

    assert pisp.status_of_order().body["outcome"] == "unknown"


# -- what the operator sees


@VERSIONS
@KINDS
@pytest.mark.parametrize("key", [None, "key"])
def test_a_payment_order_without_a_response_is_listed_as_unresolved(
    causeway: Causeway, version: int, kind: str, key: str | None
) -> None:
    pisp = Pisp(causeway, version, kind)
    pisp.bank_answers(TimedOut("late"))
    request_id = pisp.pay(key).headers["x-request-id"]

    (found,) = unresolved(causeway)

    assert (found.order.request_id, found.payment_id) == (request_id, None)


@pytest.mark.parametrize("with_id", [True, False])
def test_a_payment_with_a_response_is_not_listed_as_unresolved(causeway: Causeway, with_id: bool) -> None:
    pisp = Pisp.with_request_id(causeway, 2) if with_id else Pisp(causeway, 2)
    assert pisp.pay().status == 200
    causeway.clock.advance(DAY)

    assert unresolved(causeway) == []


def test_a_payment_order_of_a_crashed_process_is_listed_as_unresolved(causeway: Causeway) -> None:
    pisp = Pisp.with_request_id(causeway, 2)
    with Fault(causeway, "before", 3, lasting=True):
        pisp.pay()

    running = unresolved(causeway)
    causeway.clock.advance(RUNNING_SECONDS)

    assert running == []
    assert [found.order.request_id for found in unresolved(causeway)] == [pisp.request_id]


def test_a_waiting_deferred_order_is_not_listed_as_unresolved(causeway: Causeway) -> None:
    pisp = Pisp(causeway, 2, deferred=True)
    pisp.order()
    causeway.clock.advance(PLANS["payment"].lifetime)

    assert unresolved(causeway) == []


def test_only_the_first_of_two_concurrent_operators_resolves_an_order(causeway: Causeway) -> None:
    pisp = Pisp.with_request_id(causeway, 1)
    pisp.bank_answers(TimedOut("late"))
    pisp.pay()
    bic, request_id = pisp.bank.bic, pisp.request_id or ""

    with (
        causeway.meanwhile("transact", lambda: causeway.hub.openbanking.call(record_not_accepted, bic, request_id)),
        pytest.raises(NotResolved),
    ):
        causeway.hub.openbanking.call(record_not_accepted, bic, request_id)

    assert order_of(pisp).outcome == "not_accepted"


def test_the_operator_resolves_an_order_accepted_by_the_bank(causeway: Causeway) -> None:
    pisp = Pisp.with_request_id(causeway, 1)
    pisp.bank_answers(TimedOut("late"))
    pisp.pay()

    causeway.hub.openbanking.call(record_accepted, pisp.bank.bic, pisp.request_id or "", "P-7")

    assert unresolved(causeway) == []
    assert pisp.status_of_order().body["payment_id"] == "P-7"
    assert pisp.report(4, "P-7").status == 200
    assert pisp.status("P-7").body["payment_status"] == 4


def test_an_early_status_report_is_applied_to_a_resolved_order(causeway: Causeway) -> None:
    pisp = Pisp.with_request_id(causeway, 1)
    pisp.bank_answers(TimedOut("late"))
    pisp.pay()
    pisp.report(4, "P-7")

    causeway.hub.openbanking.call(record_accepted, pisp.bank.bic, pisp.request_id or "", "P-7")

    assert pisp.status("P-7").body["payment_status"] == 4


@VERSIONS
def test_the_operator_resolves_an_order_not_accepted_by_the_bank(causeway: Causeway, version: int) -> None:
    unnamed, named = Pisp.with_request_id(causeway, version), with_unknown_outcome(causeway, version)
    unnamed.bank_answers(TimedOut("late"))
    unnamed.pay()
    for pisp in (unnamed, named):
        causeway.hub.openbanking.call(record_not_accepted, pisp.bank.bic, pisp.request_id or "")

    assert unresolved(causeway) == []
    assert unnamed.status_of_order().body == {"request_id": unnamed.request_id, "outcome": "not_accepted"}
    assert items(causeway, "payments")[0]["outcome"] == "not_accepted"


def test_the_operator_can_confirm_a_payment_id_that_the_bank_returned(causeway: Causeway) -> None:
    pisp = with_unknown_outcome(causeway, version=1)

    causeway.hub.openbanking.call(record_accepted, pisp.bank.bic, pisp.request_id or "", "P-1")

    assert "outcome" not in pisp.status().body
    assert unresolved(causeway) == []


def test_an_invalid_resolution_is_rejected_with_the_reason(causeway: Causeway) -> None:
    known, named = Pisp.with_request_id(causeway, 2, "direct"), with_unknown_outcome(causeway)
    known.bank.answers[WEBHOOKS[2, "direct"]] = lambda sent: payment_answer(2, "P-9")
    known.pay()
    unnamed = Pisp.with_request_id(causeway, 2)
    unnamed.bank_answers(TimedOut("late"))
    unnamed.pay()
    bic, settle = known.bank.bic, partial(causeway.hub.openbanking.call, record_accepted)

    for pisp, payment_id, why in (
        (known, "P-9", "no order"),
        (named, "P-2", "the bank named this payment P-1"),
        (unnamed, "P-9", "belongs to another order"),
        (unnamed, "", "printable characters"),
    ):
        with pytest.raises(NotResolved, match=why):
            settle(bic, pisp.request_id or "", payment_id)
    with pytest.raises(NotResolved, match="no order"):
        causeway.hub.openbanking.call(record_not_accepted, bic, known.request_id or "")
    with pytest.raises(NotResolved, match="no order"):
        causeway.hub.openbanking.call(record_not_accepted, bic, str(uuid.uuid4()))
    assert len(unresolved(causeway)) == 2


def test_a_payment_order_that_is_still_being_sent_cannot_be_resolved(causeway: Causeway) -> None:
    pisp = Pisp.with_request_id(causeway, 2)
    with Fault(causeway, "before", 3, lasting=True):
        pisp.pay()

    with pytest.raises(NotResolved, match="still being sent"):
        causeway.hub.openbanking.call(record_not_accepted, pisp.bank.bic, pisp.request_id or "")


# -- the id of an order


def test_the_request_id_of_an_order_with_an_unknown_outcome_remains_claimed(causeway: Causeway) -> None:
    pisp, other = Pisp.with_request_id(causeway, 2), Pisp(causeway, 2, "direct")
    pisp.bank_answers(TimedOut("late"))
    pisp.pay()
    other.request_id = pisp.request_id
    causeway.clock.advance(CLAIMED_SECONDS + 1)

    assert other.pay().status == 400
    causeway.hub.openbanking.call(record_not_accepted, pisp.bank.bic, pisp.request_id or "")
    assert other.pay().status == 200


def test_a_reused_request_id_does_not_show_the_payment_of_the_first_order(causeway: Causeway) -> None:
    first, second = Pisp.with_request_id(causeway, 1, "direct"), Pisp(causeway, 1, "direct")
    first.pay()
    causeway.clock.advance(CLAIMED_SECONDS + 1)
    second.request_id = first.request_id
    second.bank_answers(TimedOut("late"))
    second.pay(callback_url="http://127.0.0.1:8000/payments/callback?another")

    assert order_of(second).payment_id is None


@pytest.mark.parametrize("then", ["is late", "refuses", "is not reached"])
def test_a_failed_retry_does_not_reopen_an_accepted_order(causeway: Causeway, then: str) -> None:
    pisp = Pisp.with_request_id(causeway, 1)
    pisp.pay()
    pisp.report(4)
    pisp.bank_answers({"is late": TimedOut("late"), "refuses": REFUSAL[1], "is not reached": NotReached("no")}[then])

    pisp.pay()

    causeway.clock.advance(RUNNING_SECONDS)
    assert unresolved(causeway) == []
    assert pisp.status_of_order().body["payment_status"] == 4


def test_a_late_response_to_the_first_attempt_does_not_replace_the_payment_of_the_retry(causeway: Causeway) -> None:
    pisp = Pisp.with_request_id(causeway, 1)

    def slow(sent: ReceivedRequest) -> Any:
        pisp.bank_accepts_all()
        assert pisp.pay().status == 200
        return TimedOut("late")

    pisp.bank.answers[WEBHOOKS[1, "single"]] = slow

    assert pisp.pay().body["reason_code"] == "outcome_unknown"
    assert pisp.status_of_order().body["payment_id"] == "P-1"
    assert unresolved(causeway) == []


@pytest.mark.parametrize("second", ["refuses", "is not reached"])
def test_a_payment_order_refused_in_both_attempts_has_the_outcome_not_accepted(causeway: Causeway, second: str) -> None:
    pisp = Pisp.with_request_id(causeway, 2)
    for does in (REFUSAL[2], REFUSAL[2] if second == "refuses" else NotReached("no connection")):
        pisp.bank_answers(does)
        pisp.pay()

    causeway.clock.advance(RUNNING_SECONDS)
    assert pisp.status_of_order().body["outcome"] == "not_accepted"
    assert unresolved(causeway) == []


def test_a_payment_order_with_a_reused_request_id_contains_no_data_of_the_first_order(causeway: Causeway) -> None:
    first, second = Pisp.with_request_id(causeway, 2), Pisp(causeway, 2, "direct")
    first.pay()
    causeway.clock.advance(CLAIMED_SECONDS + 1)
    second.request_id = first.request_id
    second.bank_answers(REFUSAL[2])

    second.pay()

    assert second.status_of_order().body["outcome"] == "not_accepted"
    assert (order_of(second).order.consent_id, order_of(second).payment_id, unresolved(causeway)) == (None, None, [])


def test_a_report_on_a_payment_does_not_resolve_a_later_order_with_the_same_request_id(causeway: Causeway) -> None:
    first, second = with_unknown_outcome(causeway, 1), Pisp(causeway, 1, "direct")
    causeway.hub.openbanking.call(record_not_accepted, first.bank.bic, first.request_id or "")
    causeway.clock.advance(CLAIMED_SECONDS + 1)
    second.request_id = first.request_id
    second.bank_answers(TimedOut("late"))
    second.pay()

    assert first.report(4).status == 200

    assert second.status_of_order().body["outcome"] == "unknown"
    assert "outcome" not in items(causeway, "payments")[0]


@VERSIONS
def test_a_payment_recorded_as_not_accepted_becomes_unknown_if_the_bank_returns_its_id_again(
    causeway: Causeway, version: int
) -> None:
    pisp = with_unknown_outcome(causeway, version)
    causeway.hub.openbanking.call(record_not_accepted, pisp.bank.bic, pisp.request_id or "")
    queries = len(causeway.recorded("payment_status"))

    assert pisp.pay().body["reason_code"] == "bad_answer"

    assert items(causeway, "payments")[0]["outcome"] == "unknown"
    assert [found.payment_id for found in unresolved(causeway)] == ["P-1"]
    assert len(causeway.recorded("payment_status")) == queries + (version == 2)


def test_a_payment_with_a_status_cannot_be_recorded_as_not_accepted(causeway: Causeway) -> None:
    pisp = Pisp.with_request_id(causeway, 1)
    pisp.bank_answers(payment_answer(1) | UNUSABLE)
    pisp.pay()
    (item,) = items(causeway, "payments")
    known = {name: value for name, value in item.items() if name != "outcome"}
    causeway.hub.store.put("payments", known)

    with pytest.raises(NotResolved, match="has given the payment P-1 the status 1"):
        causeway.hub.openbanking.call(record_not_accepted, pisp.bank.bic, pisp.request_id or "")


def test_a_payment_order_is_found_by_its_generated_request_id_after_a_storage_failure(causeway: Causeway) -> None:
    pisp = Pisp(causeway, 2)
    with Fault(causeway, "before", 3, lasting=True):
        failed = pisp.pay()

    pisp.request_id = failed.headers["x-request-id"]
    assert (failed.status, failed.body["reason_code"]) == (500, "outcome_unknown")
    assert pisp.status_of_order().body["outcome"] == "pending"
    causeway.clock.advance(RUNNING_SECONDS)
    assert pisp.status_of_order().body["outcome"] == "unknown"
    assert len(unresolved(causeway)) == 1


def test_the_operator_resolves_an_order_of_a_removed_bank(causeway: Causeway) -> None:
    request_id, orders = str(uuid.uuid4()), causeway.hub.openbanking.orders
    order = Order("GONEDEFFXXX", request_id, causeway.tpp.client_id, "/tpp/payment_initiation", None, 2, "digest")
    causeway.hub.store.transact([orders.put_claim(order, "attempt", running=0)])

    causeway.hub.openbanking.call(record_not_accepted, "GONEDEFF", request_id)

    assert unresolved(causeway) == []


@pytest.mark.parametrize("later", [False, True], ids=["at once", "later"])
@pytest.mark.parametrize(("does", "reason"), REASONS.values(), ids=REASONS)
def test_an_unknown_outcome_metric_counts_each_unknown_outcome_once(
    causeway: Causeway, does: Any, reason: str, later: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    pisp: Pisp = Pisp(causeway, 2, deferred=later)
    pisp.bank_answers(does)
    pisp.bank.answers[STATUS] = lambda sent: {"transaction_status": "RCVD"}

    pisp.pay()
    attempt_all_due(causeway)

    counted = capsys.readouterr().out.count('"UnknownOutcomes":[')
    assert counted == (1 if reason in ("outcome_unknown", "bad_answer") else 0)


@pytest.mark.parametrize("later", [False, True], ids=["at once", "later"])
def test_a_payment_id_of_another_order_leaves_the_outcome_unknown_and_is_counted(
    causeway: Causeway, later: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    first = Pisp(causeway, 2, "direct")
    first.pay()
    pisp: Pisp = Pisp(causeway, 2, deferred=later)
    pisp.request_id = str(uuid.uuid4())
    pisp.bank_answers(payment_answer(2, "P-1"))

    pisp.pay()
    attempt_all_due(causeway)

    assert [found.payment_id for found in unresolved(causeway)] == [None]
    assert capsys.readouterr().out.count('"UnknownOutcomes":[') == 1


def test_a_retried_order_with_a_new_payment_id_does_not_replace_the_first_payment(causeway: Causeway) -> None:
    pisp = with_unknown_outcome(causeway, 1)
    pisp.bank_answers(payment_answer(1, "P-2"))
    assert pisp.pay().status == 200

    assert pisp.report(2, "P-1").status == 200

    assert pisp.status_of_order().body["payment_id"] == "P-2"
    assert pisp.status("P-1").body["payment_status"] == 2


def test_a_status_shows_an_unknown_outcome_while_the_bank_is_inactive(causeway: Causeway) -> None:
    pisp = with_unknown_outcome(causeway)
    causeway.hub.openbanking.banks.change(pisp.bank.bic, active=False)
    try:
        causeway.clock.advance(61)

        assert pisp.status().body["outcome"] == "unknown"
    finally:
        causeway.hub.openbanking.banks.change(pisp.bank.bic, active=True)


def test_a_payment_order_waiting_to_be_sent_is_pending(causeway: Causeway) -> None:
    pisp = Pisp.with_request_id(causeway, 2, deferred=True)
    pisp.order()

    assert pisp.status_of_order().body == {"request_id": pisp.request_id, "outcome": "pending"}


def test_the_event_of_an_accepted_order_contains_the_status_of_its_early_report(causeway: Causeway) -> None:
    pisp = Pisp.with_request_id(causeway, 1)
    pisp.bank_answers(TimedOut("late"))
    pisp.pay()
    pisp.report(4, "P-7")
    causeway.tpp.set_events_url()

    causeway.hub.openbanking.call(record_accepted, pisp.bank.bic, pisp.request_id or "", "P-7")

    attempt_all_due(causeway)
    (sent,) = causeway.receiver.received
    assert jsontext.loads(sent.body)["data"]["payment_status"] == 4


def status_on_callback_page(causeway: Causeway, pisp: Pisp) -> StatusResult | None:
    visit = {"callback_url": causeway.tpp.client.callback_url, "address": "192.0.2.1"}
    return causeway.hub.openbanking.call(find_payment_status, pisp.bank.bic, "P-1", **visit)


def test_the_callback_page_shows_an_unknown_outcome(causeway: Causeway) -> None:
    pisp = with_unknown_outcome(causeway, version=1)
    unknown = status_on_callback_page(causeway, pisp)
    pisp.report(4)
    known = status_on_callback_page(causeway, pisp)

    assert (unknown and unknown.outcome, known and known.outcome) == ("unknown", None)


def test_a_status_query_of_the_callback_page_resolves_the_outcome(causeway: Causeway) -> None:
    pisp = with_unknown_outcome(causeway)
    pisp.bank.answers[STATUS] = lambda sent: {"transaction_status": "ACSC"}

    status_on_callback_page(causeway, pisp)

    assert unresolved(causeway) == []


def test_a_status_query_for_an_order_claimed_by_an_earlier_release_returns_404(causeway: Causeway) -> None:
    request_id, now = str(uuid.uuid4()), causeway.clock.time()
    _, key = order_key("BETADEF1", request_id)
    old = {**key, "order_digest": "x", "attempt": "A", "sendings": 1, "expires_at": now + CLAIMED_SECONDS}
    causeway.hub.store.put("idempotency", old)
    pisp = Pisp(causeway, 2)
    pisp.request_id = request_id

    assert pisp.status_of_order().status == 404
    assert pisp.pay().status == 400, "and it stays claimed as long as it was"
    causeway.clock.advance(CLAIMED_SECONDS)
    pisp = Pisp(causeway, 2)
    pisp.request_id = request_id
    assert pisp.pay().status == 200
