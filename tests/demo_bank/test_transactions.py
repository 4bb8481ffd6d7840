"""The generated transactions of an account in one year."""

from datetime import date, timedelta

import pytest

from chalicelib.demo_bank.customers import CUSTOMERS, CustomerAccount
from chalicelib.demo_bank.transactions import PENDING_DAYS, generate_statement

TODAY = date(2026, 3, 2)
ACCOUNTS = [
    account for bank in ("one", "two") for customer in CUSTOMERS[bank].values() for account in customer.accounts
]
each_account = pytest.mark.parametrize("account", ACCOUNTS, ids=lambda account: account.number)


@each_account
def test_an_account_has_a_year_of_transactions_in_order(account: CustomerAccount) -> None:
    booked = generate_statement(account, TODAY).booked
    assert booked[0].booked_on == date(2025, 3, 1)
    assert [entry.booked_on for entry in booked] == sorted(entry.booked_on for entry in booked)
    assert all(entry.booked_on <= TODAY for entry in booked)
    assert len({(entry.booked_on.year, entry.booked_on.month) for entry in booked}) >= 12


@each_account
def test_transaction_amounts_are_integers_that_add_up_to_the_balance(account: CustomerAccount) -> None:
    found = generate_statement(account, TODAY)
    assert all(type(entry.amount) is int and entry.amount for entry in found.booked)
    assert found.balance == sum(entry.amount for entry in found.booked)
    assert found.available == found.balance + sum(entry.amount for entry in found.pending)


@each_account
def test_transaction_ids_are_unique_and_at_most_20_characters_long(account: CustomerAccount) -> None:
    ids = [entry.transaction_id for entry in generate_statement(account, TODAY).booked]
    assert len(set(ids)) == len(ids)
    assert all(len(transaction_id) <= 20 for transaction_id in ids)


@each_account
def test_the_balance_changes_each_day_by_the_sum_of_the_bookings_of_that_day(account: CustomerAccount) -> None:
    yesterday = generate_statement(account, TODAY)
    for days in range(1, 75):
        today = TODAY + timedelta(days=days)
        current = generate_statement(account, today)
        booked = sum(entry.amount for entry in current.booked if entry.booked_on == today)
        assert current.balance == yesterday.balance + booked
        yesterday = current


@each_account
def test_a_booked_transaction_does_not_change_later(account: CustomerAccount) -> None:
    later = {entry.transaction_id: entry for entry in generate_statement(account, TODAY + timedelta(days=40)).booked}
    earlier = [entry for entry in generate_statement(account, TODAY).booked if entry.booked_on >= date(2025, 6, 1)]
    assert all(later[entry.transaction_id] == entry for entry in earlier)


def test_a_pending_transaction_is_booked_within_a_few_days() -> None:
    seen = 0
    for account in ACCOUNTS:
        for days in range(0, 40, 3):
            today = TODAY + timedelta(days=days)
            pending = generate_statement(account, today).pending
            booked = generate_statement(account, today + timedelta(days=PENDING_DAYS)).booked
            assert set(pending) <= set(booked)
            assert not set(pending) & set(generate_statement(account, today).booked)
            seen += len(pending)
    assert seen


def test_only_card_accounts_have_a_negative_balance() -> None:
    for account in ACCOUNTS:
        balance = 0
        for entry in generate_statement(account, TODAY).booked:
            balance += entry.amount
            assert (balance <= 0) if account.kind == "card" else (balance >= 0)


def test_generated_statements_are_equal_on_every_machine() -> None:
    ada = CUSTOMERS["one"]["ada"].accounts[0]
    lena = CUSTOMERS["two"]["lena"].accounts[1]
    assert (generate_statement(ada, TODAY).balance, len(generate_statement(ada, TODAY).booked)) == (3_354_63, 291)
    assert (generate_statement(lena, TODAY).balance, len(generate_statement(lena, TODAY).booked)) == (18_790_27, 111)
