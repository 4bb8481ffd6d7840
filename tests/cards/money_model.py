"""A small model of payments that follows the documentation and shares no code with the service.

One holder has three accounts in a separate programme: an account in pounds without fees, an account in pounds with
fees, and an account in dollars with an address for euros. All amounts are in minor units of currencies with two
decimals.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from fractions import Fraction
from math import ceil, floor
from typing import Any

from tests.cards import programmes

GBP, EUR, USD = 826, 978, 840
DAY, WEEK = 24 * 3600, 7 * 24 * 3600
ASKING, CUT_OFF = 60, 24 * 3600
RATES = {(EUR, GBP): "0.86", (GBP, EUR): "1.16", (EUR, USD): "1.0845", (USD, EUR): "0.9213", (USD, GBP): "0.8"}
MARKUPS = {(EUR, USD): "1.5", (USD, EUR): "1.5"}
OUT, IN, DEBIT, RETURN = "out", "in", "debit", "return"
NO_FUNDS, LIMIT, REFUSED, WAITS, WRONG_STATE, RETURNED_ALREADY = 5001, 5002, 7001, 8001, 4008, 4004


def programme() -> dict[str, Any]:
    rates = [
        {"of": of, "to": to, "rate": rate} | ({"markup_percent": MARKUPS[of, to]} if (of, to) in MARKUPS else {})
        for (of, to), rate in RATES.items()
    ]
    fees = [
        programmes.fee("EXTOUT", transaction_type=61, fixed=30, percent="0.5", minimum=40, maximum=200, currency=GBP),
        programmes.fee("EXTIN", transaction_type=60, percent="1", minimum=5, maximum=90, blended=True, currency=GBP),
        programmes.fee("DDEBIT", transaction_type=62, fixed=20, currency=GBP),
        programmes.fee("LETTER", transaction_type=70, fixed=25, currency=GBP),
    ]
    limits = [
        programmes.limit(1, **{"class": 3}, amount=300_000, currency=GBP, duration=0),
        programmes.limit(2, **{"class": 3}, amount=500_000, count=8, currency=GBP),
        programmes.limit(3, **{"class": 4}, amount=2_000_000, currency=GBP, duration=30),
    ]
    weekly = programmes.limit(1, **{"class": 3}, amount=900_000, currency=EUR, duration=7)
    least = {"currencies": [EUR, GBP, USD], "risk_group_ids": [1], "limit_group_ids": [2], "holder_limit_group_id": 3}
    return programmes.manager(
        currencies=[EUR, GBP, USD],
        exchange_rates=rates,
        fee_groups=[{"id": 1, "name": "None"}, {"id": 2, "name": "Some", "entries": fees}],
        limit_groups=[
            {"id": 1, "name": "Cards", "limit_type": 1},
            {"id": 2, "name": "Accounts", "limit_type": 2, "entries": limits},
            {"id": 3, "name": "Holders", "limit_type": 3, "entries": [weekly]},
        ],
        account_programmes=[
            {"id": 1, "name": "Free", "fee_group_ids": [1], **least},
            {"id": 2, "name": "With Fees", "fee_group_ids": [2], **least},
            {"id": 3, "name": "Beside", "fee_group_ids": [1], "conversion_fee_blended": False, **least},
        ],
        credentials=[programmes.credential("app", modes=programmes.PLAIN, allow_plain=True)],
    )


ACCOUNTS = [(GBP, 1, 1), (GBP, 2, 1), (USD, 3, 2)]


def rounded(exact: Fraction) -> int:
    """Round half up. Amounts in this model are never negative."""
    return int(exact + Fraction(1, 2))


def worth(amount: int, of: int, to: int) -> int:
    return amount if of == to else rounded(amount * Fraction(RATES[of, to]))


@dataclass
class Account:
    """An account with its address. ``currency`` is the account's currency, and ``other`` is the address's currency."""

    id: int
    address_id: int
    currency: int
    other: int
    has_fees: bool
    number: str
    mandate_id: int = 0
    settled: int = 0
    held: int = 0

    @property
    def available(self) -> int:
        return self.settled - self.held

    def converted(self, amount: int, sign: int) -> int:
        """Convert a payment without fees. Outbound amounts (1) round up, inbound amounts (-1) round down."""
        if self.other == self.currency:
            return amount
        markup = Fraction(MARKUPS.get((self.other, self.currency), "0")) / 100
        exact = amount * Fraction(RATES[self.other, self.currency]) * (1 + sign * markup)
        return ceil(exact) if sign > 0 else floor(exact)

    def fee(self, kind: str, amount: int) -> int:
        if not self.has_fees:
            return 0
        if kind == OUT:
            return min(max(30 + rounded(Fraction(amount, 200)), 40), 200)
        if kind == DEBIT:
            return 20
        return min(max(rounded(Fraction(amount, 100)), 5), 90, amount)

    def taken(self, kind: str, amount: int) -> int:
        """Return the debit of an outbound payment or a direct debit."""
        return self.converted(amount, 1) + self.fee(kind, amount)

    def given(self, amount: int) -> int:
        """Return the credit of an inbound payment."""
        return self.converted(amount, -1) - self.fee(IN, amount)

    def reversed(self, kind: str, amount: int) -> int:
        """Return the amount that a return repays: everything except fees other than the conversion fee."""
        return self.converted(amount, -1 if kind == IN else 1)


@dataclass
class Payment:
    """A payment. ``awaits`` is the time when the scheduled job next contacts the provider."""

    id: int
    kind: str
    account: Account
    amount: int
    state: str
    held: int = 0
    scheme: str = "FPS"
    awaits: int | None = None
    cut_off: int = 0
    should_pay: bool = True
    returned: bool = False
    returns: Payment | None = None
    sender: str = ""
    counterpart: Payment | None = None
    counted: list[tuple[str, int, int]] = field(default_factory=list)


SET: Mapping[str, tuple[int | None, int]] = {"2.2": (8, 500_000), "2.3": (None, 2_000_000), "3.1": (None, 900_000)}
"""The maximum count and amount of the limit entries with a window. Entry ``2.1`` limits single payments."""


class Limits:
    def __init__(self) -> None:
        self.used: dict[str, tuple[int, int, int]] = {}

    @staticmethod
    def start(entry: str, now: int) -> int:
        if entry == "2.2":
            return now - now % DAY
        if entry == "3.1":
            return now - (now - 4 * DAY) % WEEK
        day = datetime.fromtimestamp(now, UTC)
        return int(datetime(day.year, day.month, 1, tzinfo=UTC).timestamp())

    def at(self, owner: str, entry: str, now: int) -> tuple[int, int]:
        start, count, amount = self.used.get(f"{owner} {entry}", (0, 0, 0))
        return (count, amount) if start == self.start(entry, now) else (0, 0)

    def wanted(self, account: Account, amount: int, *, debit: bool) -> list[tuple[str, str, int]]:
        pounds, euros = worth(amount, account.other, GBP), worth(amount, account.other, EUR)
        if debit:
            return [(f"account#{account.id}", "2.2", pounds), ("holder", "3.1", euros)]
        return [(f"account#{account.id}", "2.3", pounds)]

    def fits(self, account: Account, amount: int, now: int, *, debit: bool) -> bool:
        if debit and worth(amount, account.other, GBP) > 300_000:
            return False
        for owner, entry, more in self.wanted(account, amount, debit=debit):
            count, used = self.at(owner, entry, now)
            most, bound = SET[entry]
            if used + more > bound or (most is not None and count + 1 > most):
                return False
        return True

    def count(self, account: Account, amount: int, now: int, *, debit: bool) -> list[tuple[str, int, int]]:
        counted = []
        for owner, entry, more in self.wanted(account, amount, debit=debit):
            count, used = self.at(owner, entry, now)
            start, name = self.start(entry, now), f"{owner} {entry}"
            self.used[name] = start, count + 1, used + more
            counted.append((name, start, more))
        return counted

    def give_back(self, counted: list[tuple[str, int, int]]) -> None:
        for name, start, amount in counted:
            found, count, used = self.used[name]
            if found == start:
                self.used[name] = start, count - 1, used - amount
