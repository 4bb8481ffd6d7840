"""The final statuses of payments."""

from __future__ import annotations

from typing import TYPE_CHECKING

from causeway._final_statuses import FINAL_V1, FINAL_V2

if TYPE_CHECKING:
    from causeway.tpp._generated.models import AskedStatus, OrderWithoutPayment, ReportedStatus

PAID_V1 = {4}
PAID_V2 = {"ACSC", "ACCC"}


def is_final(status: ReportedStatus | AskedStatus | OrderWithoutPayment) -> bool:
    """Return whether the status of a payment is final: executed, rejected, cancelled, or unknown to the bank."""
    from causeway.tpp._generated.models import AskedStatus, ReportedStatus

    if status.outcome == "not_accepted":
        return True
    match status:
        case ReportedStatus():
            return status.payment_status in FINAL_V1
        case AskedStatus():
            return status.transaction_status in FINAL_V2
        case _:
            return False


def is_paid(status: ReportedStatus | AskedStatus | OrderWithoutPayment) -> bool:
    """Return whether the bank has executed the payment: status 4 in version 1, ``ACSC`` or ``ACCC`` in version 2."""
    from causeway.tpp._generated.models import AskedStatus, ReportedStatus

    match status:
        case ReportedStatus():
            return status.payment_status in PAID_V1
        case AskedStatus():
            return status.transaction_status in PAID_V2
        case _:
            return False
