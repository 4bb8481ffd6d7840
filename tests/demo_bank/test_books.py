"""Account books: the booking rules generate the same transactions on every machine and at all times."""

from datetime import date
from typing import Any

import pytest

from chalicelib.demo_bank.books import (
    AccountBook,
    BookEntry,
    ListedTransaction,
    Particulars,
    TransactionRule,
    dump_book,
    parse_book,
)

SAID = Particulars("Gulf Software", "Salary")
START = date(2026, 1, 1)


def rule(every: Any, on: int = 0, starts_on: date = START, **members: Any) -> TransactionRule:
    made = {"ends_on": None, "lowest": 100, "highest": 100, "particulars": SAID} | members
    return TransactionRule(every, on, starts_on, **made)


def days(made: TransactionRule, last: date) -> list[str]:
    return [f"{day:%m-%d}" for day in made.days(last)]


def test_a_rule_for_day_31_books_on_the_last_day_of_a_shorter_month() -> None:
    assert days(rule("month", 31), date(2026, 6, 30)) == ["01-31", "02-28", "03-31", "04-30", "05-31", "06-30"]


def test_a_monthly_rule_books_on_29_february_only_in_leap_years() -> None:
    assert days(rule("month", 31, date(2028, 2, 1)), date(2028, 3, 31)) == ["02-29", "03-31"]
    assert days(rule("month", 29, date(2027, 2, 1)), date(2027, 3, 31)) == ["02-28", "03-29"]
    assert days(rule("month", 29, date(2100, 2, 1)), date(2100, 3, 31)) == ["02-28", "03-29"]  # not a leap year


def test_a_monthly_rule_begins_in_the_next_month_if_its_day_of_the_month_has_passed() -> None:
    assert days(rule("month", 5, date(2026, 1, 6)), date(2026, 3, 4)) == ["02-05"]
    assert days(rule("month", 5, date(2025, 12, 6)), date(2026, 1, 5)) == ["01-05"]
    assert days(rule("month", 6, date(2026, 1, 6)), date(2026, 1, 31)) == ["01-06"]
    assert days(rule("month", 31, date(2026, 2, 28)), date(2026, 3, 1)) == ["02-28"]


def test_a_weekly_rule_books_on_the_configured_weekday() -> None:
    assert START.weekday() == 3
    assert days(rule("week", 3), date(2026, 1, 15)) == ["01-01", "01-08", "01-15"]
    assert days(rule("week", 2), date(2026, 1, 15)) == ["01-07", "01-14"]
    assert days(rule("week", 4), date(2026, 1, 8)) == ["01-02"]


def test_a_daily_rule_books_from_its_first_to_its_last_day() -> None:
    assert days(rule("day", ends_on=date(2026, 1, 3)), date(2026, 12, 31)) == ["01-01", "01-02", "01-03"]
    assert days(rule("day"), date(2025, 12, 31)) == []


def test_a_random_amount_depends_on_the_account_the_rule_and_the_day() -> None:
    wide = rule("day", lowest=-38_000, highest=-9_500)
    drawn = [wide.amount("61000001", 2, day) for day in wide.days(date(2026, 12, 31))]
    assert all(-38_000 <= amount <= -9_500 for amount in drawn)
    assert len(set(drawn)) > 300
    assert drawn[:3] == [-27_808, -22_077, -33_664]
    assert drawn[0] != wide.amount("61000002", 2, START)
    assert drawn[0] != wide.amount("61000001", 3, START)


def test_a_random_amount_can_equal_its_lower_and_upper_bound() -> None:
    narrow = rule("day", lowest=1, highest=2)
    assert {narrow.amount("61000001", 0, day) for day in narrow.days(date(2026, 2, 28))} == {1, 2}


BOOK = AccountBook(
    1_250_750,
    START,
    (
        ListedTransaction(date(2026, 2, 10), 4_005, SAID),
        ListedTransaction(date(2026, 2, 3), -12_345, Particulars("Pearl", "Card", means="card", pending_days=2)),
        ListedTransaction(date(2026, 2, 10), -7, Particulars("Pearl", "Fee", "GB33BUKB20201555555555")),
    ),
    (rule("month", 10), rule("week", 0, ends_on=date(2026, 2, 9), lowest=5, highest=9)),
)


def test_account_book_entries_are_sorted_and_have_unique_numbers_per_day() -> None:
    found = BOOK.entries("61000001", date(2026, 2, 10))
    assert [(entry.day, entry.number) for entry in found] == sorted((entry.day, entry.number) for entry in found)
    assert [(entry.number, entry.amount) for entry in found if entry.day == date(2026, 2, 10)] == [
        (0, 100),
        (20, 4_005),
        (21, -7),
    ]
    assert len({entry[:2] for entry in found}) == len(found)


def test_an_account_book_grows_over_time_without_changes_to_existing_entries() -> None:
    earlier, later = (BOOK.entries("61000001", date(2026, month, 20)) for month in (2, 12))
    assert later[: len(earlier)] == earlier
    assert all(isinstance(entry, BookEntry) and entry.day > date(2026, 2, 20) for entry in later[len(earlier) :])
    assert len(later) - len(earlier) == 10  # the salary of ten more months


def test_an_account_book_is_unchanged_after_serialization_and_parsing() -> None:
    assert parse_book(dump_book(BOOK)) == BOOK


def test_an_account_book_stored_by_an_earlier_version_is_parsed() -> None:
    text = (
        '{"opening": 5, "opened_on": "2026-01-01", "rules": [],'
        ' "transactions": [["2026-01-02", 7, {"counterparty": "a", "text": "b"}]]}'
    )
    (only,) = parse_book(text).transactions
    assert (only.amount, only.particulars) == (7, Particulars("a", "b"))


@pytest.mark.parametrize("every", ["day", "week", "month"])
def test_a_booking_rule_generates_the_entries_of_each_day_once(every: str) -> None:
    found = days(rule(every, 3), date(2026, 12, 31))
    assert len(set(found)) == len(found) >= 12
