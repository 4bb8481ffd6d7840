"""Tests of payment statuses: bank reports in any order, TPP responses and events."""

from collections.abc import Iterator
from typing import Any

import pytest

from chalicelib.openbanking.records.payments import HISTORY
from tests.causeway import Answer, Causeway
from tests.openbanking.kit import VERSIONS
from tests.openbanking.payments import KINDS, Pisp, payment_answer

START = "2026-03-02T09:00:00+00:00"


def recorded(pisp: Pisp, payment_id: str = "P-1") -> Any:
    from chalicelib.openbanking.records.payments import Payment, payment_key

    item = pisp.causeway.hub.store.get(*payment_key(pisp.bank.bic, payment_id))
    return Payment.from_item(item) if item and "history" in item else None


# -- version 1: what the bank reported last


@KINDS
def test_a_version_1_payment_has_the_initial_status_pending(causeway: Causeway, kind: str) -> None:
    pisp = Pisp(causeway, 1, kind)
    pisp.pay()

    answer = pisp.status()

    history = [{"payment_status": 1, "at": START}]
    assert answer.body == {"payment_id": "P-1", "payment_status": 1, "history": history}
    assert pisp.calls == 1  # the initiation: a version 1 bank is not asked


@KINDS
def test_a_status_query_returns_the_reported_status(causeway: Causeway, kind: str) -> None:
    pisp = Pisp(causeway, 1, kind)
    pisp.pay()
    causeway.clock.advance(60)

    assert pisp.report(4).body == {"status": "success"}

    answer = pisp.status()
    assert answer.body["payment_status"] == 4
    assert answer.body["history"] == [
        {"payment_status": 1, "at": START},
        {"payment_status": 4, "at": "2026-03-02T09:01:00+00:00"},
    ]


def test_a_status_report_accepts_a_numeric_status_in_a_string(causeway: Causeway) -> None:
    pisp = Pisp(causeway, 1)
    pisp.pay()

    assert pisp.report("3").status == 200
    assert pisp.status().body["payment_status"] == 3


# -- version 2: the bank is asked


@pytest.mark.parametrize(
    ("kind", "webhook"),
    [
        ("single", "/v2_payment_single_status"),
        ("bulk", "/v2_payment_bulk_status"),
        ("direct", "/v2_payment_single_status"),
    ],
)
def test_a_version_2_status_query_uses_the_webhook_of_the_payment_kind(
    causeway: Causeway, kind: str, webhook: str
) -> None:
    pisp = Pisp(causeway, 2, kind)
    pisp.pay()
    pisp.bank.answers[webhook] = lambda sent: {"transactionStatus": "ACSP", "note": "on its way"}

    answer = pisp.status()

    assert answer.body == {"payment_id": "P-1", "transaction_status": "ACSP", "note": "on its way"}
    assert pisp.bank.received[-1].path == webhook
    assert pisp.bank.received[-1].body == b'{"payment_id":"P-1"}'
    assert ("X-Auth-Token" in pisp.bank.received[-1].headers) == (kind != "direct")


def test_a_status_query_returns_the_requested_payment_id(causeway: Causeway) -> None:
    pisp = Pisp(causeway, 2)
    pisp.pay()
    pisp.bank.answers["/v2_payment_single_status"] = lambda sent: {"transaction_status": "ACSP", "payment_id": "P-9"}

    assert pisp.status().body == {"payment_id": "P-1", "transaction_status": "ACSP"}


@VERSIONS
def test_the_bearer_token_of_a_used_one_time_consent_reads_the_status_of_its_own_payment(
    causeway: Causeway, version: int
) -> None:
    pisp = Pisp(causeway, version, consent_type="one_time")
    pisp.bank.answers["/v2_payment_single_status"] = lambda sent: {"transaction_status": "ACSP"}
    pisp.pay()
    causeway.clock.advance(30 * 24 * 3600)

    assert pisp.status().status == 200
    assert pisp.status("P-2").status == 401
    causeway.clock.advance(150 * 24 * 3600)
    assert pisp.status().status == 401


def test_the_bearer_token_of_a_used_one_time_consent_cannot_read_other_payments(causeway: Causeway) -> None:
    other = Pisp(causeway, 1)
    other.pay()
    pisp = Pisp(causeway, 1, consent_type="one_time")
    pisp.pay()

    assert pisp.status("P-1").status == 401
    assert other.status("P-2").status == 200  # the same client's


@VERSIONS
def test_a_used_one_time_consent_can_be_revoked(causeway: Causeway, version: int) -> None:
    pisp = Pisp(causeway, version, consent_type="one_time")
    pisp.pay()

    assert causeway.tpp.call("POST", "/tpp/token/revoke", {"token": pisp.bearer}).status == 200
    assert pisp.status().status == 401


# -- whose payment it is


