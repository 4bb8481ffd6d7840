"""Payments and confirmations of funds of the unified API at banks of version 2."""

from __future__ import annotations

from collections.abc import Mapping

from chalicelib.openbanking.protocol.payment_enumerations import Kind
from chalicelib.openbanking.protocol.webhooks import FUNDS_CONFIRMATIONS
from chalicelib.openbanking.unified.bank_requests import RefusedRow, RequestRow, RequestTable
from chalicelib.openbanking.unified.tables import FundsTable

_FUNDS_ACCOUNT_TAKEN = "banks of version 2 take an iban, a bban, or account_number with sort_code"
_NO_BANK_TAKEN = RefusedRow("creditor.bank", "banks of version 2 take the creditor's bank in single payments only")
_SUM_TAKEN = RefusedRow("payments", "banks of version 2 take a sum of at most 10 digits")


def default_reference_type(_reference: str) -> str:
    """Return ``SCOR``."""
    return "SCOR"


def _account(native: str, unified: str) -> tuple[RequestRow, ...]:
    members = ("iban", "bban", "sort_code", "account_number")
    return tuple(RequestRow(f"{native}.{member}", f"{unified}.{member}") for member in members)


_AMOUNT = (
    RequestRow("instructed_amount.amount", "amount.value"),
    RequestRow("instructed_amount.currency", "amount.currency"),
)
_STRUCTURED = "remittance_information_structured"
_CREDITOR = (
    RequestRow("creditor_name", "creditor.name"),
    *_account("creditor_account", "creditor"),
    RequestRow("creditor_address.street_name", "creditor.address.street_name"),
    RequestRow("creditor_address.building_number", "creditor.address.building_number"),
    RequestRow("creditor_address.town_name", "creditor.address.town_name"),
    RequestRow("creditor_address.postal_code", "creditor.address.postal_code"),
    RequestRow("creditor_address.country", "creditor.address.country"),
    *_AMOUNT,
    RequestRow("remittance_information_unstructured", "remittance.unstructured"),
    RequestRow(f"{_STRUCTURED}.reference", "remittance.reference"),
    RequestRow(f"{_STRUCTURED}.reference_type", "remittance.reference_type"),
    RequestRow(f"{_STRUCTURED}.reference_type", "remittance.reference", default_reference_type),
)
_ORDER = (
    RequestRow("debtor_name", "debtor.name"),
    *_account("debtor_account", "debtor"),
    RequestRow("payment_scheme", "scheme"),
    RequestRow("callback_url", "callback_url"),
)
_CREDITOR_BANK = (
    RequestRow("creditor_bank.name", "creditor.bank.name"),
    RequestRow("creditor_bank.bic", "creditor.bank.bic"),
    RequestRow("creditor_bank.country", "creditor.bank.country"),
)
_TOTAL = (
    RequestRow("instructed_totals.amount", "total.value", refused_as=_SUM_TAKEN),
    RequestRow("instructed_totals.currency", "total.currency"),
)
PAYMENTS: Mapping[Kind, RequestTable] = {
    "single": RequestTable((*_ORDER, *_CREDITOR, *_CREDITOR_BANK)),
    "direct": RequestTable((*_ORDER, *_CREDITOR), (_NO_BANK_TAKEN,)),
    "bulk": RequestTable((*_ORDER, *_TOTAL), payments=RequestTable(_CREDITOR, (_NO_BANK_TAKEN,))),
}
FUNDS = FundsTable(
    FUNDS_CONFIRMATIONS,
    RequestTable(
        (*_account("account", "account"), *_AMOUNT),
        (
            RefusedRow(
                "account.account_id",
                _FUNDS_ACCOUNT_TAKEN,
                [("account.iban",), ("account.bban",), ("account.sort_code", "account.account_number")],
            ),
        ),
    ),
)
