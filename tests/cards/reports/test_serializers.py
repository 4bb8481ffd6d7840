"""Tests of report records: present members are returned, and missing members are omitted."""

from collections.abc import Mapping
from decimal import Decimal
from typing import Any

import pytest

from chalicelib.cards.protocol.values import RISK_ACTIONS, SECURITY_CHECKS
from chalicelib.cards.reports import serializers
from tests.cards.issuer import EUR, GBP, GERMANY, USD
from tests.cards.reports.rows import (
    AT,
    COUNTERPARTY,
    FEES_APART,
    LEAST_MESSAGE,
    LEAST_TRANSACTION,
    NETWORK,
    WHOLE_MESSAGE,
    WHOLE_TRANSACTION,
    Row,
)
from tests.cards.specification import TABLES

ACTIVITY, AUTHORIZE, TRANSACTION, ADDENDUM = (
    TABLES[action].answer
    for action in ("getCardsActivity", "getFinancialAuthorizes", "getTransactions", "getFinancialDetailAddendums")
)
SHOWN: Row = (
    NETWORK
    | COUNTERPARTY
    | {
        "transaction_id": 11,
        "mti": 1240,
        "account_id": 22,
        "proc_code": 0,
        "trans_link": "000000000033",
        "transaction_type": 0,
        "entry_mode_type": 5,
        "base_conversion_rate": Decimal("0.92"),
        "holder_conversion_rate": Decimal("0.9476"),
        "is_conversion_fee_blended": 1,
        "risk_actions": [dict.fromkeys(RISK_ACTIONS, 0) | {"mark_transaction_as_suspicious": 1}],
        "security_checks": [dict.fromkeys(SECURITY_CHECKS, 0) | {"chip_data": 1}],
        "description": "Groceries",
        "card_id": 44,
        "transaction_amount": 1000,
        "transaction_currency_ison": USD,
        "reconciliation_amount": 1000,
        "reconciliation_currency_ison": USD,
        "holder_billing_amount": 920,
        "holder_billing_currency_ison": EUR,
        "holder_amount": 1008,
        "holder_currency_ison": EUR,
        "parent_transaction_id": 10,
        "transaction_log_id": 33,
        "reason_code": 12,
        "function_code": 200,
        "settlement_date": 260302,
        "reconciliation_date": 260302,
        "currency_convertion_fee": 28,
        "currency_conversion_fee": 28,
        "transaction_fee": 60,
        "merchant": "Corner Shop London GBR",
        "merchant_country": "GBR",
        "reference_number": "INVOICE 7",
        "epm_transaction_id": 66,
        "epm_mandate_id": 77,
    }
)
BOOKED = (
    *("transaction_amount", "transaction_currency_ison", "reconciliation_amount", "reconciliation_currency_ison"),
    *("holder_billing_amount", "holder_billing_currency_ison", "holder_amount", "holder_currency_ison"),
    *("settlement_date", "reconciliation_date"),
)
"""Members that every transaction has, although the specification marks these members as conditional."""


def mandatory(table: Mapping[str, Any]) -> set[str]:
    return {name for name, member in table.items() if member.mandatory}


def as_written(row: Row) -> Row:
    flags = {name: [row[name]] for name in ("risk_actions", "security_checks")}
    rates = {name: Decimal(value) for name, value in row.items() if name.endswith("_rate")}
    return row | flags | rates


@pytest.mark.parametrize("name", ACTIVITY)
def test_card_activity_returns_each_present_message_member_and_omits_missing_members(name: str) -> None:
    common = {"authorize_id": 5, "card_id": 44}
    whole, least = (dict(serializers.activity(row | common)) for row in (WHOLE_MESSAGE, LEAST_MESSAGE))

    assert whole[name] == as_written(WHOLE_MESSAGE | common)[name]
    assert (name in least) is (name in mandatory(ACTIVITY))


