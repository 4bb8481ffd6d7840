"""The final statuses of payments."""

from __future__ import annotations

from typing import TYPE_CHECKING

from causeway._final_statuses import FINAL_V1, FINAL_V2

if TYPE_CHECKING:
    from causeway.tpp._generated.models import AskedStatus, OrderWithoutPayment, PaymentStatus, ReportedStatus

PAID = frozenset({"executed", "settled"})
PAID_V1 = frozenset({4})
PAID_V2 = frozenset({"ACSC", "ACCC"})


def is_final(status: PaymentStatus | ReportedStatus | AskedStatus | OrderWithoutPayment) -> bool:
    """Return whether a payment's status is final: executed, rejected, cancelled, or not known at the bank."""
    from causeway.tpp._generated.models import AskedStatus, PaymentStatus, ReportedStatus

    if status.outcome == "not_accepted":
        return True
    match status:
        case PaymentStatus():
            return status.is_final
        case ReportedStatus():
            return status.payment_status in FINAL_V1
        case AskedStatus():
            return status.transaction_status in FINAL_V2
        case _:
            return False


def is_paid(status: PaymentStatus | ReportedStatus | AskedStatus | OrderWithoutPayment) -> bool:
    """Return whether the bank has executed the payment.

    The status is ``executed`` or ``settled``; in the native calls 4 in version 1, ``ACSC`` or ``ACCC`` in version 2.
    """
    from causeway.tpp._generated.models import AskedStatus, PaymentStatus, ReportedStatus

    match status:
        case PaymentStatus():
            return status.status in PAID
        case ReportedStatus():
            return status.payment_status in PAID_V1
        case AskedStatus():
            return status.transaction_status in PAID_V2
        case _:
            return False
