"""Tests of the ledger: each movement sums to zero in each currency, and balances are the sum of the entries."""

from typing import Any

import pytest

from chalicelib.cards.ledger.account_record import Account, SpecialAccount
from chalicelib.cards.ledger.entries import (
    CONVERSION,
    EXTERNAL,
    FEES,
    Entry,
    Movement,
    Unbalanced,
    entries_of,
    imbalance,
)
from chalicelib.cards.ledger.transaction_record import Transaction
from chalicelib.foundation.dynamodb.store import ConditionFailed, Operation, Put
from tests.cards.issuer import EUR, GBP, SEPA, Issuer
from tests.cards.stored_money import entries, movements, prove

AT = 1_772_442_000_123


def account(number: int = 7, **members: Any) -> Account:
    least: dict[str, Any] = {"manager_id": 1, "access_level": 0, "updated_at": 1, "holder_id": 1, "status": "A"}
    least |= {"currency": EUR, "program_id": 501, "fee_group_id": 301, "risk_group_id": 401}
    return Account(id=number, **least | members)


def movement() -> Movement:
    return Movement("test", AT, "W1", epm_transaction_id=5)


def rows(operations: list[Operation]) -> list[dict[str, Any]]:
    return [each.item for each in operations if isinstance(each, Put) and each.item["part"].startswith("movement#")]


def test_every_booking_hold_or_reservation_has_a_counter_entry() -> None:
    mine, made = account(), movement()
    made.book(mine, 1000, EXTERNAL)
    made.hold(mine, 300)
    made.reserve(mine, 200)

    [row] = rows(made.operations())

    assert entries(row) == {
        ("settled", EUR): 1000,
        ("external", EUR): -1000,
        ("held", EUR): 300,
        ("pending", EUR): -300,
        ("reserved", EUR): 200,
        ("disputed", EUR): -200,
    }
    assert row["settled"] == 1000
    assert row["held"] == 300
    assert row["reserved"] == 200
    assert made.account_after(mine).available == 500
    assert (row["owner"], row["part"], row["at"]) == ("account#7", "movement#000000000001", AT)
    assert row["cause"] == "test"
    assert row["movement"] == "W1"
    assert row["epm_transaction_id"] == 5


def test_the_entries_of_a_currency_exchange_add_up_to_zero_in_both_currencies() -> None:
    mine, made = account(), movement()
    made.book(mine, -875, CONVERSION)
    made.exchange(GBP, 700, EXTERNAL)

    [row] = rows(made.operations())

    assert entries(row) == {
        ("settled", EUR): -875,
        ("conversion", EUR): 875,
        ("conversion", GBP): -700,
        ("external", GBP): 700,
    }


def test_entries_with_a_sum_of_zero_are_omitted() -> None:
    mine, made = account(held=300), movement()
    made.hold(mine, 300)
    made.hold(mine, -300)
    made.book(mine, 5, FEES)

    [row] = rows(made.operations())

    assert entries(row) == {("settled", EUR): 5, ("fees", EUR): -5}
    assert row["held"] == 300


def test_an_unbalanced_movement_is_rejected() -> None:
    made = movement()
    made.book(account(), 100, EXTERNAL)
    made.add_entry(FEES, GBP, 1)

    with pytest.raises(Unbalanced, match="test"):
        made.operations()


@pytest.mark.parametrize(
    ("lines", "left"),
    [
        ([], {}),
        ([("a", EUR, 5), ("b", EUR, -5)], {}),
        ([("a", EUR, 5), ("b", EUR, -4)], {EUR: 1}),
        ([("a", EUR, 5), ("b", GBP, -5)], {EUR: 5, GBP: -5}),
    ],
)
def test_an_imbalance_is_computed_per_currency(lines: list[tuple[str, int, int]], left: dict[int, int]) -> None:
    assert imbalance([Entry(*line) for line in lines]) == left
    assert entries_of({"entries": [[*line] for line in lines]}) == [Entry(*line) for line in lines]


