"""A valid request and a valid response of every webhook, with all members, and the corresponding TPP call."""

import json
from dataclasses import dataclass
from typing import Any

from chalicelib.foundation.jsontext import Number
from tests.openbanking.kit import IBAN
from tests.openbanking.specification import TABLES, Member, Table

OTHER_IBAN = "DE89370400440532013000"
CALLBACK = "http://127.0.0.1:8000/payments/done"
Json = dict[str, Any]


@dataclass(frozen=True)
class Row:
    """A webhook with its TPP call, its scope and its use of X-Auth-Token."""

    version: int
    webhook: str
    method: str
    call: str
    scope: str | None = None
    token: bool = True

    def __str__(self) -> str:
        return self.webhook

    @property
    def table(self) -> Table:
        return TABLES[self.version][self.webhook]

    @property
    def request(self) -> Json:
        request: Json = copied(REQUESTS[self.version][self.webhook])
        return request

    @property
    def answer(self) -> Json:
        good: Json = copied(ANSWERS[self.version][self.webhook])
        return {"status": "success", **good} if self.version == 1 else good

    @property
    def in_query(self) -> bool:
        return self.method == "GET"

    @property
    def is_payment(self) -> bool:
        return self.call.endswith("payment_initiation")

    @property
    def is_direct(self) -> bool:
        return "direct" in self.webhook

    @property
    def is_bulk(self) -> bool:
        return self.is_payment and "bulk" in self.webhook


ROWS = [
    Row(1, "/accounts", "GET", "/tpp/accounts", "account.list"),
    Row(1, "/account", "GET", "/tpp/account", "account.details"),
    Row(1, "/account_balance", "GET", "/tpp/account_balance", "account.balance"),
    Row(1, "/account_payments", "GET", "/tpp/account_payments", "account.payments"),
    Row(1, "/account_payment", "GET", "/tpp/account_payment", "account.payment"),
    Row(1, "/payment_initiation", "POST", "/tpp/payment_initiation", "payment.init"),
    Row(1, "/bulk_payment_initiation", "POST", "/tpp/bulk_payment_initiation", "payment.init"),
    Row(1, "/direct_payment_initiation", "POST", "/tpp/direct_payment_initiation", token=False),
    Row(1, "/funds_confirmations", "POST", "/tpp/funds_confirmations", "card_based.funds_confirmations"),
    Row(2, "/v2_accounts", "GET", "/tpp/accounts", "accounts"),
    Row(2, "/v2_account", "GET", "/tpp/account", "accounts"),
    Row(2, "/v2_account_balances", "GET", "/tpp/account_balance", "accounts.balances"),
    Row(2, "/v2_account_transactions", "GET", "/tpp/account_transactions", "accounts.transactions"),
    Row(2, "/v2_payment_single", "POST", "/tpp/payment_initiation", "payments.single"),
    Row(2, "/v2_payment_bulk", "POST", "/tpp/bulk_payment_initiation", "payments.bulk"),
    Row(2, "/v2_payment_direct_single", "POST", "/tpp/direct_payment_initiation", token=False),
    Row(2, "/v2_payment_single_status", "GET", "/tpp/payment_status"),
    Row(2, "/v2_payment_bulk_status", "GET", "/tpp/payment_status"),
    Row(2, "/v2_funds_confirmations", "POST", "/tpp/funds_confirmations", "funds_confirmations"),
]
BY_WEBHOOK = {row.webhook: row for row in ROWS}
UNIFIED_SCOPES = {
    "accounts:read": {1: ["account.list", "account.details"], 2: ["accounts"]},
    "balances:read": {1: ["account.balance"], 2: ["accounts.balances"]},
    "transactions:read": {1: ["account.payments"], 2: ["accounts.transactions"]},
    "payments:write": {1: ["payment.init"], 2: ["payments.single"]},
    "bulk_payments:write": {1: ["payment.init"], 2: ["payments.bulk"]},
    "funds:read": {1: ["card_based.funds_confirmations"], 2: ["funds_confirmations"]},
}
"""The native scopes of each unified scope by version."""
SCOPES = {version: sorted({row.scope for row in ROWS if row.version == version and row.scope}) for version in (1, 2)}

