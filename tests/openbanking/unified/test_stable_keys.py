"""Stable keys: the digest of a transaction's id or content, and its ordinal."""

import copy
import hashlib
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chalicelib.openbanking.unified.stable_keys import stable_key, transaction_digest

ACCOUNT = "4711001"
TRANSACTION: dict[str, Any] = {
    "transaction_id": None,
    "status": "booked",
    "direction": "debit",
    "amount": {"value": "42.90", "currency": "EUR"},
    "date": "2026-01-30",
    "booking_date": "2026-01-30",
    "value_date": "2026-01-31",
    "counterparty": {
        "name": "Café „Kö“",
        "iban": "DE61100999000004711001",
        "bban": "1",
        "sort_code": "040004",
        "account_number": "31926801",
        "bic": "DEMOGB21",
    },
    "remittance": {"unstructured": "Rechnung\u00a017", "reference": "RF18", "reference_type": "SCOR"},
}


def changed(path: str, value: Any) -> dict[str, Any]:
    """Return the transaction with another value of a member."""
    transaction = copy.deepcopy(TRANSACTION)
    *objects, name = path.split(".")
    inside = transaction
    for each in objects:
        inside = inside[each]
    inside[name] = value
    return transaction


def digest_of(text: str) -> bytes:
    return hashlib.sha256(text.encode()).digest()[:16]


def test_digest_of_a_transaction_with_an_id_is_the_documented_one() -> None:
    assert transaction_digest(ACCOUNT, changed("transaction_id", "2026-000123")).hex() == (
        "64055ebf6727aafa8aee39751ca54443"
    )


@given(st.text(st.characters(codec=None)), st.text(st.characters(codec=None), min_size=1))
def test_digest_of_any_text_is_over_its_json(account_id: str, transaction_id: str) -> None:
    array = json.dumps([account_id, transaction_id], ensure_ascii=False, separators=(",", ":"))
    digest = hashlib.sha256(array.encode("utf-8", "surrogatepass")).digest()[:16]

    assert transaction_digest(account_id, changed("transaction_id", transaction_id)) == digest


def test_digest_with_an_id_does_not_depend_on_other_members() -> None:
    other = changed("amount.value", "1") | {"transaction_id": "2026-000123", "status": "pending", "direction": None}

    assert transaction_digest(ACCOUNT, other).hex() == "64055ebf6727aafa8aee39751ca54443"


def test_digest_without_an_id_is_over_the_documented_members() -> None:
    text = (
        '["4711001","booked","2026-01-30","debit","42.9","EUR","Café „Kö“","DE61100999000004711001",'
        '"Rechnung\u00a017","RF18"]'
    )

    assert transaction_digest(ACCOUNT, TRANSACTION) == digest_of(text)


def test_unknown_members_of_the_digest_are_null() -> None:
    transaction = {
        **TRANSACTION,
        "status": "pending",
        "direction": None,
        "date": None,
        "amount": {"value": "0.00", "currency": None},
        "counterparty": dict.fromkeys(TRANSACTION["counterparty"]),
        "remittance": dict.fromkeys(TRANSACTION["remittance"]),
    }

    text = '["4711001","pending",null,null,"0",null,null,null,null,null]'
    assert transaction_digest(ACCOUNT, transaction) == digest_of(text)


def test_account_number_stands_for_a_missing_iban() -> None:
    with_number = transaction_digest(ACCOUNT, changed("counterparty.iban", None))

    assert with_number == digest_of(
        '["4711001","booked","2026-01-30","debit","42.9","EUR","Café „Kö“","31926801","Rechnung\u00a017","RF18"]'
    )


@pytest.mark.parametrize("value", ["42.9", "42.900", "0042.90"])
def test_notations_of_one_amount_have_one_digest(value: str) -> None:
    assert transaction_digest(ACCOUNT, changed("amount.value", value)) == transaction_digest(ACCOUNT, TRANSACTION)


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("status", "pending"),
        ("date", "2026-01-31"),
        ("date", None),
        ("direction", "credit"),
        ("direction", None),
        ("amount.value", "42.91"),
        ("amount.currency", "GBP"),
        ("counterparty.name", "Cafe"),
        ("counterparty.iban", "DE89370400440532013000"),
        ("remittance.unstructured", "Rechnung 17"),
        ("remittance.reference", None),
    ],
)
def test_every_documented_member_changes_the_digest(path: str, value: Any) -> None:
    assert transaction_digest(ACCOUNT, changed(path, value)) != transaction_digest(ACCOUNT, TRANSACTION)


@pytest.mark.parametrize(
    "path",
    [
        *("booking_date", "value_date", "counterparty.bban", "counterparty.sort_code", "counterparty.bic"),
        *("counterparty.account_number", "remittance.reference_type"),
    ],
)
def test_other_members_do_not_change_the_digest(path: str) -> None:
    assert transaction_digest(ACCOUNT, changed(path, "other")) == transaction_digest(ACCOUNT, TRANSACTION)


@pytest.mark.parametrize("transaction_id", [None, "2026-000123"])
def test_digest_depends_on_the_account(transaction_id: str | None) -> None:
    transaction = changed("transaction_id", transaction_id)

    assert transaction_digest("4711002", transaction) != transaction_digest(ACCOUNT, transaction)


def test_stable_key_is_the_digest_with_an_ordinal() -> None:
    assert stable_key(bytes(15) + b"\xff", 12) == "0" * 30 + "ff.12"
