"""Tests of unified bodies of payments and funds: what is wrong at every bank, and what counts as absent."""

from __future__ import annotations

from typing import Any

import pytest

from chalicelib.foundation.fields.problems import InvalidMessage
from chalicelib.foundation.jsontext import Number
from chalicelib.openbanking.protocol.payment_enumerations import Kind
from chalicelib.openbanking.unified.payment_messages import BODIES, FundsRequest
from tests.openbanking.unified.bodies import (
    BRITISH_IBAN,
    KINDS,
    RECEIVER,
    Json,
    funds_body,
    member,
    payment_body,
    set_member,
    unified_place,
)

EVERY_KIND = pytest.mark.parametrize("kind", KINDS)
OTHER_BRITISH = {"iban": BRITISH_IBAN, "account_number": "55555556", "sort_code": "202015"}
NO_ACCOUNT = "must have iban, bban, or account_number with sort_code"
NOT_ITS_IBAN = "iban is not the account of account_number and sort_code"
LOCATED = {"creditor.address.country": "DE"}
BANK = {"creditor.bank.name": "Nordea", "creditor.bank.country": "FI"}
AMOUNT = "must be an amount: digits with an optional decimal point"
WRONG: list[tuple[str, Any, str, str, Json]] = [
    ("creditor", None, "creditor", "is required", {}),
    ("creditor", [], "creditor", "must be an object", {}),
    ("creditor.name", None, "creditor.name", "is required", {}),
    ("creditor.name", 5, "creditor.name", "must be a string", {}),
    ("creditor.name", "x" * 71, "creditor.name", "must have at most 70 characters", {}),
    ("creditor.iban", None, "creditor", NO_ACCOUNT, {}),
    ("creditor.iban", "DE89370400440532013001", "creditor.iban", "is not a valid IBAN", {}),
    ("creditor.sort_code", "040004", "creditor", NO_ACCOUNT, {"creditor.iban": None}),
    ("creditor.account_number", "31926801", "creditor", NO_ACCOUNT, {"creditor.iban": None}),
    ("creditor.sort_code", "0400041", "creditor.sort_code", "must have at most 6 characters", {}),
    ("creditor.account_number", "1" * 35, "creditor.account_number", "must have at most 34 digits", {}),
    ("creditor.account_number", "12-34", "creditor.account_number", "must be digits only", {}),
    ("creditor.bban", "1" * 31, "creditor.bban", "must have at most 30 characters", {}),
    ("creditor", {"name": "Ada", **OTHER_BRITISH}, "creditor", NOT_ITS_IBAN, {}),
    ("creditor.address", {}, "creditor.address.country", "is required", {}),
    ("creditor.address.country", "DEU", "creditor.address.country", "must have at most 2 characters", {}),
    ("creditor.address.street_name", "x" * 71, "creditor.address.street_name", "must have at most 70", LOCATED),
    ("creditor.address.building_number", "x" * 36, "creditor.address.building_number", "at most 35", LOCATED),
    ("creditor.address.town_name", "x" * 141, "creditor.address.town_name", "must have at most 140", LOCATED),
    ("creditor.address.postal_code", "x" * 36, "creditor.address.postal_code", "must have at most 35", LOCATED),
    ("creditor.bank", {"country": "FI"}, "creditor.bank.name", "is required", {}),
    ("creditor.bank", {"name": "Nordea"}, "creditor.bank.country", "is required", {}),
    ("creditor.bank.name", "x" * 141, "creditor.bank.name", "must have at most 140 characters", BANK),
    ("creditor.bank.bic", "x" * 12, "creditor.bank.bic", "must have at most 11 characters", BANK),
    ("creditor.nickname", "Ada", "creditor.nickname", "is not recognised", {}),
    ("creditor.nickname", None, "creditor.nickname", "is not recognised", {}),
    ("amount", None, "amount", "is required", {}),
    ("amount.value", None, "amount.value", "is required", {}),
    ("amount.currency", None, "amount.currency", "is required", {}),
    ("amount.value", Number("12.50"), "amount.value", "must be a string", {}),
    ("amount.value", 12, "amount.value", "must be a string", {}),
    ("amount.value", "12,50", "amount.value", AMOUNT, {}),
    ("amount.value", "1e2", "amount.value", AMOUNT, {}),
    ("amount.value", "+1", "amount.value", AMOUNT, {}),
    ("amount.value", "-1", "amount.value", AMOUNT, {}),
    ("amount.value", ".5", "amount.value", AMOUNT, {}),
    ("amount.value", "5.", "amount.value", AMOUNT, {}),
    ("amount.value", "\u0661", "amount.value", AMOUNT, {}),
    ("amount.value", "0.00", "amount.value", "must be greater than zero", {}),
    ("amount.value", "1" * 71, "amount.value", "must have at most 70 digits", {}),
    ("amount.value", "12.345", "amount", "value must have at most 2 decimal places in this currency", {}),
    ("amount.currency", "JPY", "amount", "value must have at most 0 decimal places in this currency", {}),
    ("amount.currency", "XXX", "amount.currency", "is not a currency code (ISO 4217)", {}),
    ("remittance.unstructured", "x" * 141, "remittance.unstructured", "must have at most 140 characters", {}),
    ("remittance.reference", "x" * 36, "remittance.reference", "must have at most 35 characters", {}),
    ("remittance.reference_type", "SCOR", "remittance", "reference is required with reference_type", {}),
    ("remittance.reference_type", "S1", "remittance.reference_type", "must be letters only", {}),
]
"""Faults of each payment: member and value, the named member and the reason, and further changes."""
WRONG_ORDERS: list[tuple[str, Any, str, str, Json]] = [
    ("debtor", {}, "debtor", "must have at least one member", {}),
    ("debtor", {"iban": None, "name": None}, "debtor", "must have at least one member", {}),
    ("debtor", {"sort_code": "202015"}, "debtor", NO_ACCOUNT, {}),
    ("debtor", {"name": "Lena", "account_number": "55555555"}, "debtor", NO_ACCOUNT, {}),
    ("debtor", OTHER_BRITISH, "debtor", NOT_ITS_IBAN, {}),
    ("debtor", {"name": "x" * 71}, "debtor.name", "must have at most 70 characters", {}),
    ("debtor", {"bban": "1" * 31}, "debtor.bban", "must have at most 30 characters", {}),
    ("scheme", "x" * 36, "scheme", "must have at most 35 characters", {}),
    ("callback_url", None, "callback_url", "is required", {}),
    ("callback_url", "ftp://tpp.example.com", "callback_url", "must be an http or https URL", {}),
    ("payment_scheme", "SCT", "payment_scheme", "is not recognised", {}),
]
TWO = [
    {"creditor": {"name": "Ada", "iban": RECEIVER}, "amount": {"value": "1", "currency": currency}}
    for currency in ("EUR", "GBP")
]
WRONG_BULKS: list[tuple[str, Any, str, str]] = [
    ("payments", None, "payments", "is required"),
    ("payments", [], "payments", "must have at least 1 entry"),
    ("payments", [TWO[0]] * 1001, "payments", "must have at most 1000 entries"),
    ("payments", [None], "payments.0", "must be an object"),
    ("payments", TWO, "", "all payments must be in one currency"),
    ("total", {"value": "12.31", "currency": "EUR"}, "", "total must contain the currency and the exact sum"),
    ("total", {"value": "12.30", "currency": "GBP"}, "", "total must contain the currency and the exact sum"),
    ("total", {"value": 12, "currency": "EUR"}, "total.value", "must be a string"),
]