_RECEIVER_1: Json = {
    "amount": Number("12.50"),
    "currency": "GBP",
    "reference": "Invoice 17",
    "receiver_name": "Zoë O'Brien",
    "receiver_iban": OTHER_IBAN,
    "receiver_account_number": "12345678",
    "receiver_sort_code": "202015",
    "message_for_receiver": "Thank you!",
    "payment_scheme": "BACS",
    "receiver_address": {
        "street_name": "High Street",
        "building_number": "5 a",
        "town_name": "Stoke-on-Trent",
        "post_code": "ST1 1AA",
        "country": "GBR",
    },
}
_ITEM_1 = _RECEIVER_1 | {"receiver_address": _RECEIVER_1["receiver_address"] | {"country": "GB"}}
_ACCOUNT_2 = {"iban": OTHER_IBAN, "bban": "370400440532013000", "account_number": "12345678", "sort_code": "202015"}
_OWN_2 = _ACCOUNT_2 | {"iban": IBAN, "account_number": "55555555"}
_DEBTOR_2 = {
    "payment_scheme": "SCTI",
    "debtor_account": _OWN_2,
    "debtor_name": "Jane Doe 2nd",
    "callback_url": CALLBACK,
}
_CREDITOR_2: Json = {
    "creditor_account": _ACCOUNT_2,
    "creditor_name": "Studio 54",
    "remittance_information_unstructured": "Invoice 17",
    "remittance_information_structured": {"reference": "RF18 5390", "reference_type": "SCOR"},
    "creditor_address": {
        "street_name": "Hauptstraße",
        "building_number": "5 a",
        "town_name": "Köln",
        "postal_code": "50667",
        "country": "DE",
    },
    "instructed_amount": {"amount": "12.50", "currency": "EUR"},
}
_PAID_2 = {"status": "RCVD", "confirmation_url": "https://bank.example/confirm?id=1&x=ü"}

REQUESTS: dict[int, dict[str, Json]] = {
    1: {
        "/accounts": {},
        "/account": {"account_id": "A-1"},
        "/account_balance": {"account_id": "A-1"},
        "/account_payments": {"account_id": "A-1", "record_count": "50", "current_page": "2"},
        "/account_payment": {"payment_id": "P-1"},
        "/payment_initiation": {"sender_iban": IBAN, "callback_url": CALLBACK, **_RECEIVER_1},
        "/bulk_payment_initiation": {
            "sender_iban": IBAN,
            "callback_url": CALLBACK,
            "totals": [{"currency": "GBP", "amount": Number("12.50")}],
            "payments": [_ITEM_1],
        },
        "/direct_payment_initiation": {"callback_url": CALLBACK, **_RECEIVER_1},
        "/funds_confirmations": {
            "account": {"iban": IBAN, "account_id": "A-1"},
            "instructed_amount": {"amount": Number("12.50"), "currency": "GBP"},
        },
    },
    2: {
        "/v2_accounts": {},
        "/v2_account": {"account_id": "A-1"},
        "/v2_account_balances": {"account_id": "A-1"},
        "/v2_account_transactions": {
            "account_id": "A-1",
            "booking_status": "both",
            "page_key": "n-2",
            "page_size": "50",
            "date_from": "2026-01-01",
            "date_to": "2026-01-31",
        },
        "/v2_payment_single": {
            **_DEBTOR_2,
            **_CREDITOR_2,
            "creditor_bank": {"name": "Bank 24", "bic": "DEUTDEFF", "country": "DE"},
        },
        "/v2_payment_bulk": {
            **_DEBTOR_2,
            "instructed_totals": {"currency": "EUR", "amount": "12.50"},
            "payments": [_CREDITOR_2],
        },
        "/v2_payment_direct_single": {**_DEBTOR_2, **_CREDITOR_2},
        "/v2_payment_single_status": {"payment_id": "P-single"},
        "/v2_payment_bulk_status": {"payment_id": "P-bulk"},
        "/v2_funds_confirmations": {"account": _OWN_2, "instructed_amount": {"amount": "12.50", "currency": "EUR"}},
    },
}