@pytest.mark.parametrize("query", ["payment_id=P-1&payment_id=P-2", "x=1", ""])
def test_status_query_checks_authentication_before_parameters(causeway: Causeway, query: str) -> None:
    bad = {"psu-ip-address": "nowhere"}

    assert causeway.tpp.call("GET", f"/tpp/payment_status?{query}", client_id="", headers=bad).status == 401
    assert causeway.tpp.call("GET", f"/tpp/payment_status?{query}", headers=bad).status == 401
    assert causeway.tpp.call("GET", f"/tpp/payment_status?{query}&bic=ALPHGB21", client_id="nobody").status == 401


@VERSIONS
@KINDS
def test_a_payment_of_another_client_returns_404(causeway: Causeway, version: int, kind: str) -> None:
    Pisp(causeway, version, kind).pay()
    causeway.tpp.client = causeway.hub.openbanking.clients.create(owner="x@example.com", title="Other").client

    assert Pisp(causeway, version, kind).status().status == 404


def test_a_status_query_for_a_payment_of_another_bank_returns_404(causeway: Causeway) -> None:
    Pisp(causeway, 1).pay()

    assert Pisp(causeway, 2).status().status == 404
    assert Pisp(causeway, 2).report("ACSC").status == 400


def test_a_payment_with_a_consent_returns_401_without_a_bearer_token(causeway: Causeway) -> None:
    Pisp(causeway, 1).pay()

    refused = Pisp(causeway, 1, "direct").status()

    assert (refused.status, refused.body["code"]) == (401, "AUTHENTICATION_REQUIRED")


@pytest.mark.parametrize(
    ("query", "status", "code"),
    [
        ("payment_id=P-1", 401, "AUTHENTICATION_REQUIRED"),
        ("bic=ALPHGB21", 400, "PARAMETER_NOT_CONSISTENT"),
        ("bic=NOSUCHXX&payment_id=P-1", 404, "RESOURCE_UNKNOWN"),
        ("bic=?&payment_id=P-1", 400, "PARAMETER_NOT_CONSISTENT"),
        ("bic=&payment_id=P-1", 400, "PARAMETER_NOT_CONSISTENT"),
        (f"bic={'A' * 3000}&payment_id=P-1", 400, "PARAMETER_NOT_CONSISTENT"),
        ("bic=ALPHGB21&payment_id=P-1&payment_id=P-1", 400, "PARAMETER_NOT_CONSISTENT"),
        ("bic=ALPHGB21&payment_id=P-1&x=1", 400, "PARAMETER_NOT_CONSISTENT"),
        ("bic=ALPHGB21&payment_id=P-2", 404, "RESOURCE_UNKNOWN"),
        ("bic=alphgb21xxx&payment_id=P-1", 200, None),
    ],
)
def test_a_status_query_of_a_direct_payment_requires_its_bank(
    causeway: Causeway, query: str, status: int, code: str | None
) -> None:
    Pisp(causeway, 1, "direct").pay()

    answer = causeway.tpp.call("GET", f"/tpp/payment_status?{query}")

    assert (answer.status, answer.body.get("code")) == (status, code)


# -- transitions, repeats, and reports that come early


@pytest.mark.parametrize(
    ("version", "reports", "last"),
    [
        (1, [0, 1, 0, 4], 4),
        (1, [2, 4], 2),
        (1, [3, 4, 1], 3),
        (1, [4, 2], 4),
        (2, ["ACTC", "ACSP", "PDNG", "ACSP"], "ACSP"),
        (2, ["ACSC", "RJCT"], "ACSC"),
        (2, ["ACSC", "ACCC", "ACSC"], "ACCC"),
        (2, ["RJCT", "ACCC"], "RJCT"),
        (2, ["CANC", "ACSC"], "CANC"),
        (2, [1, "4", "ACCC"], "ACCC"),
        (2, [2], "RJCT"),
        (2, [3], "CANC"),
    ],
)
def test_each_report_replaces_the_status_of_a_payment_until_the_status_is_final(
    causeway: Causeway, version: int, reports: list[Any], last: Any
) -> None:
    pisp = Pisp(causeway, version)
    pisp.pay()

    answers = [pisp.report(status) for status in reports]

    assert {(answer.status, answer.body["status"]) for answer in answers} == {(200, "success")}
    assert recorded(pisp).status == last


def test_a_status_report_without_a_change_adds_no_history_entry(causeway: Causeway) -> None:
    pisp = Pisp(causeway, 1)
    pisp.pay()

    for _ in range(3):
        pisp.report(0)

    assert [entry.status for entry in recorded(pisp).history] == [1, 0]


@VERSIONS
def test_the_event_of_a_reported_payment_status_is_queued_immediately(causeway: Causeway, version: int) -> None:
    causeway.tpp.set_events_url()
    pisp = Pisp(causeway, version, "direct")
    pisp.pay()
    causeway.queued()

    pisp.report(4)

    assert causeway.queued() == [event.delivery_id for event in causeway.recorded("event")] != []


def test_a_repeated_report_returns_the_stored_response(causeway: Causeway) -> None:
    pisp = Pisp(causeway, 1)
    pisp.pay()
    request_id = "6b2f0d35-5d39-4d4c-b7a4-0d8d2f2c8d11"

    first = pisp.report(0, **{"x-request-id": request_id})
    pisp.report(1)
    second = pisp.report(0, **{"x-request-id": request_id})

    assert first.text == second.text
    assert recorded(pisp).status == 1
    other = pisp.report(4, **{"x-request-id": request_id})
    assert (other.status, other.body["error_code"]) == (400, 4001)


