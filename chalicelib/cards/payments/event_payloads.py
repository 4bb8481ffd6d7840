"""What programme managers are told of external payments and mandates: each state that one of them comes to."""

from __future__ import annotations

from typing import Any

from chalicelib.cards.events.card_events import CardEvent
from chalicelib.cards.payments.mandate_record import Mandate
from chalicelib.cards.payments.payment_record import ExternalPayment


def payment_told(payment: ExternalPayment) -> CardEvent:
    """A payment as it stands now, for the programme manager that it belongs to."""
    told: dict[str, Any] = {
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
        **({} if payment.charge is None else _settlement(payment)),
        "description": payment.remittance,
        **payment.counterparty,
        "transaction_id": payment.transaction_id,
        "return_transaction_id": payment.return_transaction_id,
        "returned_epm_transaction_id": payment.returns,
        "epm_mandate_id": payment.mandate_id,
        "cut_off": payment.cut_off,
        "created_at": str(payment.created_at),
    }
    return CardEvent("external_payment", told, payment.manager_id)


def change_told(before: ExternalPayment, after: ExternalPayment) -> list[CardEvent]:
    """What a change of a payment is worth telling: nothing, if its state is the same."""
    return [] if before.state == after.state else [payment_told(after)]


def mandate_told(mandate: Mandate) -> CardEvent:
    """A mandate as it stands now."""
    told = {
        "epm_mandate_id": mandate.id,
        "state": mandate.state,
        "epm_address_id": mandate.address_id,
        "creditor_name": mandate.creditor_name,
        "reference": mandate.reference,
    }
    return CardEvent("mandate", told)


def _settlement(payment: ExternalPayment) -> dict[str, Any]:
    """What a payment comes to on its account, once that was reckoned."""
    names = ("settlement_amount", "settlement_currency", "trans_link")
    return {name: getattr(payment, name) for name in names}
