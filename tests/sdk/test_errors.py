"""SDK errors: every error of the hub has advice, and no error contains a secret."""

import logging
from pathlib import Path
from typing import Any, get_args

import httpx
import pytest

from causeway import errors
from causeway.errors import ApiError, CausewayError
from causeway.tpp import (
    AskedStatus,
    ErrorCode,
    OAuthErrorCode,
    OrderWithoutPayment,
    PaymentStatus,
    ReasonCode,
    ReportedStatus,
    UnifiedStatus,
    is_final,
    is_paid,
)
from infra.render.docs.sources import source_of
from tests.kit.documents import section, tables
from tests.sdk.scripted_hub import ScriptedHub, accounts, failure, payment_status, token_answer, tokens

README = (Path(__file__).parents[2] / "sdk" / "README.md").read_text("utf-8")
GENERAL = CausewayError.advice


def subclasses(kind: type[CausewayError]) -> list[type[CausewayError]]:
    return [kind, *(deeper for below in kind.__subclasses__() for deeper in subclasses(below))]


@pytest.mark.parametrize("code", get_args(ErrorCode))
def test_every_error_code_of_the_hub_has_advice(code: str) -> None:
    assert ApiError(400, code).advice != GENERAL


@pytest.mark.parametrize("code", get_args(OAuthErrorCode))
def test_every_oauth_error_code_has_advice(code: str) -> None:
    assert ApiError(400, error=code).advice != GENERAL


@pytest.mark.parametrize("code", get_args(ReasonCode))
def test_every_reason_code_of_a_failed_payment_has_advice(code: str) -> None:
    kind = errors.OutcomeUnknown if code in ("outcome_unknown", "bad_answer") else ApiError
    assert kind(502, reason_code=code).advice != GENERAL


@pytest.mark.parametrize("kind", subclasses(CausewayError)[1:], ids=lambda kind: kind.__name__)
def test_every_error_class_has_its_own_advice_and_is_documented(kind: type[CausewayError]) -> None:
    if kind is not ApiError and not issubclass(kind, ApiError):
        assert kind.advice != GENERAL
    assert f"`{kind.__name__}`" in README


@pytest.mark.usefixtures("clock")
def test_no_log_line_of_the_sdk_contains_a_secret(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    refused = failure(401, "AUTHENTICATION_REQUIRED", "the bearer token is not valid")
    steps: list[Any] = [httpx.ReadError("reset"), refused, httpx.ReadTimeout("silence"), token_answer()]
    hub = ScriptedHub(*steps, accounts())

    list(hub.tpp().consent(tokens()).accounts())

    said = "\n".join(record.getMessage() for record in caplog.records)
    assert "repeated in" in said
    assert "tokens refreshed" in said
    for secret in ("access-1", "access-2", "refresh-1", "refresh-2", "secret-1"):
        assert secret not in said


def documented_statuses() -> dict[str, str]:
    (table,) = tables(section(source_of("reference/tpp-api"), "## Payment statuses"))
    return {status: final for _, status, _, final in table[2:]}


@pytest.mark.parametrize(("status", "final"), documented_statuses().items())
def test_a_payment_status_is_final_as_documented(status: str, final: str) -> None:
    found: Any = (
        ReportedStatus.from_json({"payment_id": "p", "payment_status": int(status), "history": []})
        if status.isdigit()
        else AskedStatus(payment_id="p", transaction_status=status)
    )

    assert is_final(found) is final.startswith("yes")
    assert is_paid(found) is (status in ("4", "ACSC", "ACCC"))


@pytest.mark.parametrize("is_over", [True, False])
@pytest.mark.parametrize("status", get_args(UnifiedStatus))
def test_a_unified_status_is_paid_if_executed_or_settled(status: str, is_over: bool) -> None:
    found = PaymentStatus.from_json(payment_status(status, is_final=is_over).json())

    assert is_final(found) is is_over
    assert is_paid(found) is (status in ("executed", "settled"))


@pytest.mark.parametrize("outcome", ["pending", "unknown", "not_accepted"])
def test_an_order_without_a_payment_is_final_if_the_bank_did_not_accept_the_order(outcome: Any) -> None:
    found = OrderWithoutPayment(request_id="r", outcome=outcome)

    assert is_final(found) is (outcome == "not_accepted")
    assert not is_paid(found)


def test_the_advice_for_an_error_without_a_code_is_to_check_the_address() -> None:
    assert "hub's address" in ApiError(404).advice