@pytest.mark.parametrize("name", AUTHORIZE)
def test_a_financial_authorize_returns_each_present_member_and_omits_missing_members(name: str) -> None:
    common = {"authorize_id": 5, "card_id": 44}
    row = WHOLE_MESSAGE | common | FEES_APART
    expected = as_written(row) | {"currency_convertion_fee": 28}
    least = serializers.financial_authorize(LEAST_MESSAGE | common)

    assert dict(serializers.financial_authorize(row))[name] == expected[name]
    assert (name in least) is (name in mandatory(AUTHORIZE) | {"card_present"})


@pytest.mark.parametrize("name", TRANSACTION)
def test_a_transaction_returns_network_and_ledger_members_and_omits_missing_members(name: str) -> None:
    least = serializers.transaction(LEAST_TRANSACTION)

    assert dict(serializers.transaction(WHOLE_TRANSACTION))[name] == SHOWN[name]
    assert (name in least) is (name in mandatory(TRANSACTION) | {*BOOKED})


@pytest.mark.parametrize(
    ("record", "table"),
    [
        (serializers.activity(WHOLE_MESSAGE | {"authorize_id": 5, "card_id": 44}), ACTIVITY),
        (serializers.financial_authorize(WHOLE_MESSAGE | {"authorize_id": 5, "card_id": 44} | FEES_APART), AUTHORIZE),
        (serializers.transaction(WHOLE_TRANSACTION), TRANSACTION),
    ],
    ids=["activity", "authorize", "transaction"],
)
def test_the_members_of_a_record_are_in_the_order_of_the_specified_table(record: Row, table: Mapping[str, Any]) -> None:
    assert list(record) == list(table)


# -- messages


def test_a_financial_authorize_shows_a_conversion_fee_only_if_unblended() -> None:
    both = {"currency_conversion_fee", "currency_convertion_fee"}
    rows = {
        "apart": LEAST_MESSAGE | {"is_conversion_fee_blended": 0},
        "blended": LEAST_MESSAGE,
        "none": LEAST_MESSAGE | {"is_conversion_fee_blended": 0, "currency_conversion_fee": 0},
    }

    assert {name: both & serializers.financial_authorize(row).keys() for name, row in rows.items()} == {
        "apart": both,
        "blended": set(),
        "none": set(),
    }


def test_the_transaction_fee_of_a_financial_authorization_is_the_blended_fee_only() -> None:
    rows = {
        "blended": LEAST_MESSAGE | {"transaction_fee": 60, "blended_fee": 60},
        "apart": LEAST_MESSAGE | {"transaction_fee": 60},
        "of both kinds": LEAST_MESSAGE | {"transaction_fee": 100, "blended_fee": 60},
        "none": LEAST_MESSAGE,
    }

    assert {name: serializers.financial_authorize(row).get("transaction_fee") for name, row in rows.items()} == {
        "blended": 60,
        "apart": None,
        "of both kinds": 60,
        "none": None,
    }


def test_zeros_and_flags_that_are_omitted_in_a_stored_row_are_returned() -> None:
    zeros = ("reversal", "suspicious", "transaction_fee", "transaction_fee_amount", "blended_fee")
    row = {name: value for name, value in LEAST_MESSAGE.items() if name not in zeros}
    row |= {"risk_actions": {}, "security_checks": {"chip_data": 1}}

    assert serializers.activity(row) == serializers.activity(LEAST_MESSAGE)
    assert serializers.financial_authorize(row) == serializers.financial_authorize(LEAST_MESSAGE)
    assert serializers.activity(row)["reversal"] == serializers.activity(row)["transaction_fee"] == 0


def test_records_omit_internal_members() -> None:
    kept = {"written_by": "x", "owner": "card#1", "part": "activity#1", "manager_id": 1, "access_level": 0, "at": AT}

    assert serializers.activity(LEAST_MESSAGE | kept).keys() <= ACTIVITY.keys()
    assert serializers.financial_authorize(LEAST_MESSAGE | kept).keys() <= AUTHORIZE.keys()
    assert serializers.transaction(LEAST_TRANSACTION | kept).keys() <= TRANSACTION.keys()


