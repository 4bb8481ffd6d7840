"""Tests of the measurements of payments and of payment status requests."""

from typing import Any

import pytest

from chalicelib.foundation.http.outbound import NotReached, TimedOut
from tests.causeway import Causeway
from tests.openbanking.accounts import open_circuit
from tests.openbanking.call_measurements import LATER, deliver, error, expected_counts, measure_counts
from tests.openbanking.faults import Fault
from tests.openbanking.kit import VERSIONS
from tests.openbanking.payments import KINDS, Pisp


@VERSIONS
@KINDS
def test_payments_and_status_requests_count_as_pisp(causeway: Causeway, version: int, kind: str) -> None:
    pisp = Pisp(causeway, version, kind)
    for path in ("/v2_payment_single_status", "/v2_payment_bulk_status"):
        pisp.bank.answers[path] = lambda sent: {"transaction_status": "ACSC"}

    assert measure_counts(causeway, pisp.pay) == expected_counts(version, "PISP", calls=1, answered=1)
    asked = {"answered": 1} if version == 2 else {}  # a bank of version 1 reports, and is not asked
    assert measure_counts(causeway, pisp.status) == expected_counts(version, "PISP", calls=1, **asked)


@VERSIONS
@KINDS
@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        (NotReached("x"), {"unanswered": 1, "bank_failures": 1}),
        (TimedOut("x"), {"unanswered": 1, "bank_failures": 1}),
        (403, {"answered": 1, "caller_failures": 1}),
        ({"status": "success", "payment_id": "", "confirmation_url": ""}, {"answered": 1, "bank_failures": 1}),
    ],
    ids=["never sent", "unknown", "refused", "unusable"],
)
def test_a_failed_payment_is_counted_once_and_its_idempotent_retry_is_not_counted(
    causeway: Causeway, version: int, kind: str, answer: Any, expected: dict[str, int]
) -> None:
    pisp = Pisp(causeway, version, kind)
    pisp.bank_answers(error(version, 4200 if version == 1 else "WRONG_CREDENTIALS", 403) if answer == 403 else answer)

    def pay() -> None:
        assert pisp.pay("key-1").status == 502

    assert measure_counts(causeway, pay) == expected_counts(version, "PISP", calls=1, **expected)
    assert measure_counts(causeway, pay) == {}
    assert pisp.calls == 1


@VERSIONS
@KINDS
@pytest.mark.parametrize("headers", [{}, LATER], ids=["at once", "later"])
def test_the_idempotent_repeat_of_a_payment_is_not_counted(
    causeway: Causeway, version: int, kind: str, headers: dict[str, str]
) -> None:
    pisp = Pisp(causeway, version, kind, "one_time")
    pisp.headers = headers
    pisp.pay("key-1")

    assert measure_counts(causeway, lambda: pisp.pay("key-1")) == {}


def test_a_reused_idempotency_key_counts_as_a_caller_failure(causeway: Causeway) -> None:
    pisp = Pisp(causeway, 1)
    pisp.pay("key-1")

    assert measure_counts(causeway, lambda: pisp.pay("key-1", amount="7.00")) == expected_counts(
        1, "PISP", calls=1, caller_failures=1
    )


def test_an_unfinished_payment_counts_as_a_hub_failure_and_an_early_repeat_as_a_caller_failure(
    causeway: Causeway,
) -> None:
    pisp = Pisp(causeway, 1)

    def pay(status: int) -> None:
        assert pisp.pay("key-1").status == status

    def pay_and_lose_the_answer() -> None:
        with Fault(causeway, "before", 3, lasting=True):
            pay(500)

    assert measure_counts(causeway, pay_and_lose_the_answer) == expected_counts(
        1, "PISP", calls=1, answered=1, hub_failures=1
    )
    assert measure_counts(causeway, lambda: pay(409)) == expected_counts(1, "PISP", calls=1, caller_failures=1)
    causeway.clock.advance(31)
    assert measure_counts(causeway, lambda: pay(502)) == expected_counts(1, "PISP", calls=1, hub_failures=1)


def test_a_payment_with_a_used_one_time_consent_counts_as_a_caller_failure(causeway: Causeway) -> None:
    pisp = Pisp(causeway, 1, consent_type="one_time")
    pisp.pay()

    assert measure_counts(causeway, pisp.pay) == expected_counts(1, "PISP", calls=1, caller_failures=1)


@VERSIONS
@KINDS
def test_a_payment_refused_by_an_open_circuit_is_counted_as_not_sent_to_the_bank(
    causeway: Causeway, version: int, kind: str
) -> None:
    pisp = Pisp(causeway, version, kind)
    open_circuit(causeway, version)

    assert measure_counts(causeway, pisp.pay) == expected_counts(version, "PISP", calls=1, not_asked=1)


@VERSIONS
def test_a_payment_that_cannot_be_recorded_counts_as_a_hub_failure(causeway: Causeway, version: int) -> None:
    pisp = Pisp(causeway, version)

    def pay() -> None:
        with Fault(causeway, "before", 3, lasting=True):
            assert pisp.pay().status == 500

    assert measure_counts(causeway, pay) == expected_counts(version, "PISP", calls=1, answered=1, hub_failures=1)


@VERSIONS
@KINDS
def test_a_deferred_payment_counts_on_acceptance_and_its_attempt_counts_as_a_bank_request_only(
    causeway: Causeway, version: int, kind: str
) -> None:
    pisp = Pisp(causeway, version, kind)
    pisp.headers = LATER

    assert measure_counts(causeway, pisp.pay) == expected_counts(version, "PISP", calls=1)
    (delivery,) = causeway.recorded("payment")
    assert measure_counts(causeway, lambda: deliver(delivery.delivery_id)) == expected_counts(
        version, "PISP", answered=1
    )
