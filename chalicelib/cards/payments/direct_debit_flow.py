"""Mandates and direct debits: cancelling, and deciding what is paid (specification, External payment operations)."""

from __future__ import annotations

from chalicelib.cards.payments.event_payloads import mandate_event
from chalicelib.cards.payments.mandate_record import Mandate
from chalicelib.cards.payments.payment_record import ExternalPayment
from chalicelib.cards.protocol.payment_messages import CancelExternalPaymentMandate, ChangeDDExternalPaymentStatus
from chalicelib.cards.protocol.payment_states import CANCELLED
from chalicelib.cards.protocol.status_codes import Refused, Status
from chalicelib.cards.protocol.values import NO
from chalicelib.cards.requests.request_context import Outcome, RequestContext


class DirectDebitFlow:
    """What a programme manager says of collections."""

    def cancel_external_payment_mandate(
        self, request: CancelExternalPaymentMandate, context: RequestContext
    ) -> Outcome[None]:
        mandate = context.find(Mandate, request.epm_mandate_id)
        mandate.require(context.action)
        members = {"state": CANCELLED, "reason": request.reason}
        events = [mandate_event(mandate.with_changes(**members))]
        return Outcome(operations=[mandate.update(context.write_id, **members)], events=events)

    def change_dd_external_payment_status(
        self, request: ChangeDDExternalPaymentStatus, context: RequestContext
    ) -> Outcome[None]:
        payment = context.find(ExternalPayment, request.epm_transaction_id)
        payment.require(context.action)
        if payment.cut_off is None or context.now >= payment.cut_off:
            raise Refused(Status.WRONG_STATE, "the cut-off is over")
        reason = str(request.reason) if request.should_pay == NO else None
        return Outcome(operations=[payment.update(context.write_id, should_pay=request.should_pay, reason=reason)])
