"""The ledger: the balance is the sum of the entries, this month, the next, and a year later."""

from __future__ import annotations

from chalicelib.demo_bank import ledger
from chalicelib.demo_bank.banks import get_bank
from tests.demo_bank.paying import OTHER, PAID, account, balances, history, pay, sums, token
from tests.demo_bank.stage import Stage


def test_a_payment_is_refunded_in_the_next_month_and_the_entries_sum_to_the_balance(stage: Stage) -> None:
    untouched, given = token(stage, OTHER[stage.profile.name]), token(stage)
    stage.clock.advance(31 * 86400)
    before = balances(stage, given)
    stage.clock.advance(-31 * 86400)
    pay(stage, given)
    stage.clock.advance(31 * 86400)
    assert balances(stage, given) == before == sums(stage, given)
    other = account(stage, OTHER[stage.profile.name])
    assert balances(stage, untouched, other) == sums(stage, untouched, other)
    pay(stage, given)
    assert balances(stage, given) == (before[0] - PAID, before[1] - PAID) == sums(stage, given)


def test_a_statement_drops_payments_older_than_a_year_and_stays_balanced(stage: Stage) -> None:
    payment_id = pay(stage)["payment_id"]
    for days, is_listed in ((150, True), (150, True), (110, False)):
        stage.clock.advance(days * 86400)
        given = token(stage)
        assert (payment_id in [row[0] for row in history(stage, given)]) == is_listed
        assert balances(stage, given) == sums(stage, given)


def test_entries_of_earlier_years_are_not_read(stage: Stage) -> None:
    at = get_bank(stage.profile.name, stage)
    pay(stage)
    assert len(ledger.read_entries(at, account(stage))) == 1
    stage.clock.advance(410 * 86400)
    assert ledger.read_entries(at, account(stage)) == []