def only_problem(kind: Kind, body: Json) -> tuple[str, str]:
    with pytest.raises(InvalidMessage) as caught:
        BODIES[kind].read(body)

    (problem,) = caught.value.problems
    return problem.field, problem.reason


def changed(kind: Kind, path: str, value: Any, changes: Json) -> Json:
    """Return a body with a member that is ``None`` if ``value`` is."""
    body = payment_body(kind, changes)
    place = unified_place(kind, path)
    set_member(body, place, value or "")
    holder = member(body, place.rpartition(".")[0]) if "." in place else body
    holder[place.rpartition(".")[2]] = value
    return body


@EVERY_KIND
@pytest.mark.parametrize(("path", "value", "named", "reason", "changes"), WRONG)
def test_a_fault_of_a_payment_at_every_bank_is_refused(
    kind: Kind, path: str, value: Any, named: str, reason: str, changes: Json
) -> None:
    found, text = only_problem(kind, changed(kind, path, value, changes))

    assert (found, reason in text) == (unified_place(kind, named), True), text


@EVERY_KIND
@pytest.mark.parametrize(("path", "value", "named", "reason", "changes"), WRONG_ORDERS)
def test_a_fault_of_an_order_at_every_bank_is_refused(
    kind: Kind, path: str, value: Any, named: str, reason: str, changes: Json
) -> None:
    found, text = only_problem(kind, changed(kind, path, value, changes))

    assert (found, reason in text) == (named, True), text


@pytest.mark.parametrize(("path", "value", "named", "reason"), WRONG_BULKS)
def test_a_fault_of_a_bulk_payment_at_every_bank_is_refused(path: str, value: Any, named: str, reason: str) -> None:
    found, text = only_problem("bulk", changed("bulk", path, value, {}))

    assert (found, reason in text) == (named, True), text