_RECORD_1 = {"id": 1, "name": "Main", "iban": IBAN, "currency": "GBP", "additional_data": []}
_BALANCE_1 = {"id": "1", "name": "Main", "balance": Number("-0.10"), "currency": "GBP"}
_PARTY_1 = {
    "iban": IBAN,
    "account_name": "Main",
    "account_number": "12345678",
    "sort_code": "202015",
    "bic": "ALPHGB21",
    "internal_account_id": "77",
    "card_number": "4111111111111111",
    "currency": "GBP",
}
_PAYMENT_1 = {
    "id": "P-1",
    "reference": "Invoice 17",
    "date_created": "2026-01-31",
    "amount": Number("12.50"),
    "status": 4,
    "type": "Bank transfer",
    "description": "Rent, January",
    "additional_data": [{"sender_data": _PARTY_1, "receiver_data": _PARTY_1}],
}
_REFERENCE_2 = {
    "resource_id": "r1",
    **_OWN_2,
    "currency": "EUR",
    "name": "Main account",
    "payment_schemes": ["SCT", "SCTI"],
}
_TRANSACTION_2 = {
    "transaction_id": "t1",
    "creditor_name": "Studio 54",
    "creditor_account": _ACCOUNT_2,
    "debtor_name": "Jane Doe",
    "debtor_account": _ACCOUNT_2,
    "remittance_information_unstructured": "Invoice 17",
    "remittance_information_structured": {"reference": "RF18 5390", "reference_type": "SCOR"},
    "transaction_amount": {
        "amount": "12345678901234567890.10",
        "currency": "EUR",
        "value_date": "2026-01-31",
        "booking_date": "2026-01-30",
    },
}
_CONFIRM_1 = {"confirmation_url": "https://bank.example/confirm?id=1&x=ü"}

ANSWERS: dict[int, dict[str, Json]] = {
    1: {
        "/accounts": {"accounts": [_RECORD_1]},
        "/account": {"account": _RECORD_1},
        "/account_balance": {"accounts": [_BALANCE_1]},
        "/account_payments": {"payments": [_PAYMENT_1], "paginator": {"limit": 50, "current_page": 2}},
        "/account_payment": {"payment": _PAYMENT_1},
        "/payment_initiation": {**_CONFIRM_1, "payment_id": "P-single"},
        "/bulk_payment_initiation": {**_CONFIRM_1, "payment_id": "P-bulk"},
        "/direct_payment_initiation": {**_CONFIRM_1, "payment_id": "P-direct"},
        "/funds_confirmations": {"funds_available": True, "currency": "GBP", "balance": Number("12.50")},
    },
    2: {
        "/v2_accounts": {"accounts": [_REFERENCE_2]},
        "/v2_account": {"account": _REFERENCE_2},
        "/v2_account_balances": {
            "balances": [
                {"balance_amount": {"amount": Number("0.10"), "currency": "EUR"}, "balance_type": "interimBooked"}
            ]
        },
        "/v2_account_transactions": {
            "transactions": {"booked": [_TRANSACTION_2], "pending": [_TRANSACTION_2]},
            "page_key": "n-3",
        },
        "/v2_payment_single": {**_PAID_2, "payment_id": "P-single"},
        "/v2_payment_bulk": {**_PAID_2, "payment_id": "P-bulk"},
        "/v2_payment_direct_single": {**_PAID_2, "payment_id": "P-direct"},
        "/v2_payment_single_status": {"transaction_status": "ACSP"},
        "/v2_payment_bulk_status": {"transaction_status": "PART"},
        "/v2_funds_confirmations": {"funds_available": True},
    },
}


_OTHER_NAMES = {"iban": "account_id", "account_id": "iban"}


def with_value(body: Json, member: Member, value: Any) -> Json:
    """Set a member of a request body to ``value``.

    Remove members that would contradict the new value: an alternative account identifier in a query, or the British
    IBAN of an account whose account number or sort code is set.
    """
    body.pop(_OTHER_NAMES.get(member.path, ""), None)
    holder = _holder(body, member)
    if member.name in ("account_number", "sort_code") and holder.get("iban") == IBAN:
        del holder["iban"]
    holder[member.place[-1]] = value
    return body


def without(body: Json, member: Member) -> Json:
    del _holder(body, member)[member.place[-1]]
    return body


def value_of(body: Any, member: Member) -> Any:
    return _holder(body, member)[member.place[-1]]


def _holder(body: Any, member: Member) -> Any:
    for step in member.place[:-1]:
        body = body[step]
    return body


def copied(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: copied(inner) for name, inner in value.items()}
    return [copied(inner) for inner in value] if isinstance(value, list) else value


def spelled(text: str | bytes) -> Any:
    """Parse JSON and preserve how numbers are written. The result distinguishes 0.10 from 0.1, and 1 from "1"."""
    return json.loads(text, parse_float=_written, parse_int=_written)


def _written(text: str) -> tuple[str]:
    return (text,)
