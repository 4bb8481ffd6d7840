"""Books of loaded accounts: an opening balance, listed transactions, and rules that generate transactions.

An entry depends only on the account, the book and the day, and not on the time of loading. By default, rules have no
end date. Amounts are in minor units of the account's currency. Amounts of debits are negative.
"""

from __future__ import annotations

import calendar
import hashlib
from collections.abc import Iterator
from datetime import date, timedelta
from typing import Any, Literal, NamedTuple

from chalicelib.foundation import jsontext
from chalicelib.foundation.lazy_dataclasses import dataclass

Every = Literal["day", "week", "month"]
BookMeans = Literal["transfer", "card", "internal"]

MOST_RULES = 20
MOST_LISTED_PER_DAY = 80
"""The maximum number of listed transactions on one day. Entries of a day have two-digit numbers, and rules use the
first ``MOST_RULES`` numbers.
"""
MOST_PENDING_DAYS = 60
_DAY = timedelta(days=1)


@dataclass(frozen=True, slots=True)
class Particulars:
    """The details of a transaction: the counterparty's name and IBAN (empty if unknown), the text and the kind.

    ``pending_days`` is the number of days before booking.
    """

    counterparty: str
    text: str
    iban: str = ""
    means: BookMeans = "transfer"
    pending_days: int = 0


@dataclass(frozen=True, slots=True)
class ListedTransaction:
    """A transaction with a fixed booking day."""

    day: date
    amount: int
    particulars: Particulars


@dataclass(frozen=True, slots=True)
class TransactionRule:
    """A recurring transaction from ``starts_on`` to ``ends_on`` (inclusive, ``None`` means unlimited).

    ``on`` is the day of the month from 1 to 31, the weekday from 0 (Monday) to 6, or 0 for a daily transaction. In a
    month with fewer days, the last day is used. Each amount lies between ``lowest`` and ``highest`` (inclusive).
    """

    every: Every
    on: int
    starts_on: date
    ends_on: date | None
    lowest: int
    highest: int
    particulars: Particulars

    def days(self, last: date) -> Iterator[date]:
        """Return the days up to ``last`` on which the rule books a transaction."""
        last = min(last, self.ends_on or last)
        day = self._first()
        while day <= last:
            yield day
            day = self._next(day)

    def amount(self, account_number: str, position: int, day: date) -> int:
        """Return the amount on a day. ``position`` is the rule's index in its book."""
        if self.lowest == self.highest:
            return self.lowest
        drawn = hashlib.sha256(f"{account_number}/{position}/{day.isoformat()}".encode()).digest()
        return self.lowest + int.from_bytes(drawn, "big") % (self.highest - self.lowest + 1)

    def _first(self) -> date:
        if self.every == "day":
            return self.starts_on
        if self.every == "week":
            return self.starts_on + timedelta(days=(self.on - self.starts_on.weekday()) % 7)
        day = _day_of_month(self.starts_on, self.on)
        return day if day >= self.starts_on else self._next(day)

    def _next(self, day: date) -> date:
        if self.every == "month":
            return _day_of_month(day.replace(day=1) + timedelta(days=31), self.on)
        return day + (_DAY if self.every == "day" else timedelta(days=7))


class BookEntry(NamedTuple):
    """One transaction of a book. ``number`` identifies the transaction within its day, from 0 to 99."""

    day: date
    number: int
    amount: int
    particulars: Particulars


@dataclass(frozen=True, slots=True)
class AccountBook:
    """An account's book: ``opening`` is the balance at the beginning of ``opened_on``."""

    opening: int
    opened_on: date
    transactions: tuple[ListedTransaction, ...] = ()
    rules: tuple[TransactionRule, ...] = ()

    def entries(self, account_number: str, last: date) -> list[BookEntry]:
        """Return all entries up to ``last`` in order."""
        found = [*self._ruled(account_number, last), *self._listed(last)]
        return sorted(found, key=lambda entry: entry[:2])

    def _ruled(self, account_number: str, last: date) -> Iterator[BookEntry]:
        for position, rule in enumerate(self.rules):
            for day in rule.days(last):
                yield BookEntry(day, position, rule.amount(account_number, position, day), rule.particulars)

    def _listed(self, last: date) -> Iterator[BookEntry]:
        counts: dict[date, int] = {}
        for each in self.transactions:
            number = counts[each.day] = counts.get(each.day, -1) + 1
            if each.day <= last:
                yield BookEntry(each.day, MOST_RULES + number, each.amount, each.particulars)


def _day_of_month(month: date, day: int) -> date:
    return month.replace(day=min(day, calendar.monthrange(month.year, month.month)[1]))


# -- stored form


def dump_book(book: AccountBook) -> str:
    """Serialise the book to JSON text."""
    return jsontext.dumps(
        {
            "opening": book.opening,
            "opened_on": book.opened_on.isoformat(),
            "transactions": [
                [each.day.isoformat(), each.amount, _dump_particulars(each.particulars)] for each in book.transactions
            ],
            "rules": list(map(_dump_rule, book.rules)),
        }
    )


def parse_book(text: str) -> AccountBook:
    """Parse the book from JSON text."""
    found = jsontext.loads(text)
    return AccountBook(
        found["opening"],
        date.fromisoformat(found["opened_on"]),
        tuple(
            ListedTransaction(date.fromisoformat(day), amount, Particulars(**said))
            for day, amount, said in found["transactions"]
        ),
        tuple(map(_parse_rule, found["rules"])),
    )


def _dump_particulars(said: Particulars) -> dict[str, Any]:
    members = {name: getattr(said, name) for name in Particulars.__dataclass_fields__}
    return {name: value for name, value in members.items() if value or name in ("counterparty", "text")}


def _dump_rule(rule: TransactionRule) -> dict[str, Any]:
    members = {name: getattr(rule, name) for name in TransactionRule.__dataclass_fields__}
    return members | {
        "starts_on": rule.starts_on.isoformat(),
        "ends_on": rule.ends_on and rule.ends_on.isoformat(),
        "particulars": _dump_particulars(rule.particulars),
    }


def _parse_rule(members: dict[str, Any]) -> TransactionRule:
    return TransactionRule(
        **members
        | {
            "starts_on": date.fromisoformat(members["starts_on"]),
            "ends_on": members["ends_on"] and date.fromisoformat(members["ends_on"]),
            "particulars": Particulars(**members["particulars"]),
        }
    )
