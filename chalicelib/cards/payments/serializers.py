"""Addresses and payments as response data and event payloads (specification, Resources; Events)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from chalicelib.cards.events.card_events import CardEvent
from chalicelib.cards.payments.address_record import ExternalAddress
from chalicelib.cards.payments.payment_record import ExternalPayment, Mandate
from chalicelib.cards.protocol.card_events import ExternalPaymentEvent, MandateEvent
from chalicelib.cards.protocol.payment_messages import (
    AddressRecord,
    AddressWithStatus,
    OtherBankAccount,
    OwnBankAccount,
    TransferWithDestination,
)
from chalicelib.cards.protocol.schemes import UK
from chalicelib.cards.protocol.status_codes import Refused, Status
from chalicelib.cards.storage.record import without_none


def serialize_address(address: ExternalAddress) -> AddressRecord:
    """Serialize an address. Details that the provider did not supply are omitted."""
    active = int(address.is_live)
    record: AddressRecord = {
        "id": address.id,
        "access_level": address.access_level,
        "active": active,
        "account_number": address.account_number,
        "iban": address.iban,
        "sort_code": address.sort_code,
        "bic": address.bic,
        "account_name": address.account_name,
        "direct_credit_enabled": int(bool(active) and address.method == UK),
        "direct_debit_enabled": active,
        "inbound_enabled": active,
        "outbound_enabled": active,
        "epm_method_id": address.method,
        "epm_type_id": address.type_id,
        "account_id": address.account_id,
        "account_type": address.account_type,
        "card_id": address.card_id,
        "holder_id": address.holder_id,
        "currency_ison": address.currency,
        "country_ison": address.country,
        "assignment_state": address.assignment_state,
    }
    return without_none(record)


def serialize_address_with_status(address: ExternalAddress) -> AddressWithStatus:
    """Serialize an address with its status and the reason for its last change."""
    record: AddressWithStatus = {
        **serialize_address(address),
        "status": address.status,
        "status_change_reason_code": address.reason_code,
        "status_change_note": address.note,
    }
    return without_none(record)


def bank_account(address: ExternalAddress) -> dict[str, Any]:
    """Return the service's own address in the form stored in a payment."""
    names = ("id", "account_name", "account_number", "iban", "sort_code", "bic")
    return without_none({name: getattr(address, name) for name in names})


def serialize_payment(payment: ExternalPayment) -> TransferWithDestination:
    """Serialize a payment submitted to the provider. A return has no destination."""
    is_booked, is_out = payment.transaction_id is not None, payment.payment == "out"
    record: TransferWithDestination = {
        "id": payment.id,
        "external_transaction_reference": payment.provider_reference,
        "settlement_amount": payment.settlement_amount,
        "settlement_currency": payment.settlement_currency,
        "instructed_amount": payment.instructed_amount,
        "instructed_currency": payment.instructed_currency,
        "source_bank_account_address": [_own_account(payment.source or {})],
        "created_at": str(payment.created_at),
        "transaction_id": payment.transaction_id,
        "trans_link": payment.trans_link if is_booked else None,
        "destination_bank_account_address": [_other_account(payment.destination or {})] if is_out else None,
    }
    return without_none(record)


def _own_account(account: Mapping[str, Any]) -> OwnBankAccount:
    """Return the account's bank details. Missing numbers are empty, because all members are mandatory."""
    return {
        "id": account["id"],
        "account_number": account.get("account_number", ""),
        "account_name": account["account_name"],
        "iban": account.get("iban", ""),
        "sort_code": account.get("sort_code", ""),
        "bic": account.get("bic", ""),
    }


def _other_account(account: Mapping[str, Any]) -> OtherBankAccount:
    known: OtherBankAccount = {
        "account_number": account.get("account_number"),
        "account_name": account["account_name"],
        "iban": account.get("iban"),
        "sort_code": account.get("sort_code"),
        "bic": account.get("bic"),
    }
    return without_none(known)


def refused_by_provider(reason: str | None) -> Refused:
    """Return the refusal with the provider's reason, if a reason is stored. Reasons contain no names."""
    return Refused(Status.PROVIDER_REFUSED, f"{Status.PROVIDER_REFUSED.meaning}: {reason}" if reason else "")


def payment_event(payment: ExternalPayment) -> CardEvent:
    """Return the event with a payment's current state."""
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
    """Return the events for a change of a payment. The result is empty if the payment's state did not change."""
    return [] if before.state == after.state else [payment_event(after)]


def mandate_event(mandate: Mandate) -> CardEvent:
    data: MandateEvent = {
        "epm_mandate_id": mandate.id,
        "state": mandate.state,
        "epm_address_id": mandate.address_id,
        "creditor_name": mandate.creditor_name,
        "reference": mandate.reference,
    }
    return CardEvent("mandate", data)