@EVERY_KIND
@pytest.mark.parametrize(
    "path",
    [
        "debtor",
        "scheme",
        "remittance",
        "creditor.bban",
        "creditor.sort_code",
        "creditor.account_number",
        "creditor.address",
        "creditor.bank",
    ],
)
def test_a_member_that_is_null_counts_as_absent(kind: Kind, path: str) -> None:
    with_null, without = changed(kind, path, None, {}), payment_body(kind, {path: None})

    assert BODIES[kind].read(with_null).members() == BODIES[kind].read(without).members()


@pytest.mark.parametrize("path", ["debtor.name", "remittance.reference", "creditor.address.town_name", "total"])
def test_a_null_member_inside_an_object_counts_as_absent(path: str) -> None:
    kept = {"remittance.unstructured": "Invoice 17", "creditor.address.country": "DE"}

    message = BODIES["bulk"].read(changed("bulk", path, None, kept))

    assert message.members() == BODIES["bulk"].read(payment_body("bulk", kept)).members()


@pytest.mark.parametrize("total", [None, "12.3", "12.3000"])
def test_a_total_is_replaced_by_the_sum(total: str | None) -> None:
    changes = {} if total is None else {"total": {"value": total, "currency": "EUR"}}

    message = BODIES["bulk"].read(payment_body("bulk", changes))

    assert message.members()["total"] == {"value": "12.30", "currency": "EUR"}


@EVERY_KIND
@pytest.mark.parametrize(("value", "currency"), [("100.00", "JPY"), ("1.2340", "KWD"), ("0.010", "EUR")])
def test_trailing_zeros_of_an_amount_do_not_count_as_decimals(kind: Kind, value: str, currency: str) -> None:
    body = payment_body(kind, {"amount.value": value, "amount.currency": currency})

    members = BODIES[kind].read(body).members()

    assert member(members, unified_place(kind, "amount.value")) == value


@pytest.mark.parametrize(
    ("number", "expected"), [(31926801, "31926801"), (1926801, "01926801"), ("1926801", "1926801")]
)
def test_an_account_number_that_is_a_json_number_regains_its_zeros(number: Any, expected: str) -> None:
    body = payment_body("single", {"creditor.sort_code": 40004, "creditor.account_number": number})

    creditor = BODIES["single"].read(body).members()["creditor"]

    assert (creditor["sort_code"], creditor["account_number"]) == ("040004", expected)


def test_all_faults_of_a_body_are_reported() -> None:
    body = payment_body("single", {"amount.value": "0", "creditor.name": None, "callback_url": 5, "iban": "x"})

    with pytest.raises(InvalidMessage) as caught:
        BODIES["single"].read(body)

    fields = sorted(problem.field for problem in caught.value.problems)
    assert fields == ["amount.value", "callback_url", "creditor.name", "iban"]


# -- funds


@pytest.mark.parametrize(
    ("path", "value", "named", "reason"),
    [
        ("account", {}, "account", "must have account_id, iban, bban, or account_number with sort_code"),
        ("account", {"iban": None}, "account", "must have account_id, iban, bban, or account_number with sort_code"),
        ("account", {"sort_code": "202015"}, "account", "must have account_id"),
        ("account", OTHER_BRITISH, "account", NOT_ITS_IBAN),
        ("account", {**OTHER_BRITISH, "account_number": "5555-5556"}, "account", NOT_ITS_IBAN),
        ("account", {"iban": BRITISH_IBAN, "sort_code": "20-20-16"}, "account", NOT_ITS_IBAN),
        ("account", {"iban": RECEIVER, "bban": 7}, "account.bban", "must be a string"),
        ("account", {"iban": RECEIVER, "sort_code": 1.5}, "account.sort_code", "must be a string or a whole number"),
        ("account", {"iban": RECEIVER, "account_number": ["1"]}, "account.account_number", "must be a string or a"),
        ("account", {"bban": "1" * 31}, "account", "in a form banks take"),
        ("account", {"sort_code": "202015", "account_number": "123456789"}, "account", "in a form banks take"),
        ("account", {"sort_code": "BLZ 20", "account_number": "55555555"}, "account", "in a form banks take"),
        ("account", {"account_id": "x" * 256}, "account.account_id", "must have at most 255 characters"),
        ("account", {"account_id": "4711", "name": "x"}, "account.name", "is not recognised"),
        ("amount", {"value": 12, "currency": "EUR"}, "amount.value", "must be a string"),
        ("amount", {"value": "12.345", "currency": "EUR"}, "amount", "value must have at most 2 decimal places"),
        ("instructed_amount", {}, "instructed_amount", "is not recognised"),
    ],
)
def test_a_fault_of_funds_at_every_bank_is_refused(path: str, value: Any, named: str, reason: str) -> None:
    with pytest.raises(InvalidMessage) as caught:
        FundsRequest.read(funds_body({path: value}))

    (problem,) = caught.value.problems
    assert (problem.field, reason in problem.reason) == (named, True), problem
