"""Tests of unified payment statuses: one shape for reported and queried statuses, and for orders without a payment."""

from __future__ import annotations

from typing import Any

import pytest

from chalicelib.foundation.http.outbound import TimedOut
from chalicelib.openbanking.flows.payments.outcomes import record_not_accepted
from chalicelib.openbanking.protocol.payment_statuses import CODES, NUMBERS, UnifiedStatus
from chalicelib.openbanking.records.orders import RUNNING_SECONDS
from tests.causeway import Answer, Causeway
from tests.openbanking.kit import LATER, VERSIONS, accepted_id
from tests.openbanking.payments import KINDS, Pisp, UnifiedPisp, payment_answer

START = "2026-03-02T09:00:00+00:00"
STATUS_WEBHOOKS = ("/v2_payment_single_status", "/v2_payment_bulk_status")
UNUSABLE = {"confirmation_url": "javascript:1"}
FINAL = {"executed", "settled", "rejected", "cancelled"}
OF_NUMBERS: dict[int, UnifiedStatus] = {0: "unknown", 1: "pending", 2: "rejected", 3: "cancelled", 4: "executed"}
OF_CODES: dict[str, UnifiedStatus] = {
    "RCVD": "pending",
    "PDNG": "pending",
    "ACCP": "pending",
    "ACFC": "pending",
    "PART": "pending",
    "ACTC": "authorising",
    "PATC": "authorising",
    "ACSP": "accepted",
    "ACWC": "accepted",
    "ACWP": "accepted",
    "ACSC": "executed",
    "ACCC": "settled",
    "RJCT": "rejected",
    "CANC": "cancelled",
}
OTHER_CODES: dict[str, UnifiedStatus] = {"XXXX": "unknown", "4": "unknown", "acsc": "unknown"}


def bank_states(pisp: Pisp, status: Any) -> None:
    """Script the bank's response to status queries: a status or an exception."""
    answer = status if isinstance(status, Exception) else {"transaction_status": status, "extra": 1}
    for path in STATUS_WEBHOOKS:
        pisp.bank.answers[path] = lambda sent: answer


def found(answer: Answer) -> dict[str, Any]:
    """Return the body of a status response, whose members are always present."""
    assert answer.status == 200, answer
    body: dict[str, Any] = answer.body
    members = ("payment_id", "request_id", "kind", "status", "is_final", "native_status", "outcome", "history")
    assert sorted(body) == sorted(members)
    assert body["is_final"] == (body["status"] in FINAL)
    return body


def test_the_table_has_every_native_status() -> None:
    assert (OF_NUMBERS.keys(), OF_CODES.keys()) == (NUMBERS.meanings.keys(), CODES.meanings.keys())


# -- statuses


@pytest.mark.parametrize(("native", "status"), OF_NUMBERS.items())
def test_a_reported_status_of_version_1_has_its_unified_form(causeway: Causeway, native: int, status: str) -> None:
    pisp = UnifiedPisp(causeway, 1)
    pisp.pay()
    pisp.report(native)

    body = found(pisp.status())

    assert (body["status"], body["native_status"], body["outcome"]) == (status, str(native), None)


@pytest.mark.parametrize(("native", "status"), [*OF_CODES.items(), *OTHER_CODES.items()])
def test_a_queried_status_of_version_2_has_its_unified_form(causeway: Causeway, native: str, status: str) -> None:
    pisp = UnifiedPisp(causeway, 2)
    pisp.pay()
    bank_states(pisp, native)

    body = found(pisp.status())

    assert (body["status"], body["native_status"], body["outcome"]) == (status, native, None)


@KINDS
@VERSIONS
def test_a_status_names_the_payment_its_order_and_its_kind(causeway: Causeway, version: int, kind: str) -> None:
    pisp = UnifiedPisp.with_request_id(causeway, version, kind)
    pisp.pay()
    bank_states(pisp, "ACSP")

    by_payment, by_request = pisp.status(), pisp.status_of_order()

    body = found(by_payment)
    assert by_request.body == body
    assert (body["payment_id"], body["request_id"], body["kind"]) == ("P-1", pisp.request_id, kind)
    assert "server-timing" in by_payment.headers
    assert [sent.path for sent in pisp.bank.received][1:] == (
        [] if version == 1 else [f"/v2_payment_{'bulk' if kind == 'bulk' else 'single'}_status"] * 2
    )