# -- transactions


@pytest.mark.parametrize(
    ("transaction_type", "mti"),
    [(0, 1240), (1, 1240), (20, 1240), (60, 1200), (61, 1200), (62, 1200), (63, 1200), (64, 1200), (70, 1740)],
)
def test_a_row_without_an_mti_shows_the_mti_of_its_transaction_type(transaction_type: int, mti: int) -> None:
    row = {name: value for name, value in LEAST_TRANSACTION.items() if name != "mti"} | {
        "transaction_type": transaction_type,
        "direction": "credit" if transaction_type == 63 else "debit",
    }

    record = serializers.transaction(row)

    assert (record["mti"], record["proc_code"]) == (mti, transaction_type * 10_000)


@pytest.mark.parametrize("transaction_type", [0, 60, 61, 62, 63, 64, 70])
def test_an_external_payment_without_a_card_shows_a_null_card_id(transaction_type: int) -> None:
    record = serializers.transaction(LEAST_TRANSACTION | {"transaction_type": transaction_type})

    assert ("card_id" in record) is (transaction_type in (60, 61, 62, 63, 64))
    assert record.get("card_id") is None


@pytest.mark.parametrize(
    ("transaction_type", "direction", "billed"),
    [(0, "debit", 1000), (20, "credit", 1176), (60, "credit", 1176), (63, "credit", 1000), (64, "debit", 1176)],
)
def test_the_billed_amount_excludes_the_fees_of_debits_and_credits(
    transaction_type: int, direction: str, billed: int
) -> None:
    """Fees are included in the amount of a debit and deducted from the amount of a credit. A return equals its
    original.
    """
    fees = {"holder_amount": 1088, "fee": 60, "conversion_fee": 28, "conversion_fee_blended": True}

    record = serializers.transaction(
        LEAST_TRANSACTION | fees | {"transaction_type": transaction_type, "direction": direction}
    )

    assert record["holder_billing_amount"] == billed


def test_an_unblended_conversion_fee_is_not_part_of_the_holder_amount() -> None:
    record = serializers.transaction(LEAST_TRANSACTION | {"conversion_fee": 28})

    assert (record["holder_billing_amount"], record["currency_convertion_fee"]) == (1000, 28)
    assert record["is_conversion_fee_blended"] == 0


def test_a_fee_has_no_reconciliation_members() -> None:
    record = serializers.transaction(LEAST_TRANSACTION | {"transaction_type": 70, "mti": 1740})

    assert not any(name.startswith("reconciliation_") for name in record)
    assert record["settlement_date"] == 260302


def test_a_return_shows_the_whole_original_amount() -> None:
    record = serializers.transaction(LEAST_TRANSACTION | {"transaction_type": 63, "mti": 1200, "currency": GBP})

    assert (record["transaction_original_amount"], record["reconciliation_original_amount"]) == (1000, 1000)


@pytest.mark.parametrize(("mti", "country"), [(1240, "DEU"), (1442, "DEU"), (1200, None), (1740, None)])
def test_only_a_card_transaction_shows_the_merchant_country(mti: int, country: str | None) -> None:
    record = serializers.transaction(LEAST_TRANSACTION | {"mti": mti, "country": GERMANY})

    assert record.get("merchant_country") == country


def test_ledger_members_take_precedence_over_network_members() -> None:
    record = serializers.transaction(
        LEAST_TRANSACTION | {"network": {"settlement_date": 260101, "transaction_type": 1}}
    )

    assert (record["settlement_date"], record["transaction_type"]) == (260302, 0)


# -- addendums


def test_an_addendum_shows_its_data_unchanged() -> None:
    row = {"id": 1, "transaction_id": 2, "addendum_type": "lodging", "at": AT, "data": '{"b":[1,0.10],"a":{"c":null}}'}

    record = serializers.addendum(row)

    assert list(record) == list(ADDENDUM)
    assert record["date_imported"] == AT // 1000
    assert str(record["data"]["b"][1]) == "0.10"
