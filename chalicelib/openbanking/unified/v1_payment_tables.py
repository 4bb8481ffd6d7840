"""Payments and confirmations of funds of the unified API at banks of version 1."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from chalicelib.foundation.fields.registries import alpha_3_countries
from chalicelib.openbanking.protocol.payment_enumerations import Kind
from chalicelib.openbanking.protocol.webhooks import FUNDS_CONFIRMATIONS
from chalicelib.openbanking.unified.bank_requests import ORDER, RefusedRow, RequestRow, RequestTable, keep
from chalicelib.openbanking.unified.tables import FundsTable
from chalicelib.openbanking.unified.values import Converter

LONGEST_FUNDS_ACCOUNT_ID = 20
"""The longest ``account_id`` in a request to confirm funds (specification, Version 1)."""
_ACCOUNT_TAKEN = "banks of version 1 take an iban, or account_number with sort_code"
_DEBTOR_TAKEN = "banks of version 1 take the debtor's account as an iban"
_NO_DEBTOR_TAKEN = "banks of version 1 take no debtor account in direct payments"
_FUNDS_ACCOUNT_TAKEN = "banks of version 1 take an iban or account_id"
_SUM_TAKEN = "banks of version 1 take a sum of at most 10 digits"
_CREDITOR_LEFT_OUT = ("remittance.reference_type",)
_CREDITOR_REFUSED = (
    RefusedRow(
        "creditor.bban", _ACCOUNT_TAKEN, [("creditor.iban",), ("creditor.sort_code", "creditor.account_number")]
    ),
    RefusedRow("creditor.bank", "banks of version 1 do not take the creditor's bank"),
)


def alpha_3(country: str) -> str:
    """Return the alpha-3 code of a country."""
    return alpha_3_countries()[country]


def totals(total: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the only entry of ``totals``, since all payments are in one currency."""
    return [{"currency": total["currency"], "amount": total["value"]}]


def _creditor(country: Converter) -> tuple[RequestRow, ...]:
    return (
        RequestRow("receiver_name", "creditor.name"),
        RequestRow("receiver_iban", "creditor.iban"),
        RequestRow("receiver_sort_code", "creditor.sort_code"),
        RequestRow("receiver_account_number", "creditor.account_number"),
        RequestRow("receiver_address.street_name", "creditor.address.street_name"),
        RequestRow("receiver_address.building_number", "creditor.address.building_number"),
        RequestRow("receiver_address.town_name", "creditor.address.town_name"),
        RequestRow("receiver_address.post_code", "creditor.address.postal_code"),
        RequestRow("receiver_address.country", "creditor.address.country", country),
        RequestRow("amount", "amount.value"),
        RequestRow("currency", "amount.currency"),
        RequestRow("message_for_receiver", "remittance.unstructured"),
        RequestRow("reference", "remittance.reference"),
    )


def _debtor_refused(sentence: str) -> Sequence[RefusedRow]:
    members = ("debtor.bban", "debtor.sort_code", "debtor.account_number")
    return [RefusedRow(member, sentence, [("debtor.iban",)]) for member in members]


_CALLBACK = RequestRow("callback_url", "callback_url")
_DEBTOR = RequestRow("sender_iban", "debtor.iban")
_SINGLE = (*_creditor(alpha_3), RequestRow("payment_scheme", "scheme"), _CALLBACK)
PAYMENTS: Mapping[Kind, RequestTable] = {
    "single": RequestTable(
        (*_SINGLE, _DEBTOR), (*_debtor_refused(_DEBTOR_TAKEN), *_CREDITOR_REFUSED), ("debtor.name", *_CREDITOR_LEFT_OUT)
    ),
    "direct": RequestTable(
        _SINGLE,
        (RefusedRow("debtor.iban", _NO_DEBTOR_TAKEN), *_debtor_refused(_NO_DEBTOR_TAKEN), *_CREDITOR_REFUSED),
        ("debtor.name", *_CREDITOR_LEFT_OUT),
    ),
    "bulk": RequestTable(
        (_CALLBACK, _DEBTOR, RequestRow("totals", "total", totals, refused_as=RefusedRow("payments", _SUM_TAKEN))),
        _debtor_refused(_DEBTOR_TAKEN),
        ("debtor.name",),
        RequestTable(
            (*_creditor(keep), RequestRow("payment_scheme", f"{ORDER}.scheme")), _CREDITOR_REFUSED, _CREDITOR_LEFT_OUT
        ),
    ),
}
FUNDS = FundsTable(
    FUNDS_CONFIRMATIONS,
    RequestTable(
        (
            RequestRow("account.iban", "account.iban"),
            RequestRow("account.account_id", "account.account_id", longest=LONGEST_FUNDS_ACCOUNT_ID),
            RequestRow("instructed_amount.amount", "amount.value"),
            RequestRow("instructed_amount.currency", "amount.currency"),
        ),
        [
            RefusedRow(member, _FUNDS_ACCOUNT_TAKEN, [("account.iban",), ("account.account_id",)])
            for member in ("account.bban", "account.sort_code", "account.account_number")
        ],
    ),
)