@KINDS
@VERSIONS
def test_the_history_has_the_first_status_and_each_report(causeway: Causeway, version: int, kind: str) -> None:
    pisp = UnifiedPisp(causeway, version, kind)
    pisp.pay()
    bank_states(pisp, "ACCC")
    causeway.clock.advance(60)
    pisp.report(0 if version == 1 else "ACSP")
    causeway.clock.advance(60)
    pisp.report(4 if version == 1 else "ACSC")

    body = found(pisp.status())

    natives = ["1", "0", "4"] if version == 1 else ["RCVD", "ACSP", "ACSC"]
    statuses = ["pending", "unknown" if version == 1 else "accepted", "executed"]
    times = [START, "2026-03-02T09:01:00+00:00", "2026-03-02T09:02:00+00:00"]
    assert body["history"] == [
        {"status": status, "native_status": native, "at": at}
        for status, native, at in zip(statuses, natives, times, strict=True)
    ]
    assert body["status"] == ("executed" if version == 1 else "settled")


@KINDS
@VERSIONS
def test_a_payment_has_a_status_in_either_form_whichever_call_made_it(
    causeway: Causeway, version: int, kind: str
) -> None:
    unified, native = UnifiedPisp(causeway, version, kind), Pisp(causeway, version, kind)
    native.bearer = unified.bearer
    unified.pay()
    native.pay()
    bank_states(unified, "ACSP")
    member, status = ("payment_status", 1) if version == 1 else ("transaction_status", "ACSP")

    for payment_id in ("P-1", "P-2"):
        assert found(unified.status(payment_id))["native_status"] == str(status)
        assert native.status(payment_id).body[member] == status


def test_a_payment_id_may_have_any_characters(causeway: Causeway) -> None:
    pisp, payment_id = UnifiedPisp(causeway, 1), "a/b %?#&=ü"
    pisp.bank_answers(payment_answer(1, payment_id))
    pisp.pay()

    answer = causeway.tpp.call(
        "GET", f"{pisp.status_path}?payment_id=a%2Fb%20%25%3F%23%26%3D%C3%BC", bearer=pisp.bearer
    )

    assert found(answer)["payment_id"] == payment_id


# -- outcomes


@VERSIONS
def test_an_order_without_a_payment_is_unknown_until_its_outcome_is_known(causeway: Causeway, version: int) -> None:
    pisp = UnifiedPisp.with_request_id(causeway, version)
    pisp.bank_answers(TimedOut("late"))
    pisp.pay()

    without: dict[str, Any] = {
        "payment_id": None,
        "request_id": pisp.request_id,
        "kind": "single",
        "native_status": None,
        "history": [],
    }
    unknown = {**without, "status": "unknown", "is_final": False, "outcome": "unknown"}
    assert found(pisp.status_of_order()) == unknown

    causeway.hub.openbanking.call(record_not_accepted, pisp.bank.bic, pisp.request_id or "")
    refused = {**without, "status": "rejected", "is_final": True, "outcome": "not_accepted"}
    assert found(pisp.status_of_order()) == refused


@KINDS
def test_an_order_that_waits_is_pending(causeway: Causeway, kind: str) -> None:
    pisp = UnifiedPisp.with_request_id(causeway, 2, kind, deferred=True)
    pisp.order()

    body = found(pisp.status_of_order())

    assert (body["status"], body["outcome"], body["kind"]) == ("pending", "pending", kind)
    causeway.clock.advance(RUNNING_SECONDS)
    assert found(pisp.status_of_order())["status"] == "pending"


@VERSIONS
def test_a_payment_in_an_unusable_response_has_an_unknown_outcome(causeway: Causeway, version: int) -> None:
    pisp = UnifiedPisp.with_request_id(causeway, version)
    pisp.bank_answers(payment_answer(version) | UNUSABLE)
    pisp.pay()
    bank_states(pisp, TimedOut("late"))

    body = found(pisp.status_of_order())

    native = "1" if version == 1 else "RCVD"
    assert (body["payment_id"], body["native_status"], body["status"]) == ("P-1", native, "pending")
    assert (body["outcome"], body["is_final"]) == ("unknown", False)


