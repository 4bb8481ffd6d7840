"""What programme managers are told of external payments and mandates: each state that one of them comes to."""

from __future__ import annotations

from chalicelib.cards.events.card_events import CardEvent
from chalicelib.cards.payments.payment_record import ExternalPayment, Mandate
from chalicelib.cards.protocol.card_events import ExternalPaymentEvent, MandateEvent


def payment_event(payment: ExternalPayment) -> CardEvent:
    """A payment as it stands now, for the programme manager that it belongs to."""
    counterparty, is_reckoned = payment.counterparty, payment.charge is not None
    data: ExternalPaymentEvent = {
        "epm_transaction_id": payment.id,
        "kind": payment.payment,
        "state": payment.state,
        "reason": payment.reason,
        "epm_address_id": payment.address_id,
        "account_id": payment.account_id,
        "account_type": payment.account_type,
        "card_id": payment.card_id,
        "holder_id": payment.holder_id,
        "instructed_amount": payment.instructed_amount,
        "instructed_currency": payment.instructed_currency,
        "settlement_amount": payment.settlement_amount if is_reckoned else None,
        "settlement_currency": payment.settlement_currency if is_reckoned else None,
        "trans_link": payment.trans_link if is_reckoned else None,
        "description": payment.remittance,
        "counterparty_name": counterparty.get("counterparty_name"),
        "counterparty_iban": counterparty.get("counterparty_iban"),
        "counterparty_sort_code": counterparty.get("counterparty_sort_code"),
        "counterparty_account_number": counterparty.get("counterparty_account_number"),
        "scheme": counterparty.get("scheme"),
        "transaction_id": payment.transaction_id,
        "return_transaction_id": payment.return_transaction_id,
        "returned_epm_transaction_id": payment.returns,
        "epm_mandate_id": payment.mandate_id,
        "cut_off": payment.cut_off,
        "created_at": str(payment.created_at),
    }
    return CardEvent("external_payment", data, payment.manager_id)


def change_events(before: ExternalPayment, after: ExternalPayment) -> list[CardEvent]:
    """What a change of a payment is worth telling: nothing, if its state is the same."""
    return [] if before.state == after.state else [payment_event(after)]


def mandate_event(mandate: Mandate) -> CardEvent:
    """A mandate as it stands now."""
    data: MandateEvent = {
        "epm_mandate_id": mandate.id,
        "state": mandate.state,
        "epm_address_id": mandate.address_id,
        "creditor_name": mandate.creditor_name,
        "reference": mandate.reference,
    }
    return CardEvent("mandate", data)
