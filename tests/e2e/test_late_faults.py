"""Simulated faults that take 20 seconds. Tests of other modules run at the same time."""

import pytest

from chalicelib import bootstrap
from chalicelib.demo_bank import clearing
from tests.e2e.conftest import ReadFault, details
from tests.kit.time import wait_for

pytestmark = pytest.mark.e2e


def test_a_call_to_a_bank_with_the_fault_named_silent_times_out(read_fault: ReadFault) -> None:
    _, found = read_fault("silent")
    assert details(found["answer"]) == "no answer came in time"


def test_a_payment_with_the_fault_stays_pending_is_still_pending_after_20_seconds(
    read_fault: ReadFault, operator: bootstrap.Hub
) -> None:
    version, found = read_fault("payment-stays-pending")
    pending = {1: 1, 2: "PDNG"}[version]
    assert found["first"] == pending
    wait_for_rejection(read_fault, operator)
    assert (found["back"]["status"], found["first"], found["status"]()) == (str(pending), pending, pending)


def test_the_fault_named_rejected_later_causes_the_rejection_of_a_confirmed_payment(
    read_fault: ReadFault, operator: bootstrap.Hub
) -> None:
    version, found = read_fault("payment-rejected-later")
    assert (found["back"]["status"], found["first"]) == {1: ("1", 1), 2: ("ACSP", "ACSP")}[version]

    wait_for_rejection(read_fault, operator)


def wait_for_rejection(read_fault: ReadFault, operator: bootstrap.Hub) -> None:
    """Run the bank's schedule until the bank has rejected the payment with the late rejection fault."""
    version, found = read_fault("payment-rejected-later")

    def is_rejected() -> bool:
        clearing.run_due_work(operator)
        return bool(found["status"]() == {1: 2, 2: "RJCT"}[version])

    wait_for(is_rejected, "the payment is not rejected")