def test_a_status_query_resolves_an_unknown_outcome(causeway: Causeway) -> None:
    pisp = UnifiedPisp.with_request_id(causeway, 2)
    pisp.bank_answers(payment_answer(2) | UNUSABLE)
    pisp.pay()
    bank_states(pisp, "ACSC")

    assert (found(pisp.status())["outcome"], found(pisp.status())["status"]) == (None, "executed")
    assert [entry["native_status"] for entry in found(pisp.status())["history"]] == ["RCVD", "ACSC"]


# -- deferred, and refusals


@KINDS
def test_a_deferred_status_query_stores_the_unified_response(causeway: Causeway, kind: str) -> None:
    pisp = UnifiedPisp(causeway, 2, kind)
    pisp.pay()
    bank_states(pisp, "ACSP")
    expected = found(pisp.status())
    bic = f"&bic={pisp.bank.bic}" if kind == "direct" else ""

    path = f"{pisp.status_path}?payment_id=P-1{bic}"
    request_id = accepted_id(causeway.tpp.call("GET", path, bearer=pisp.bearer, headers=LATER))
    pisp.attempt(request_id)

    assert pisp.outcome(request_id) == {"state": "done", "status": 200, "body": expected}


def test_a_status_of_version_1_is_never_deferred(causeway: Causeway) -> None:
    pisp = UnifiedPisp(causeway, 1)
    pisp.pay()

    answer = causeway.tpp.call("GET", f"{pisp.status_path}?payment_id=P-1", bearer=pisp.bearer, headers=LATER)

    assert found(answer)["status"] == "pending"


@pytest.mark.parametrize(
    ("query", "status", "code"),
    [
        ("", 400, "PARAMETER_NOT_CONSISTENT"),
        ("payment_id=P-1&request_id=fdfd4e95-a65f-44f4-8807-2ce2f6b89e89", 400, "PARAMETER_NOT_CONSISTENT"),
        ("payment_id=P-1&native=1", 400, "PARAMETER_NOT_CONSISTENT"),
        ("payment_id=P-2", 404, "RESOURCE_UNKNOWN"),
        ("request_id=fdfd4e95-a65f-44f4-8807-2ce2f6b89e89", 404, "RESOURCE_UNKNOWN"),
    ],
)
@VERSIONS
def test_a_status_query_is_refused_as_the_native_one(
    causeway: Causeway, version: int, query: str, status: int, code: str
) -> None:
    unified, native = UnifiedPisp(causeway, version), Pisp(causeway, version)
    unified.pay()

    for path in (unified.status_path, native.status_path):
        refused = causeway.tpp.call("GET", f"{path}?{query}", bearer=unified.bearer)

        assert (refused.status, refused.body["code"]) == (status, code)


def test_a_status_query_without_bearer_and_bic_is_refused_with_a_bearer_challenge(causeway: Causeway) -> None:
    refused = causeway.tpp.call("GET", f"{UnifiedPisp.status_path}?payment_id=P-1")

    assert (refused.status, refused.headers["www-authenticate"]) == (401, 'Bearer realm="causeway"')


# -- events


@pytest.mark.parametrize(
    ("version", "native", "status", "is_final"),
    [
        (1, 0, "unknown", False),
        (1, 4, "executed", True),
        (1, 2, "rejected", True),
        (2, "ACTC", "authorising", False),
        (2, "ACSP", "accepted", False),
        (2, "ACCC", "settled", True),
        (2, "CANC", "cancelled", True),
    ],
)
@pytest.mark.parametrize("make", [Pisp, UnifiedPisp])
def test_the_event_of_a_status_has_its_unified_form(
    causeway: Causeway, make: type[Pisp], version: int, native: Any, status: str, is_final: bool
) -> None:
    causeway.tpp.set_events_url()
    pisp = make(causeway, version, "direct")
    pisp.pay()
    pisp.report(native)

    (event,) = causeway.recorded("event")
    causeway.hub.delivery.worker.attempt(event.delivery_id)

    (body,) = causeway.receiver.events
    member = "payment_status" if version == 1 else "transaction_status"
    assert body["type"] == "payment.status_changed"
    assert body["data"] == {
        "bic": pisp.bank.bic,
        "payment_id": "P-1",
        member: native,
        "status": status,
        "is_final": is_final,
    }
