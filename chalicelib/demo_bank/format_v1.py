"""Version 1 of a demonstration bank: statuses, account and payment responses, payment requests."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from chalicelib.demo_bank import execution, orders, refusals
from chalicelib.demo_bank.customers import CustomerAccount
from chalicelib.demo_bank.execution import current_statement
from chalicelib.demo_bank.format import Format
from chalicelib.demo_bank.instructions import (
    TEXT_SEPARATOR,
    AccountIdentifiers,
    PaymentInstruction,
    PaymentLine,
    decimal_amount,
    find_reference,
    pad_digits,
    resolve_schemes,
    to_minor_units,
)
from chalicelib.demo_bank.orders import DemoPaymentOrder
from chalicelib.demo_bank.profiles import Profile
from chalicelib.demo_bank.transactions import Means, StatementEntry
from chalicelib.demo_bank.webhook_format import WebhookCall, WebhookFormat
from chalicelib.openbanking.protocol import v1_account_messages as account_messages
from chalicelib.openbanking.protocol import v1_payment_messages as payment_messages
from chalicelib.openbanking.protocol.errors import Fault
from chalicelib.openbanking.protocol.payment_enumerations import Kind

_TYPES: Mapping[Means, str] = {
    "transfer": "Bank transfer",
    "card": "Card transfer",
    "internal": "Internal transfer",
    "opening": "Other",
}
_CONFIRMED, _PENDING = 4, 1
_BALANCE_NAME, _REFERENCE, _DESCRIPTION = 20, 30, 255

# -- accounts


def _accounts(call: WebhookCall) -> dict[str, Any]:
    return {"accounts": [_account_record(account) for account in call.accounts]}


def _account(call: WebhookCall) -> dict[str, Any]:
    return {"account": _account_record(_find_account(call.accounts, call.request))}


def _balance(call: WebhookCall) -> dict[str, Any]:
    account = _find_account(call.accounts, call.request)
    record = {
        "id": account.account_id,
        "name": account.name[:_BALANCE_NAME].rstrip(),
        "balance": decimal_amount(current_statement(call.bank, account).balance, account.currency),
        "currency": account.currency,
    }
    return {"accounts": [record]}


def _funds_confirmation(call: WebhookCall) -> dict[str, Any]:
    """Return the available balance, which the service compares. A request in another currency gets a negative
    response.
    """
    request: payment_messages.FundsRequest = call.request
    account = _find_account(call.accounts_to_pay_from, request.account)
    if account.currency != request.instructed_amount.currency:
        return {"funds_available": False}
    available = current_statement(call.bank, account).available
    return {"balance": decimal_amount(available, account.currency), "currency": account.currency}


def _find_account(accounts: Sequence[CustomerAccount], named: account_messages.AccountRequest) -> CustomerAccount:
    for account in accounts:
        if named.account_id in (None, account.account_id) and named.iban in (None, account.iban):
            return account
    raise refusals.ACCOUNT_UNKNOWN()


def _account_record(account: CustomerAccount) -> dict[str, Any]:
    return {
        "id": account.account_id,
        "name": account.name,
        "iban": account.iban,
        "currency": account.currency,
        "additional_data": [{"sort_code": account.sort_code, "account_number": account.number}],
    }


# -- payments of an account


def _payments(call: WebhookCall) -> dict[str, Any]:
    """Return a page of an account's payments: pending payments, then newest first by ``date_created``."""
    request: account_messages.PaymentsRequest = call.request
    account = _find_account(call.accounts, request)
    listed = current_statement(call.bank, account).newest_first
    found = sorted(listed, key=lambda each: (each[1], each[0].created_on or each[0].booked_on), reverse=True)
    start = (request.current_page - 1) * request.record_count
    page = found[start : start + request.record_count]
    return {
        "payments": [_payment_record(call, account, entry, is_pending) for entry, is_pending in page],
        "paginator": [{"limit": request.record_count, "current_page": request.current_page}],
    }


def _payment(call: WebhookCall) -> dict[str, Any]:
    """Return one payment of an approved account, even if it was never executed. Raises: Refusal."""
    wanted = call.request.payment_id
    generated_on = [account for account in call.accounts if wanted.startswith(account.number)]
    for account in generated_on or call.accounts:
        for entry, is_pending in current_statement(call.bank, account).newest_first:
            if entry.transaction_id == wanted:
                return {"payment": _payment_record(call, account, entry, is_pending)}
    order = orders.find(call.bank, wanted)
    debtor = order.account(call.bank) if order else None
    if order is None or debtor is None or debtor not in call.accounts:
        raise refusals.PAYMENT_UNKNOWN()
    order = execution.refresh(call.bank, order)
    created_on = datetime.fromtimestamp(order.created_at, UTC).date()
    asked = StatementEntry(
        transaction_id=order.payment_id,
        booked_on=created_on,
        amount=-order.amount,
        counterparty=order.receiver,
        counterparty_account=order.receiver_account,
        text=order.text,
        means="transfer",
        status=order.status,
        created_on=created_on,
    )
    return {"payment": _payment_record(call, debtor, asked, is_pending=True)}