def test_each_account_of_a_movement_has_a_row_with_all_entries() -> None:
    payer, payee, made = account(7, settled=900, movements=4), account(8), movement()
    made.book(payer, -500, EXTERNAL)
    made.book(payee, 500, EXTERNAL)

    one, other = rows(made.operations())

    assert one["entries"] == other["entries"] == [["account#7:settled", EUR, -500], ["account#8:settled", EUR, 500]]
    assert (one["owner"], one["part"], one["settled"]) == ("account#7", "movement#000000000005", 400)
    assert (other["owner"], other["part"], other["settled"]) == ("account#8", "movement#000000000001", 500)


def test_a_row_is_dated_after_the_last_row_despite_a_slow_clock() -> None:
    late, made = account(last_at=AT + 5000, updated_at=AT // 1000 + 5), movement()
    made.book(late, 1, EXTERNAL)

    [row] = rows(made.operations())

    assert row["at"] == AT + 5001
    assert made.account_after(late).last_at == AT + 5001
    assert made.account_after(late).updated_at == AT // 1000 + 5


def test_a_special_account_has_its_own_ledger_rows() -> None:
    special = SpecialAccount(id=801, manager_id=3, access_level=0, currency=EUR, updated_at=1)
    made = movement()
    made.book(special, 10, EXTERNAL)

    [row] = rows(made.operations())

    assert row["owner"] == "special_account#3.801"
    assert ["special_account#3.801:settled", EUR, 10] in row["entries"]


def test_only_one_of_two_movements_based_on_the_same_read_is_written(issuer: Issuer) -> None:
    number = issuer.account()
    item = issuer.hub.store.get(*Account.key(number))
    assert item is not None
    made = [Movement("test", AT, attempt) for attempt in ("W1", "W2")]
    for each in made:
        each.book(Account.from_item(item), 100, EXTERNAL)

    issuer.hub.store.transact(made[0].operations())
    with pytest.raises(ConditionFailed):
        issuer.hub.store.transact(made[1].operations())

    assert issuer.balances(number) == (100, 100, 0)
    prove(issuer)


def test_a_movement_is_written_together_with_its_transactions(issuer: Issuer) -> None:
    number = issuer.account()
    item = issuer.hub.store.get(*Account.key(number))
    assert item is not None
    mine, made = Account.from_item(item), Movement("test", AT, "W3")
    made.book(mine, -100, FEES)
    members: dict[str, Any] = {"transaction_type": 70, "direction": "debit", "trans_link": "F1", "currency": EUR}
    made.list_transaction(mine, Transaction(id=77_000_000_001, amount=100, holder_amount=100, **members))

    issuer.hub.store.transact(made.operations())

    found = issuer.hub.store.rows("ledger", ("owner", f"account#{number}"))
    assert [row["part"] for row in found] == ["movement#000000000001", f"transaction#{AT}#77000000001"]


def test_balances_are_the_sum_of_the_rows_after_many_movements(issuer: Issuer) -> None:
    euros, pounds = issuer.funded_address(100_000, EUR), issuer.funded_address(100_000)
    abroad = issuer.address(pounds["account_id"], SEPA)
    for round_number in (1, 2):
        amount = 1000 * round_number + 7
        settled, rejected, returned = (issuer.pending_payment(abroad, amount) for _ in range(3))
        issuer.result(settled, "settled")
        issuer.result(rejected, "rejected")
        issuer.result(returned, "settled")
        issuer.result(returned, "returned")
        issuer.pending_payment(abroad, amount, destination_iban=euros["iban"])
        issuer.pending_payment(euros, amount, destination_iban=abroad["iban"])
        issuer.transfer(euros, amount, destination_account_name="Refuse Ltd")
        issuer.debit(issuer.mandate(pounds), amount, passed=True)
        came = issuer.inbound(abroad, amount)["epm_transaction_id"]
        issuer.data("inboundReturn", epm_transaction_id=came, reason=1)
        fee = {"fee_group_id": 301, "fee_code": "CARDREPL", "description": "Fee"}
        issuer.data("createCustomFee", account_id=pounds["account_id"], **fee)
        issuer.clock.advance(3600)

    prove(issuer)
    for address in (euros, pounds):
        available, settled, _ = issuer.balances(address["account_id"])
        [*_, last] = movements(issuer, address["account_id"])
        assert last["settled"] == settled
        assert last["held"] == settled - available
        assert available == settled - last["held"]
