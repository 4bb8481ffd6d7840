"""Tests of transactions: the rows of an account in recording order, and the lookup of transactions by id."""

from typing import Any

import pytest

from chalicelib.cards.ledger.account_record import Account
from chalicelib.cards.ledger.transaction_record import Transaction, put_transaction, timeline, transaction_key
from chalicelib.foundation.dynamodb.store import ConditionFailed
from tests.cards.issuer import EUR, GBP, Issuer
from tests.cards.stored_money import transactions

AT = 1_772_442_000_123


def fee(number: int = 42, **members: Any) -> Transaction:
    least: dict[str, Any] = {"transaction_type": 70, "direction": "debit", "trans_link": "F00000000042"}
    return Transaction(id=number, amount=100, currency=GBP, holder_amount=125, **least | members)


def account(**members: Any) -> Account:
    least: dict[str, Any] = {"manager_id": 3, "access_level": 500, "updated_at": 1, "holder_id": 1, "status": "A"}
    least |= {"currency": EUR, "program_id": 501, "fee_group_id": 301, "risk_group_id": 401}
    return Account(id=7, **least | members)


def test_a_transaction_writes_an_account_row_and_a_lookup_item() -> None:
    row, pointer = put_transaction(fee(card_id=5, parent_id=41, mti=1740), account(), AT, "W1")

    assert (row.item["owner"], row.item["part"]) == ("account#7", f"transaction#{AT}#00000000042")
    assert row.item["holder_amount"] == 125
    assert row.item["holder_currency"] == EUR
    assert row.item["currency"] == GBP
    assert row.item["parent_id"] == 41
    assert row.item["card_id"] == 5
    assert row.item["at"] == AT
    assert "country" not in row.item
    assert pointer.item == {
        "owner": "transaction#42",
        "part": "transaction",
        "manager_id": 3,
        "access_level": 500,
        "account": "account#7",
        "account_id": 7,
        "card_id": 5,
        "part_of_account": row.item["part"],
        "at": AT,
        "holder_amount": 125,
        "transaction_type": 70,
        "mti": 1740,
        "trans_link": "F00000000042",
        "written_by": "W1",
    }


def test_the_base_rate_and_the_holder_rate_are_one_without_a_conversion() -> None:
    row, _ = put_transaction(fee(), account(), AT, "W1")

    assert (row.item["base_rate"], row.item["holder_rate"]) == (1, 1)


def test_a_card_transaction_is_copied_to_both_lists_of_the_card() -> None:
    row, *copies, pointer = put_transaction(fee(card_id=5, authorization_id=17), account(), AT, "W1", by_card=True)

    assert [(copy.item["owner"], copy.item["part"]) for copy in copies] == [
        ("card#5", f"transaction#{AT}#00000000042"),
        ("card#5", f"account#7#transaction#{AT}#00000000042"),
    ]
    for copy in copies:
        assert {**copy.item, "owner": "account#7", "part": row.item["part"]} == row.item
    assert (pointer.item["authorization_id"], pointer.item["card_id"]) == (17, 5)


def test_a_second_transaction_with_the_same_id_is_rejected(issuer: Issuer) -> None:
    issuer.hub.store.transact([*put_transaction(fee(900_000_042), account(), AT, "W1")])

    with pytest.raises(ConditionFailed):
        issuer.hub.store.transact([*put_transaction(fee(900_000_042), account(), AT + 1, "W2")])


def test_transactions_of_an_account_are_in_recording_order(issuer: Issuer) -> None:
    address = issuer.funded_address(10_000)
    issuer.result(issuer.pending_payment(address, 100), "settled")
    issuer.debit(issuer.mandate(address), 100, passed=True)

    found = transactions(issuer, address["account_id"])

    assert [row["transaction_type"] for row in found] == [60, 61, 62]
    times = [row["at"] for row in found]
    assert times == sorted(set(times)), "though the clock stands still"
    assert [row["id"] for row in found] == sorted(row["id"] for row in found)


def test_the_lookup_item_of_a_transaction_references_its_row(issuer: Issuer) -> None:
    address = issuer.address()
    number = issuer.inbound(address, 2500)["transaction_id"]

    pointer = issuer.hub.store.get(*transaction_key(number))

    assert pointer is not None
    [row] = transactions(issuer, address["account_id"])
    assert (pointer["account"], pointer["part_of_account"]) == (row["owner"], row["part"])
    assert pointer["manager_id"] == 1
    assert pointer["access_level"] == 0
    assert pointer["holder_amount"] == 2500


def test_payments_of_a_cards_address_are_listed_under_the_card(issuer: Issuer) -> None:
    card = issuer.card()
    address = issuer.address(card.account_id, 2, card_id=card.card_id)

    issuer.inbound(address, 100)

    [row] = transactions(issuer, card.account_id)
    assert row["card_id"] == card.card_id
    for owner in (None, f"account#{card.account_id}"):
        table, place = timeline(owner, card.card_id).key(row["at"], row["id"])
        assert issuer.hub.store.get(table, place) == row | place
