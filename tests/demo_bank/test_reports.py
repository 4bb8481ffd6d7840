"""Changes of status reach the service, and what is due is done every minute."""

from __future__ import annotations

from typing import Any

import pytest
import requests

from chalicelib.demo_bank import clearing, execution, orders
from chalicelib.demo_bank.banks import get_bank
from tests.demo_bank.paying import either, initiate, pay, reported, token
from tests.demo_bank.stage import Stage


def test_reports_are_signed_and_use_the_members_of_the_banks_version(stage: Stage) -> None:
    back = pay(stage)
    path, body, headers = stage.hub.named("/payments/status")[-1]
    assert path == either(stage, "/bank/payments/status", "/bank/v2/payments/status")
    expected: dict[str, Any] = either(
        stage,
        {"payment_id": back["payment_id"], "payment_status": 4},
        {"paymentId": back["payment_id"], "paymentStatus": "ACSC"},
    )
    assert body == expected
    assert headers["X-Signature"]


def sent(stage: Stage) -> list[tuple[str, str]]:
    """Every report that was sent: its body, and its request id."""
    return [(str(body), headers["X-Request-Id"]) for _, body, headers in stage.hub.named("/payments/status")]


def test_a_failed_report_is_retried_under_the_same_request_id(stage: Stage) -> None:
    at = get_bank(stage.profile.name, stage)
    stage.hub.errors["/payments/status"] = requests.ConnectionError("away")
    given = token(stage)
    assert pay(stage, given)["status"] == either(stage, "4", "ACSC")
    pay(stage, given)
    lost = sent(stage)
    assert len(lost) == 2
    assert clearing.process_due_payments(at) == 0
    stage.clock.advance(clearing.FIRST_REPEAT)
    assert clearing.process_due_payments(at) == 2
    assert len(sent(stage)) == 3  # of two that are due one shows that nobody is there, and the other waits
    stage.hub.errors.clear()
    stage.clock.advance(2 * clearing.FIRST_REPEAT)
    assert clearing.process_due_payments(at) == 2
    arrived = sent(stage)[3:]
    assert set(lost) <= set(arrived)
    assert len(arrived) == len({request_id for _, request_id in arrived}) == either(stage, 2, 4)
    assert clearing.process_due_payments(at) == 0


def test_a_rejected_report_is_not_repeated(stage: Stage) -> None:
    refusal = either(stage, {"error_code": 4001, "message": "no"}, {"code": "FORMAT_ERROR", "title": "no"})
    stage.hub.errors["/payments/status"] = (400, refusal)
    pay(stage)
    stage.clock.advance(3600)
    assert clearing.process_due_payments(get_bank(stage.profile.name, stage)) == 0


def test_a_payment_that_cannot_be_processed_does_not_delay_others(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    given = token(stage)
    for _ in range(2):
        initiate(stage, given)
    stage.clock.advance(orders.CONFIRM_SECONDS)
    real = execution.refresh
    failed: list[Any] = []

    def refresh(at: Any, order: Any) -> Any:
        if not failed:
            failed.append(order)
            raise RuntimeError("broken")
        return real(at, order)

    monkeypatch.setattr(execution, "refresh", refresh)
    clearing.run_due_work(stage)
    assert len(reported(stage)) == 1


def test_a_report_is_retried_after_an_authentication_failure(stage: Stage) -> None:
    refusal = either(stage, {"error_code": 4200, "message": "no"}, {"code": "WRONG_CREDENTIALS", "title": "no"})
    stage.hub.errors["/payments/status"] = (401, refusal)
    pay(stage)
    stage.hub.errors.clear()
    stage.clock.advance(60)
    assert clearing.process_due_payments(get_bank(stage.profile.name, stage)) == 1
    assert reported(stage)[-1] == either(stage, 4, "ACSC")


@pytest.mark.parametrize("answer", [401, 403, 429, requests.ConnectionError("away")])
def test_a_failure_of_the_service_postpones_all_reports_and_counts_one_attempt(stage: Stage, answer: Any) -> None:
    at, given = get_bank(stage.profile.name, stage), token(stage)
    refusal = either(stage, {"error_code": 4200, "message": "no"}, {"code": "BLOCKED", "title": "no"})
    stage.hub.errors["/payments/status"] = (answer, refusal) if isinstance(answer, int) else answer
    ids = [pay(stage, given)["payment_id"] for _ in range(3)]
    stage.clock.advance(clearing.FIRST_REPEAT)
    assert clearing.process_due_payments(at) == 3
    assert len(sent(stage)) == 3 + 1
    found = [orders.find(at, payment_id) for payment_id in ids]
    assert sorted(order.report_attempts for order in found if order) == [1, 1, 2]
    assert clearing.process_due_payments(at) == 0


@pytest.mark.parametrize("status", [404, 409])
def test_a_failure_of_one_report_is_retried_without_delaying_others(stage: Stage, status: int) -> None:
    at, given = get_bank(stage.profile.name, stage), token(stage)
    stage.hub.errors["/payments/status"] = (status, {"message": "no"})
    for _ in range(2):
        pay(stage, given)
    stage.clock.advance(clearing.FIRST_REPEAT)
    assert clearing.process_due_payments(at) == 2
    assert len(sent(stage)) == 4
    stage.hub.errors.clear()
    stage.clock.advance(2 * clearing.FIRST_REPEAT)
    assert clearing.process_due_payments(at) == 2
    assert reported(stage)[-1] == either(stage, 4, "ACSC")


def test_reports_stop_after_the_last_attempt(stage: Stage) -> None:
    stage.hub.errors["/payments/status"] = requests.ConnectionError("away")
    pay(stage)
    for _ in range(clearing.ATTEMPTS - 1):
        stage.clock.advance(clearing.LAST_REPEAT)
        assert clearing.process_due_payments(get_bank(stage.profile.name, stage)) == 1
    stage.clock.advance(clearing.LAST_REPEAT)
    assert clearing.process_due_payments(get_bank(stage.profile.name, stage)) == 0


def test_a_bank_without_credentials_sends_no_reports(stage: Stage) -> None:
    initiate(stage)
    stage.clock.advance(orders.CONFIRM_SECONDS)
    stage.secret.clear()
    clearing.run_due_work(stage)
    assert reported(stage) == []
