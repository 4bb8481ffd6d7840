"""Version 2 of a demonstration bank: statuses, account and payment responses, payment requests."""

from __future__ import annotations

import base64
import binascii
import hmac
from collections.abc import Iterable
from datetime import date
from typing import Any

from chalicelib.demo_bank import refusals
from chalicelib.demo_bank.customers import CustomerAccount
from chalicelib.demo_bank.execution import current_statement
from chalicelib.demo_bank.format import Format
from chalicelib.demo_bank.instructions import (
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
from chalicelib.demo_bank.transactions import StatementEntry
from chalicelib.demo_bank.webhook_format import WebhookCall, WebhookFormat
from chalicelib.foundation.fields.decimal_rules import decimal
from chalicelib.openbanking.protocol import v2_account_messages as account_messages
from chalicelib.openbanking.protocol import v2_payment_messages as payment_messages
from chalicelib.openbanking.protocol.errors import Fault
from chalicelib.openbanking.protocol.payment_enumerations import Kind

_REMITTANCE = 140

# -- accounts


def _accounts(call: WebhookCall) -> dict[str, Any]:
    return {"accounts": [_account_reference(account) for account in call.accounts]}


def _account(call: WebhookCall) -> dict[str, Any]:
    return {"account": _account_reference(_approved_account(call, call.request.account_id))}


def _balances(call: WebhookCall) -> dict[str, Any]:
    account = _approved_account(call, call.request.account_id)
    statement, today = current_statement(call.bank, account), call.bank.clock.now().date()
    found = {
        "interimBooked": statement.balance,
        "interimAvailable": statement.available,
        "openingBooked": statement.opening_balance(today),
    }
    if account.kind == "card":  # what the next direct debit takes: every month ends with the opening balance
        found["nonInvoiced"] = statement.balance - account.opening
    return {
        "balances": [
            {
                "balance_amount": {"amount": decimal_amount(amount, account.currency), "currency": account.currency},
                "balance_type": kind,
            }
            for kind, amount in found.items()
        ]
    }


def _funds_confirmation(call: WebhookCall) -> dict[str, Any]:
    request: payment_messages.FundsRequest = call.request
    party, asked = _identifiers(request.account), request.instructed_amount
    found = [account for account in call.accounts_to_pay_from if party.matches(account)]
    if not found:
        raise refusals.ACCOUNT_UNKNOWN()
    account = next((account for account in found if account.currency == asked.currency), None)
    if account is None:
        return {"funds_available": False}
    available = decimal_amount(current_statement(call.bank, account).available, account.currency)
    return {"funds_available": available >= decimal(asked.amount)}


def _approved_account(call: WebhookCall, account_id: str) -> CustomerAccount:
    for account in call.accounts:
        if account_id == account.account_id:
            return account
    raise refusals.ACCOUNT_UNKNOWN()


def _account_reference(account: CustomerAccount) -> dict[str, Any]:
    reference = {
        "resource_id": account.account_id,
        "iban": account.iban,
        "bban": account.bban,
        "currency": account.currency,
        "name": account.name,
        "payment_schemes": list(account.payment_schemes),
    }
    return {name: value for name, value in reference.items() if value}


# -- transactions of an account


def _transactions(call: WebhookCall) -> dict[str, Any]:
    """Return a page of an account's transactions. Pending transactions precede booked transactions. Raises: Refusal."""
    request: account_messages.TransactionsRequest = call.request
    account, today = _approved_account(call, request.account_id), call.bank.clock.now().date()
    first = date.fromisoformat(request.date_from) if request.date_from else date.min
    last = date.fromisoformat(request.date_to) if request.date_to else date.max
    found = [
        (entry, is_pending)
        for entry, is_pending in current_statement(call.bank, account).newest_first
        if request.booking_status in ("both", "pending" if is_pending else "booked")
        and first <= min(entry.booked_on, today) <= last  # pending entries count as today's
    ]
    start = _page_start(call, request, found)
    page = found[start : start + request.page_size]
    rows: dict[str, list[dict[str, Any]]] = {"booked": [], "pending": []}
    for entry, is_pending in page:
        rows["pending" if is_pending else "booked"].append(_transaction(call, account, entry, is_pending))
    more = start + request.page_size < len(found)
    return {"transactions": rows} | ({"page_key": _page_key(call, request, page[-1][0])} if more else {})


# -- pages: the key identifies the last transaction of the previous page and is valid for one query only


def _page_key(call: WebhookCall, request: account_messages.TransactionsRequest, last: StatementEntry) -> str:
    name = base64.urlsafe_b64encode(last.transaction_id.encode()).decode()
    return f"{name}.{_page_key_mac(call, request, last.transaction_id)}"


def _page_start(
    call: WebhookCall, request: account_messages.TransactionsRequest, found: list[tuple[StatementEntry, bool]]
) -> int:
    if request.page_key is None:
        return 0
    name, _, proof = request.page_key.partition(".")
    try:
        last = base64.b64decode(name.encode("ascii"), b"-_", validate=True).decode()
    except (ValueError, binascii.Error):
        last = ""
    if not hmac.compare_digest(proof.encode(), _page_key_mac(call, request, last).encode()):
        raise refusals.PAGE_KEY_FOREIGN()
    for position, (entry, _) in enumerate(found, start=1):
        if entry.transaction_id == last:
            return position
    raise refusals.PAGE_KEY_STALE()


def _page_key_mac(call: WebhookCall, request: account_messages.TransactionsRequest, last: str) -> str:
    question = (request.account_id, request.booking_status, request.date_from or "", request.date_to or "")
    return call.bank.derive("page key", *question, last).hex()[:32]


def _transaction(
    call: WebhookCall, account: CustomerAccount, entry: StatementEntry, is_pending: bool
) -> dict[str, Any]:
    owner = call.customer.full_name if call.customer else ""
    own = {"iban": account.iban} if account.iban else {"bban": account.bban}
    names = ("debtor", "creditor") if entry.amount > 0 else ("creditor", "debtor")
    members = {
        "transaction_id": entry.transaction_id,
        f"{names[0]}_name": entry.counterparty,
        f"{names[0]}_account": entry.counterparty_account.members,
        f"{names[1]}_name": owner,
        f"{names[1]}_account": own,
        "remittance_information_unstructured": entry.text[:_REMITTANCE],
        "transaction_amount": {
            "amount": decimal_amount(entry.amount, account.currency),
            "currency": account.currency,
            "value_date": entry.booked_on.isoformat(),
            **({} if is_pending else {"booking_date": entry.booked_on.isoformat()}),
        },
    }
    return {name: value for name, value in members.items() if value}


# -- payment requests


def _read_single(profile: Profile, kind: Kind, request: payment_messages.DirectPayment) -> PaymentInstruction:
    currency = request.instructed_amount.currency
    return _read_instruction(profile, kind, request, currency, [request])


def _read_bulk(profile: Profile, kind: Kind, request: payment_messages.BulkPayment) -> PaymentInstruction:
    return _read_instruction(profile, kind, request, request.instructed_totals.currency, request.payments)


def _read_instruction(
    profile: Profile,
    kind: Kind,
    request: payment_messages.DirectPayment | payment_messages.BulkPayment,
    currency: str,
    items: Iterable[payment_messages.Transfer],
) -> PaymentInstruction:
    lines = tuple(map(_read_line, items))
    return PaymentInstruction(
        kind,
        _identifiers(request.debtor_account) if request.debtor_account else None,
        currency,
        lines,
        resolve_schemes(profile, kind, currency, [request.payment_scheme]),
        request.callback_url,
        find_reference(text for line in lines for text in (line.message, line.reference)),
    )


def _read_line(item: payment_messages.Transfer) -> PaymentLine:
    if item.creditor_account is None:
        raise refusals.CREDITOR_MISSING()
    structured = item.remittance_information_structured
    return PaymentLine(
        item.creditor_name or "",
        _identifiers(item.creditor_account),
        to_minor_units(item.instructed_amount.amount, item.instructed_amount.currency),
        structured.reference if structured else "",
        item.remittance_information_unstructured or "",
    )


def _identifiers(account: payment_messages.PaymentAccount) -> AccountIdentifiers:
    return AccountIdentifiers(
        iban=account.iban or "",
        bban=account.bban or "",
        number=pad_digits(account.account_number, 8),
        sort_code=pad_digits(account.sort_code, 6),
    )


def _payment_answer(order: DemoPaymentOrder, confirmation_url: str) -> dict[str, Any]:
    return {"status": order.status, "confirmation_url": confirmation_url, "payment_id": order.payment_id}


FORMAT = Format(
    statuses={
        "received": "RCVD",
        "checked": "ACTC",
        "confirmed": "ACSP",
        "undecided": "ACSP",
        "uncertain": "PDNG",
        "pending": "PDNG",
        "settled": "ACSC",
        "credited": "ACCC",
        "rejected": "RJCT",
        "cancelled": "CANC",
    },
    own_code=lambda refusal: refusal.name,
    token_fault=Fault.NOT_AUTHENTICATED,
    reference_members="remittance information, unstructured or structured,",
)
WEBHOOKS = WebhookFormat(
    answers={
        "accounts": _accounts,
        "account": _account,
        "account_balance": _balances,
        "account_transactions": _transactions,
        "funds_confirmations": _funds_confirmation,
    },
    instruction_readers={"single": _read_single, "direct": _read_single, "bulk": _read_bulk},
    payment_answer=_payment_answer,
)
