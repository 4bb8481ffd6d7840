"""The two forms of a payment's status: native, in the shape of the bank's version, and unified, in one shape."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from chalicelib.foundation.clock import timestamp
from chalicelib.foundation.lazy_dataclasses import dataclass
from chalicelib.openbanking.bank_client.bank_client import BankAnswer
from chalicelib.openbanking.protocol.own_answers import OrderWithoutPayment
from chalicelib.openbanking.protocol.payment_enumerations import OrderState
from chalicelib.openbanking.protocol.payment_statuses import FINAL, UnifiedStatus
from chalicelib.openbanking.protocol.webhooks import STATUS_PATH
from chalicelib.openbanking.records.orders import RecordedOrder
from chalicelib.openbanking.records.payments import Payment
from chalicelib.openbanking.unified.calls import INITIATIONS, UNIFIED_STATUS_PATH

if TYPE_CHECKING:
    from chalicelib.openbanking.unified.answers import UnifiedPaymentStatus

_STATUS_OF_ORDER: Mapping[OrderState, UnifiedStatus] = {
    "pending": "pending",
    "unknown": "unknown",
    "not_accepted": "rejected",
}


@dataclass(frozen=True, slots=True)
class StatusForm:
    """The form of a status call's responses.

    Attributes:
        describe: converts the native status of a payment.
        describe_order: describes an order for which the bank named no payment.
    """

    describe: Callable[[Payment, BankAnswer], BankAnswer]
    describe_order: Callable[[RecordedOrder, OrderState], OrderWithoutPayment | UnifiedPaymentStatus]


def _describe_order(order: RecordedOrder, state: OrderState) -> OrderWithoutPayment:
    return {"request_id": order.order.request_id, "outcome": state}


def _unify(payment: Payment, answer: BankAnswer) -> BankAnswer:
    native, statuses = answer.body[payment.version.status_member], payment.version.statuses
    status = statuses.unify(native)
    body: UnifiedPaymentStatus = {
        "payment_id": payment.payment_id,
        "request_id": payment.request_id,
        "kind": payment.kind,
        "status": status,
        "is_final": status in FINAL,
        "native_status": str(native),
        "outcome": answer.body.get("outcome"),
        "history": [
            {"status": statuses.unify(entry.status), "native_status": str(entry.status), "at": timestamp(entry.at)}
            for entry in payment.history
        ],
    }
    return replace(answer, body=body)


def _unify_order(order: RecordedOrder, state: OrderState) -> UnifiedPaymentStatus:
    status = _STATUS_OF_ORDER[state]
    return {
        "payment_id": None,
        "request_id": order.order.request_id,
        "kind": INITIATIONS[order.order.path].kind,
        "status": status,
        "is_final": status in FINAL,
        "native_status": None,
        "outcome": state,
        "history": [],
    }


STATUS_FORMS: Mapping[str, StatusForm] = {
    STATUS_PATH: StatusForm(lambda _, answer: answer, _describe_order),
    UNIFIED_STATUS_PATH: StatusForm(_unify, _unify_order),
}
"""The forms by the path of the call."""
