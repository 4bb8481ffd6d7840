"""Addresses and payments as the interface answers them (specification, Resources and their fields)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from chalicelib.cards.payments.address_record import ExternalAddress
from chalicelib.cards.payments.payment_record import ExternalPayment
from chalicelib.cards.protocol.payment_messages import OtherBankAccount, OwnBankAccount
from chalicelib.cards.protocol.schemes import UK
from chalicelib.cards.protocol.status_codes import Refused, Status
from chalicelib.cards.storage.record import present

_WITHOUT_DATA = ("directCreditReturn", "directDebitReturn")
NUMBERS = ("account_number", "iban", "sort_code", "bic")


def address_shown(address: ExternalAddress) -> dict[str, Any]:
    """An address; what the provider did not supply is left out."""
    active = int(address.is_live)
    shown = {
        "id": address.id,
        "access_level": address.access_level,
        "active": active,
        **{name: getattr(address, name) for name in NUMBERS},
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
    return present(shown)


def status_shown(address: ExternalAddress) -> dict[str, Any]:
    """An address with its status, and why it was changed last."""
    shown = {
        "status": address.status,
        "status_change_reason_code": address.reason_code,
        "status_change_note": address.note,
    }
    return address_shown(address) | present(shown)


def bank_account(address: ExternalAddress) -> dict[str, Any]:
    """An own address as a payment keeps it."""
    known = {name: getattr(address, name) for name in ("id", "account_name", *NUMBERS)}
    return present(known)


def payment_shown(payment: ExternalPayment) -> dict[str, Any]:
    """A payment that the provider was asked for; a return says nothing of where it goes."""
    shown: dict[str, Any] = {
        "id": payment.id,
        "external_transaction_reference": payment.provider_reference,
        "settlement_amount": payment.settlement_amount,
        "settlement_currency": payment.settlement_currency,
        "instructed_amount": payment.instructed_amount,
        "instructed_currency": payment.instructed_currency,
        "source_bank_account_address": [_own_account(payment.source or {})],
        "created_at": str(payment.created_at),
    }
    if payment.transaction_id is not None:
        shown |= {"transaction_id": payment.transaction_id, "trans_link": payment.trans_link}
    if payment.payment == "out":
        shown["destination_bank_account_address"] = [_other_account(payment.destination or {})]
    return present(shown)


def payment_answer(payment: ExternalPayment, action: str) -> dict[str, Any] | None:
    """The data that an action is answered with."""
    return None if action in _WITHOUT_DATA else payment_shown(payment)


def _own_account(kept: Mapping[str, Any]) -> dict[str, Any]:
    """All members are mandatory: what an address does not have is empty."""
    return {name: kept.get(name, "") for name in OwnBankAccount.model_fields}


def _other_account(kept: Mapping[str, Any]) -> dict[str, Any]:
    return {name: kept[name] for name in OtherBankAccount.model_fields if name in kept}


def refused_by_provider(reason: str | None) -> Refused:
    """The provider's own words, as far as they were kept: they name nobody."""
    return Refused(Status.PROVIDER_REFUSED, f"{Status.PROVIDER_REFUSED.meaning}: {reason}" if reason else "")
