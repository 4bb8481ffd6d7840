"""Payment status changes are reported to the service every minute."""

from typing import Any

import pytest
import requests

from chalicelib.demo_bank import clearing, execution, orders
from chalicelib.demo_bank.banks import get_bank
from tests.demo_bank.single_bank import SingleBank


def test_status_reports_are_signed_and_use_the_members_of_the_bank_version(bank: SingleBank) -> None:
    back = bank.pay()
    path, body, headers = bank.hub.received("/payments/status")[-1]
    assert path == bank.either("/bank/payments/status", "/bank/v2/payments/status")
    expected: dict[str, Any] = bank.either(
        {"payment_id": back["payment_id"], "payment_status": 4},
        {"paymentId": back["payment_id"], "paymentStatus": "ACSC"},
    )
    assert body == expected
    assert headers["X-Signature"]


def sent(bank: SingleBank) -> list[tuple[str, str]]:
    return [(str(body), headers["X-Request-Id"]) for _, body, headers in bank.hub.received("/payments/status")]


def test_a_failed_report_is_retried_with_the_same_request_id(bank: SingleBank) -> None:
    at = get_bank(bank.profile.name, bank)
    bank.hub.errors["/payments/status"] = requests.ConnectionError("away")
    given = bank.token()
    assert bank.pay(given)["status"] == bank.either("4", "ACSC")
    bank.pay(given)
    lost = sent(bank)
    assert len(lost) == 2
    assert clearing.process_due_payments(at) == 0
    bank.clock.advance(clearing.FIRST_REPEAT)
    assert clearing.process_due_payments(at) == 2
    assert len(sent(bank)) == 3  # of two that are due one shows that nobody is there, and the other waits
    bank.hub.errors.clear()
    bank.clock.advance(2 * clearing.FIRST_REPEAT)
    assert clearing.process_due_payments(at) == 2
    arrived = sent(bank)[3:]
    assert set(lost) <= set(arrived)
    assert len(arrived) == len({request_id for _, request_id in arrived}) == bank.either(2, 4)
    assert clearing.process_due_payments(at) == 0


def test_a_rejected_report_is_not_retried(bank: SingleBank) -> None:
    refusal = bank.either({"error_code": 4001, "message": "no"}, {"code": "FORMAT_ERROR", "title": "no"})
    bank.hub.errors["/payments/status"] = (400, refusal)
    bank.pay()
    bank.clock.advance(3600)
    assert clearing.process_due_payments(get_bank(bank.profile.name, bank)) == 0


def test_the_report_of_a_payment_that_cannot_be_processed_does_not_delay_other_reports(
    bank: SingleBank, monkeypatch: pytest.MonkeyPatch
) -> None:
    given = bank.token()
    for _ in range(2):
        bank.initiate(given)
    bank.clock.advance(orders.CONFIRM_SECONDS)
    real = execution.refresh
    failed: list[Any] = []

    def refresh(at: Any, order: Any) -> Any:
        if not failed:
            failed.append(order)
            raise RuntimeError("broken")
        return real(at, order)

    monkeypatch.setattr(execution, "refresh", refresh)
    clearing.run_due_work(bank)
    assert len(bank.reported_statuses()) == 1


def test_a_report_is_retried_after_an_authentication_failure(bank: SingleBank) -> None:
    refusal = bank.either({"error_code": 4200, "message": "no"}, {"code": "WRONG_CREDENTIALS", "title": "no"})
    bank.hub.errors["/payments/status"] = (401, refusal)
    bank.pay()
    bank.hub.errors.clear()
    bank.clock.advance(60)
    assert clearing.process_due_payments(get_bank(bank.profile.name, bank)) == 1
    assert bank.reported_statuses()[-1] == bank.either(4, "ACSC")


@pytest.mark.parametrize("answer", [401, 403, 429, requests.ConnectionError("away")])
def test_a_failure_of_the_service_postpones_all_reports_and_counts_one_attempt(bank: SingleBank, answer: Any) -> None:
    at, given = get_bank(bank.profile.name, bank), bank.token()
    refusal = bank.either({"error_code": 4200, "message": "no"}, {"code": "BLOCKED", "title": "no"})
    bank.hub.errors["/payments/status"] = (answer, refusal) if isinstance(answer, int) else answer
    ids = [bank.pay(given)["payment_id"] for _ in range(3)]
    bank.clock.advance(clearing.FIRST_REPEAT)
    assert clearing.process_due_payments(at) == 3
    assert len(sent(bank)) == 3 + 1
    found = [orders.find(at, payment_id) for payment_id in ids]
    assert sorted(order.report_attempts for order in found if order) == [1, 1, 2]
    assert clearing.process_due_payments(at) == 0


@pytest.mark.parametrize("status", [404, 409])
def test_a_failure_of_one_report_is_retried_without_delaying_other_reports(bank: SingleBank, status: int) -> None:
    at, given = get_bank(bank.profile.name, bank), bank.token()
    bank.hub.errors["/payments/status"] = (status, {"message": "no"})
    for _ in range(2):
        bank.pay(given)
    bank.clock.advance(clearing.FIRST_REPEAT)
    assert clearing.process_due_payments(at) == 2
    assert len(sent(bank)) == 4
    bank.hub.errors.clear()
    bank.clock.advance(2 * clearing.FIRST_REPEAT)
    assert clearing.process_due_payments(at) == 2
    assert bank.reported_statuses()[-1] == bank.either(4, "ACSC")


def test_reports_are_not_retried_after_the_maximum_number_of_attempts(bank: SingleBank) -> None:
    bank.hub.errors["/payments/status"] = requests.ConnectionError("away")
    bank.pay()
    for _ in range(clearing.ATTEMPTS - 1):
        bank.clock.advance(clearing.LAST_REPEAT)
        assert clearing.process_due_payments(get_bank(bank.profile.name, bank)) == 1
    bank.clock.advance(clearing.LAST_REPEAT)
    assert clearing.process_due_payments(get_bank(bank.profile.name, bank)) == 0


def test_a_bank_without_credentials_sends_no_reports(bank: SingleBank) -> None:
    bank.initiate()
    bank.clock.advance(orders.CONFIRM_SECONDS)
    bank.secret.clear()
    clearing.run_due_work(bank)
    assert bank.reported_statuses() == []