def _payment_record(
    call: WebhookCall, account: CustomerAccount, entry: StatementEntry, is_pending: bool
) -> dict[str, Any]:
    """Return a version 1 payment record. ``amount`` is negative for debits.

    A confirmed payment is reported as pending until it is settled. After that, the balance includes the payment.
    """
    created_on = entry.created_on or min(entry.booked_on, call.bank.clock.now().date())
    status = _CONFIRMED if entry.status is None else entry.status
    reference = entry.text if entry.status is None else entry.text.partition(TEXT_SEPARATOR)[0]
    return {
        "id": entry.transaction_id,
        "reference": (reference or "Payment")[:_REFERENCE],
        "date_created": created_on.isoformat(),
        "amount": decimal_amount(entry.amount, account.currency),
        "status": _PENDING if is_pending and status == _CONFIRMED else status,
        "type": _TYPES[entry.means],
        "description": f"{entry.counterparty}: {entry.text}"[:_DESCRIPTION],
        "additional_data": [_parties(account, entry)],
    }


def _parties(account: CustomerAccount, entry: StatementEntry) -> dict[str, Any]:
    own = {
        "iban": account.iban,
        "account_name": account.name,
        "account_number": account.number,
        "sort_code": account.sort_code,
        "internal_account_id": account.account_id,
        "currency": account.currency,
    }
    other = {
        "account_name": entry.counterparty[:50],
        **entry.counterparty_account.members,
        "currency": account.currency,
    }
    sender, receiver = (other, own) if entry.amount > 0 else (own, other)
    return {"sender_data": sender, "receiver_data": receiver}


# -- payment requests


def _read_single(profile: Profile, kind: Kind, request: payment_messages.DirectPayment) -> PaymentInstruction:
    sender = getattr(request, "sender_iban", None)
    return PaymentInstruction(
        kind,
        AccountIdentifiers(iban=sender) if sender else None,
        request.currency,
        (_read_line(request, request.currency),),
        resolve_schemes(profile, kind, request.currency, [request.payment_scheme]),
        request.callback_url,
        find_reference([request.reference]),
    )


def _read_bulk(profile: Profile, kind: Kind, request: payment_messages.BulkPayment) -> PaymentInstruction:
    currency = request.totals[0].currency
    return PaymentInstruction(
        kind,
        AccountIdentifiers(iban=request.sender_iban),
        currency,
        tuple(_read_line(item, currency) for item in request.payments),
        resolve_schemes(profile, kind, currency, {item.payment_scheme for item in request.payments}),
        request.callback_url,
        find_reference(item.reference for item in request.payments),
    )


def _read_line(item: payment_messages.Receiver, currency: str) -> PaymentLine:
    account = AccountIdentifiers(
        iban=item.receiver_iban or "",
        number="" if item.receiver_iban else pad_digits(item.receiver_account_number, 8),
        sort_code="" if item.receiver_iban else pad_digits(item.receiver_sort_code, 6),
    )
    message, reference = item.message_for_receiver or "", item.reference or ""
    return PaymentLine(item.receiver_name, account, to_minor_units(item.amount, currency), reference, message)


def _payment_answer(order: DemoPaymentOrder, confirmation_url: str) -> dict[str, Any]:
    return {"confirmation_url": confirmation_url, "payment_id": order.payment_id}


FORMAT = Format(
    statuses={
        "received": 1,
        "checked": 1,
        "confirmed": 4,
        "undecided": 1,
        "uncertain": 0,
        "pending": 1,
        "settled": 4,
        "credited": 4,
        "rejected": 2,
        "cancelled": 3,
    },
    own_code=lambda refusal: refusal.number,
    token_fault=Fault.UNKNOWN_TOKEN,
    reference_members="reference",
)
WEBHOOKS = WebhookFormat(
    answers={
        "accounts": _accounts,
        "account": _account,
        "account_balance": _balance,
        "account_payments": _payments,
        "account_payment": _payment,
        "funds_confirmations": _funds_confirmation,
    },
    instruction_readers={"single": _read_single, "direct": _read_single, "bulk": _read_bulk},
    payment_answer=_payment_answer,
)
