"""Builds valid requests to a bank under test from its file, for every webhook of its version."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from chalicelib.openbanking.protocol import payment_enumerations, v1_version, v2_version
from chalicelib.openbanking.protocol.payment_enumerations import Kind
from chalicelib.openbanking.protocol.version import Version
from infra.conformance.bank_file import AccountPart, BankUnderTest

Members = dict[str, Any]
REFERENCE = "Conformance 1"
UNKNOWN_ID = "no-such-account-0"


@dataclass(frozen=True, slots=True)
class Order:
    """A payment order: one amount for each payment, and the ``callback_url``."""

    amounts: tuple[str, ...]
    callback_url: str


@dataclass(frozen=True, slots=True)
class Examples:
    """The valid requests of a version.

    Attributes:
        account: a request for an account; ``None`` if the file has no suitable identifier.
        funds: a request to check whether an account covers an amount.
        history: a request for the first page of an account's payments or transactions.
        orders: the payment orders by kind, without ``payment_scheme``, which is the same for all orders.
    """

    account: Callable[[AccountPart], Members | None]
    funds: Callable[[AccountPart, str], Members | None]
    history: Callable[[Members], Members]
    orders: Mapping[Kind, Callable[[BankUnderTest, Order], Members]]


def _present(**members: Any) -> Members:
    return {name: value for name, value in members.items() if value is not None}


def _total(amounts: tuple[str, ...]) -> str:
    return str(sum(map(Decimal, amounts)))


# -- version 1


def _account_1(account: AccountPart) -> Members | None:
    if account.account_id is not None:
        return {"account_id": account.account_id}
    return {"iban": account.iban} if account.iban else None


def _funds_1(account: AccountPart, amount: str) -> Members | None:
    named = {"iban": account.iban} if account.iban else _account_1(account)
    money = {"amount": amount, "currency": account.currency}
    return {"account": named, "instructed_amount": money} if named else None


def _receiver_1(bank: BankUnderTest, amount: str) -> Members:
    payee = bank.creditor
    account = (
        {"receiver_iban": payee.iban}
        if payee.iban
        else {"receiver_account_number": payee.account_number, "receiver_sort_code": payee.sort_code}
    )
    currency = bank.accounts[0].currency
    return {"amount": amount, "currency": currency, "reference": REFERENCE, "receiver_name": payee.name, **account}


def _direct_1(bank: BankUnderTest, order: Order) -> Members:
    return {**_receiver_1(bank, order.amounts[0]), "callback_url": order.callback_url}


def _single_1(bank: BankUnderTest, order: Order) -> Members:
    return {**_present(sender_iban=bank.accounts[0].iban), **_direct_1(bank, order)}


def _bulk_1(bank: BankUnderTest, order: Order) -> Members:
    totals = [{"currency": bank.accounts[0].currency, "amount": _total(order.amounts)}]
    items = [_receiver_1(bank, amount) for amount in order.amounts]
    sender = _present(sender_iban=bank.accounts[0].iban)
    return {**sender, "callback_url": order.callback_url, "totals": totals, "payments": items}


# -- version 2


def _reference_2(account: AccountPart) -> Members | None:
    if account.iban is not None:
        return {"iban": account.iban}
    if account.account_number is not None:
        return {"account_number": account.account_number, "sort_code": account.sort_code}
    return {"bban": account.bban} if account.bban is not None else None


def _funds_2(account: AccountPart, amount: str) -> Members | None:
    named = _reference_2(account)
    money = {"amount": amount, "currency": account.currency}
    return {"account": named, "instructed_amount": money} if named else None


def _transfer_2(bank: BankUnderTest, amount: str) -> Members:
    payee = bank.creditor
    account = (
        {"iban": payee.iban} if payee.iban else {"account_number": payee.account_number, "sort_code": payee.sort_code}
    )
    return {
        "creditor_account": account,
        "creditor_name": payee.name,
        "remittance_information_unstructured": REFERENCE,
        "instructed_amount": {"amount": amount, "currency": bank.accounts[0].currency},
    }


def _direct_2(bank: BankUnderTest, order: Order) -> Members:
    return {**_transfer_2(bank, order.amounts[0]), "callback_url": order.callback_url}


def _single_2(bank: BankUnderTest, order: Order) -> Members:
    return {**_present(debtor_account=_reference_2(bank.accounts[0])), **_direct_2(bank, order)}


def _bulk_2(bank: BankUnderTest, order: Order) -> Members:
    return {
        **_present(debtor_account=_reference_2(bank.accounts[0])),
        "callback_url": order.callback_url,
        "instructed_totals": {"currency": bank.accounts[0].currency, "amount": _total(order.amounts)},
        "payments": [_transfer_2(bank, amount) for amount in order.amounts],
    }


EXAMPLES: Mapping[Version, Examples] = {
    v1_version.VERSION: Examples(
        _account_1,
        _funds_1,
        lambda account: {**account, "record_count": 100, "current_page": 1},
        {"single": _single_1, "bulk": _bulk_1, "direct": _direct_1},
    ),
    v2_version.VERSION: Examples(
        lambda account: None if account.account_id is None else {"account_id": account.account_id},
        _funds_2,
        lambda account: {**account, "booking_status": "both", "page_size": 100},
        {"single": _single_2, "bulk": _bulk_2, "direct": _direct_2},
    ),
}
"""The functions that create the valid requests, by version."""


def payment_request(bank: BankUnderTest, kind: Kind, order: Order) -> Members:
    """Return a valid payment order with its scheme, as sent by the hub."""
    request = EXAMPLES[bank.version].orders[kind](bank, order)
    possible = payment_enumerations.possible_schemes(bank.version.schemes, kind, bank.version.schemes)
    for place, currency in bank.version.payments[kind].scheme_places(request):
        place["payment_scheme"] = payment_enumerations.scheme(bank.payment.scheme, currency, possible)
    return request
