"""Mandates and direct debits: cancelling, and deciding what is paid (specification, External payment operations)."""

from __future__ import annotations

from chalicelib.cards.payments.event_payloads import mandate_told
from chalicelib.cards.payments.mandate_record import Mandate
from chalicelib.cards.payments.payment_record import ExternalPayment
from chalicelib.cards.protocol.payment_messages import CancelExternalPaymentMandate, ChangeDDExternalPaymentStatus
from chalicelib.cards.protocol.payment_states import CANCELLED
from chalicelib.cards.protocol.status_codes import Refused, Status
from chalicelib.cards.protocol.values import NO
from chalicelib.cards.requests.request_context import Call, Outcome


class DebitFlow:
    """What a programme manager says of collections."""

    def cancel_external_payment_mandate(self, call: Call) -> Outcome:
        request: CancelExternalPaymentMandate = call.request
        mandate = call.find(Mandate, request.epm_mandate_id)
        mandate.require(call.action.name)
        members = {"state": CANCELLED, "reason": request.reason}
        events = [mandate_told(mandate.changed(**members))]
        return Outcome(operations=[mandate.changing(call.write_id, **members)], events=events)

    def change_dd_external_payment_status(self, call: Call) -> Outcome:
        request: ChangeDDExternalPaymentStatus = call.request
        payment = call.find(ExternalPayment, request.epm_transaction_id)
        payment.require(call.action.name)
        if payment.cut_off is None or call.now >= payment.cut_off:
            raise Refused(Status.WRONG_STATE, "the cut-off is over")
        reason = str(request.reason) if request.should_pay == NO else None
        return Outcome(operations=[payment.changing(call.write_id, should_pay=request.should_pay, reason=reason)])