def test_two_concurrent_status_reports_are_recorded(causeway: Causeway) -> None:
    pisp = Pisp(causeway, 2)
    pisp.pay()

    with causeway.meanwhile("transact", lambda: pisp.report("ACSP")):
        assert pisp.report("ACTC").status == 200

    assert [entry.status for entry in recorded(pisp).history] == ["RCVD", "ACSP", "ACTC"]


@VERSIONS
def test_the_event_of_an_early_status_report_is_queued_when_the_bank_responds(causeway: Causeway, version: int) -> None:
    causeway.tpp.set_events_url()
    pisp = Pisp(causeway, version, "direct")
    pisp.report(4)

    pisp.pay()

    assert causeway.queued() == [event.delivery_id for event in causeway.recorded("event")] != []


@VERSIONS
def test_a_status_report_before_the_bank_response_is_applied(causeway: Causeway, version: int) -> None:
    pisp = Pisp(causeway, version)
    said: list[Answer] = []

    def hasty(sent: object) -> Any:
        said.extend(pisp.report(status) for status in ((0, 4) if version == 1 else ("ACSP", "ACSC")))
        causeway.clock.advance(2)
        return payment_answer(version)

    pisp.bank.answers["/payment_initiation"] = pisp.bank.answers["/v2_payment_single"] = hasty

    assert pisp.pay("key-1").status == 200
    assert {answer.status for answer in said} == {400}
    expected = [1, 0, 4] if version == 1 else ["RCVD", "ACSP", "ACSC"]
    history = recorded(pisp).history
    assert [entry.status for entry in history] == expected
    assert [entry.at for entry in history] == sorted(entry.at for entry in history)
    assert pisp.report(1 if version == 1 else "ACCC").status == 200


def test_an_early_status_report_in_another_api_version_is_applied(
    causeway: Causeway, request: pytest.FixtureRequest
) -> None:
    pisp = Pisp(causeway, 1)
    request.getfixturevalue("moved")
    causeway.clock.advance(61)
    pisp.bank.version = 2
    pisp.report("ACSC")
    pisp.bank.version = 1

    assert pisp.pay().status == 200
    assert pisp.status().body["payment_status"] == 4


def test_an_early_status_report_expires_after_15_minutes(causeway: Causeway) -> None:
    pisp = Pisp(causeway, 1)
    assert pisp.report(4).status == 400
    causeway.clock.advance(15 * 60 + 1)

    pisp.pay()

    assert [entry.status for entry in recorded(pisp).history] == [1]


@VERSIONS
def test_a_report_on_an_unknown_payment_returns_400(causeway: Causeway, version: int) -> None:
    pisp = Pisp(causeway, version)

    refused = pisp.report(4)

    if version == 1:
        assert (refused.status, refused.body["error_code"]) == (400, 4001)
    else:
        assert (refused.status, refused.body["code"]) == (400, "FORMAT_ERROR")
        assert refused.body["additionalErrors"][0]["code"] == "INVALID_PAYMENT_ID_FORMAT"
    assert pisp.status().status == 404


def test_two_concurrent_early_status_reports_are_applied(causeway: Causeway) -> None:
    pisp = Pisp(causeway, 1)

    with causeway.meanwhile("put", lambda: pisp.report(0)):
        pisp.report(4)
    pisp.pay()

    assert [entry.status for entry in recorded(pisp).history] == [1, 0, 4]


def test_a_long_payment_history_contains_the_first_and_the_last_entries(causeway: Causeway) -> None:
    from dataclasses import replace

    from chalicelib.openbanking.records.payments import PaymentStatusReport

    pisp = Pisp(causeway, 1)
    pisp.pay()
    payment = recorded(pisp)
    for number in range(HISTORY + 10):
        payment = payment.with_report(PaymentStatusReport(number % 2, payment.created_at + number))

    assert len(payment.history) == HISTORY
    assert payment.history[0] == recorded(pisp).history[0]
    assert payment.history[-1].at == payment.created_at + HISTORY + 9
    assert replace(payment, status=4).with_report(PaymentStatusReport(1, 1)).status == 4


@pytest.fixture
def moved(causeway: Causeway) -> Iterator[None]:
    bic = causeway.banks[1].bic
    causeway.hub.openbanking.banks.change(bic, api_version=2, signature_required=True, schemes=(), scopes=())
    yield
    causeway.hub.openbanking.banks.change(bic, api_version=1, signature_required=False, schemes=(), scopes=())


def test_a_bank_that_changed_to_version_2_can_report_the_status_of_its_version_1_payments(
    causeway: Causeway, request: pytest.FixtureRequest
) -> None:
    pisp = Pisp(causeway, 1)
    pisp.pay()
    request.getfixturevalue("moved")
    causeway.clock.advance(61)
    pisp.bank.version = 2

    assert pisp.report("RJCT").status == 200
    assert pisp.status().body["payment_status"] == 2
