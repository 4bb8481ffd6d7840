"""What the banks answer about accounts, balances and funds, each version in its own record format (specification)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from chalicelib.demo_bank import consents, refusals
from chalicelib.demo_bank.calls import Call
from chalicelib.demo_bank.customers import Account
from chalicelib.demo_bank.execution import book
from chalicelib.demo_bank.instructions import party_of
from chalicelib.demo_bank.minor_units import decimal_amount
from chalicelib.foundation.fields.field_types import decimal
from chalicelib.openbanking.protocol import v1_messages as v1
from chalicelib.openbanking.protocol import v2_messages as v2
from chalicelib.openbanking.protocol.bank_calls import RevokeToken

_BALANCE_NAME = 20


def accounts_v1(call: Call) -> dict[str, Any]:
    return {"accounts": [account_record(account) for account in call.accounts]}


def account_v1(call: Call) -> dict[str, Any]:
    return {"account": account_record(named_v1(call, call.request))}


def balance_v1(call: Call) -> dict[str, Any]:
    account = named_v1(call, call.request)
    record = {
        "id": account.account_id,
        "name": account.name[:_BALANCE_NAME].rstrip(),
        "balance": decimal_amount(book(call.bank, account).balance),
        "currency": account.currency,
    }
    return {"accounts": [record]}


def accounts_v2(call: Call) -> dict[str, Any]:
    return {"accounts": [account_reference(account) for account in call.accounts]}


def account_v2(call: Call) -> dict[str, Any]:
    return {"account": account_reference(named_v2(call, call.request.account_id))}


def balances_v2(call: Call) -> dict[str, Any]:
    account = named_v2(call, call.request.account_id)
    statement, today = book(call.bank, account), call.bank.clock.now().date()
    found = {
        "interimBooked": statement.balance,
        "interimAvailable": statement.available,
        "openingBooked": sum(entry.amount for entry in statement.booked if entry.booked_on < today),
    }
    if account.kind == "card":  # what the next direct debit takes: every month ends with the opening balance
        found["nonInvoiced"] = statement.balance - account.opening
    return {
        "balances": [
            {"balance_amount": {"amount": decimal_amount(amount), "currency": account.currency}, "balance_type": kind}
            for kind, amount in found.items()
        ]
    }


def funds_v1(call: Call) -> dict[str, Any]:
    """The available balance, for the service to compare; a question in another currency is answered with no."""
    request: v1.FundsRequest = call.request
    account = _find_named(call.accounts_to_pay_from, request.account)
    if account.currency != request.instructed_amount.currency:
        return {"funds_available": False}
    available = book(call.bank, account).available
    return {"balance": decimal_amount(available), "currency": account.currency}


def funds_v2(call: Call) -> dict[str, Any]:
    request: v2.FundsRequest = call.request
    party, asked = party_of(request.account), request.instructed_amount
    found = [account for account in call.accounts_to_pay_from if party.is_account(account)]
    if not found:
        raise refusals.ACCOUNT_UNKNOWN()
    account = next((account for account in found if account.currency == asked.currency), None)
    if account is None:
        return {"funds_available": False}
    available = decimal_amount(book(call.bank, account).available)
    return {"funds_available": available >= decimal(asked.amount)}


def revoke_token(call: Call) -> dict[str, Any]:
    """The service has ended a consent; a repeat succeeds. The answer is the same in both versions."""
    request: RevokeToken = call.request
    if not consents.end_by_token(call.bank, request.access_token):
        raise refusals.UnknownToken
    return {"status": "success"}


def named_v1(call: Call, request: v1.AccountRequest) -> Account:
    """The approved account that every name in a request is one of. Raises: Refusal."""
    return _find_named(call.accounts, request)


def _find_named(accounts: Sequence[Account], named: v1.AccountRequest | v1.FundsAccount) -> Account:
    for account in accounts:
        if named.account_id in (None, account.account_id) and named.iban in (None, account.iban):
            return account
    raise refusals.ACCOUNT_UNKNOWN()


def named_v2(call: Call, account_id: str) -> Account:
    """The approved account with this ``resource_id``. Raises: Refusal."""
    for account in call.accounts:
        if account_id == account.account_id:
            return account
    raise refusals.ACCOUNT_UNKNOWN()


def account_record(account: Account) -> dict[str, Any]:
    """A version 1 account: ``id``, ``name``, ``iban``, ``currency``, ``additional_data``."""
    return {
        "id": account.account_id,
        "name": account.name,
        "iban": account.iban,
        "currency": account.currency,
        "additional_data": [{"sort_code": account.sort_code, "account_number": account.number}],
    }


def account_reference(account: Account) -> dict[str, Any]:
    """A version 2 account reference; a card account has no ``iban``."""
    reference = {
        "resource_id": account.account_id,
        "iban": account.iban,
        "bban": account.bban,
        "currency": account.currency,
        "name": account.name,
        "payment_schemes": list(account.payment_schemes),
    }
    return {name: value for name, value in reference.items() if value}
