"""Tests of the ledger: the balance equals the sum of the entries in this month, in the next month, and a year later."""

from chalicelib.demo_bank import ledger
from chalicelib.demo_bank.banks import get_bank
from tests.demo_bank.single_bank import OTHER, PAID, SingleBank


def test_a_payment_is_refunded_in_the_next_month_and_the_entries_add_up_to_the_balance(bank: SingleBank) -> None:
    untouched, given = bank.token(OTHER[bank.profile.name]), bank.token()
    bank.clock.advance(31 * 86400)
    before = bank.balances(given)
    bank.clock.advance(-31 * 86400)
    bank.pay(given)
    bank.clock.advance(31 * 86400)
    assert bank.balances(given) == before == bank.sums(given)
    other = bank.account(OTHER[bank.profile.name])
    assert bank.balances(untouched, other) == bank.sums(untouched, other)
    bank.pay(given)
    assert bank.balances(given) == (before[0] - PAID, before[1] - PAID) == bank.sums(given)


def test_a_statement_omits_payments_older_than_a_year_and_adds_up_to_the_balance(bank: SingleBank) -> None:
    payment_id = bank.pay()["payment_id"]
    for days, is_listed in ((150, True), (150, True), (110, False)):
        bank.clock.advance(days * 86400)
        given = bank.token()
        assert (payment_id in [row[0] for row in bank.history(given)]) == is_listed
        assert bank.balances(given) == bank.sums(given)


def test_ledger_entries_of_earlier_years_are_not_read(bank: SingleBank) -> None:
    at = get_bank(bank.profile.name, bank)
    bank.pay()
    assert len(ledger.read_entries(at, bank.account())) == 1
    bank.clock.advance(410 * 86400)
    assert ledger.read_entries(at, bank.account()) == []
