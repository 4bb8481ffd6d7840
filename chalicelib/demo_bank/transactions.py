"""Generated transactions of an account: a year of transactions, or ``MANY_TRANSACTIONS`` for a busy account.

A generator seeded with the account's number and the month creates the transactions of a month. So the transactions
never change. Each month's transactions add up to zero: the remainder is transferred to another account on the 28th. A
statement therefore starts with one constant opening entry, twelve whole months earlier, and the balance is the sum of
its entries. Amounts are integers in minor units, negative for debits.

A busy account has the same number of transactions every day, which add up to zero. A loaded account has the
transactions of its book. The opening entry includes transactions before the twelve months.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from datetime import date, timedelta
from functools import cache, lru_cache
from random import Random
from typing import Literal

from chalicelib.demo_bank.books import MOST_PENDING_DAYS, AccountBook, BookEntry
from chalicelib.demo_bank.customers import AccountKind, CustomerAccount
from chalicelib.demo_bank.faults import MANY_TRANSACTIONS
from chalicelib.demo_bank.instructions import AccountIdentifiers
from chalicelib.foundation.fields.ibans import make_iban
from chalicelib.foundation.lazy_dataclasses import dataclass
from chalicelib.openbanking.protocol.payment_statuses import Status

Means = Literal["transfer", "card", "internal", "opening"]

MONTHS = 12
PENDING_DAYS = 2
_SWEEP_DAY = 28
_BUSY_PER_DAY = 40
_BUSY_DAYS = MANY_TRANSACTIONS // _BUSY_PER_DAY


@dataclass(frozen=True, slots=True)
class StatementEntry:
    """One entry of a statement. ``amount`` is in minor units of the account's currency.

    ``status`` and ``created_on`` are set for a payment initiated at this bank, otherwise ``None``.
    """

    transaction_id: str
    booked_on: date
    amount: int
    counterparty: str
    counterparty_account: AccountIdentifiers
    text: str
    means: Means
    status: Status | None = None
    created_on: date | None = None


@dataclass(frozen=True, slots=True)
class Statement:
    """An account's entries until the statement's day, oldest first, and the entries that are pending on that day."""

    booked: tuple[StatementEntry, ...]
    pending: tuple[StatementEntry, ...]

    @property
    def balance(self) -> int:
        """Return the booked balance: the sum of the booked entries, in minor units."""
        return sum(entry.amount for entry in self.booked)

    def opening_balance(self, day: date) -> int:
        """Return the booked balance at the beginning of a day in minor units, including that day's opening entry."""
        return sum(entry.amount for entry in self.booked if entry.booked_on < day or entry.means == "opening")

    @property
    def available(self) -> int:
        """Return the booked balance minus pending debits."""
        return self.balance + sum(min(entry.amount, 0) for entry in self.pending)

    @property
    def newest_first(self) -> list[tuple[StatementEntry, bool]]:
        """Return every entry with a flag for pending entries. Pending entries are first, then the newest entries."""
        pending = [(entry, True) for entry in reversed(self.pending)]
        return pending + [(entry, False) for entry in reversed(self.booked)]


@dataclass(frozen=True, slots=True)
class _MonthEntry:
    day: int
    amount: int
    counterparty: str
    text: str
    means: Means = "transfer"


@lru_cache(maxsize=256)
def generate_statement(account: CustomerAccount, today: date) -> Statement:
    """Generate the statement of ``account`` as of ``today``."""
    if account.kind == "busy":
        return _busy_statement(account, today)
    if account.kind == "loaded":  # deleted since it was read
        return Statement((), ())
    entries = [_opening_entry(account, first_day(today))]
    for back in range(MONTHS, -1, -1):
        entries += _month_entries(account, first_of_month(today, back))
    if today.day > _SWEEP_DAY - PENDING_DAYS:
        entries += _month_entries(account, first_of_month(today, -1))
    horizon = today + timedelta(days=PENDING_DAYS)
    return Statement(
        booked=tuple(entry for entry in entries if entry.booked_on <= today),
        pending=tuple(entry for entry in entries if entry.means == "card" and today < entry.booked_on <= horizon),
    )


@lru_cache(maxsize=16)
def book_statement(account: CustomerAccount, book: AccountBook, today: date) -> Statement:
    """Return the statement of a loaded account as of ``today``, cached because a year can have 7,300 entries."""
    found = book.entries(account.number, today + timedelta(days=MOST_PENDING_DAYS))
    start = max(first_day(today), min(book.opened_on, today))
    opening = book.opening + sum(entry.amount for entry in found if entry.day < start)
    booked = [_book_transaction(account, entry) for entry in found if start <= entry.day <= today]
    brought_forward = [_opening_entry(replace(account, opening=opening), start)] if opening else []
    pending = tuple(
        _book_transaction(account, entry)
        for entry in found
        if today < entry.day <= today + timedelta(days=entry.particulars.pending_days)
    )
    return Statement((*brought_forward, *booked), pending)


def _book_transaction(account: CustomerAccount, entry: BookEntry) -> StatementEntry:
    said = entry.particulars
    return StatementEntry(
        transaction_id=f"{account.number}{entry.day:%y%m%d}{entry.number:02d}",
        booked_on=entry.day,
        amount=entry.amount,
        counterparty=said.counterparty,
        counterparty_account=AccountIdentifiers(iban=said.iban),
        text=said.text,
        means=said.means,
    )


def _busy_statement(account: CustomerAccount, today: date) -> Statement:
    first = today - timedelta(days=_BUSY_DAYS - 1)
    entries = [entry for number in range(_BUSY_DAYS) for entry in _busy_day(account, first + timedelta(days=number))]
    entries[0] = replace(entries[0], amount=entries[0].amount + account.opening, text="Balance brought forward")
    return Statement(booked=tuple(entries), pending=())


@lru_cache(maxsize=2 * _BUSY_DAYS)
def _busy_day(account: CustomerAccount, day: date) -> tuple[StatementEntry, ...]:
    """Generate one day of a busy account: card payments, then one transfer of their sum."""
    random = Random(f"{account.number}/{day.isoformat()}")
    spent = list(_purchases(random, account.scale, _SHOPS, _BUSY_PER_DAY - 1))
    drawn = [*spent, _MonthEntry(day.day, -sum(entry.amount for entry in spent), *_SWEEPS[account.kind], "internal")]
    return tuple(
        StatementEntry(
            transaction_id=f"{account.number}{day:%y%m%d}{position:02d}",
            booked_on=day,
            amount=entry.amount,
            counterparty=entry.counterparty,
            counterparty_account=AccountIdentifiers(),
            text=entry.text,
            means=entry.means,
        )
        for position, entry in enumerate(drawn, start=1)
    )


def first_day(today: date) -> date:
    """Return the first day of a statement as of ``today``."""
    return first_of_month(today, MONTHS)


def first_of_month(day: date, back: int) -> date:
    """Return the first day of the month that is ``back`` months before ``day``."""
    count = day.year * 12 + day.month - 1 - back
    return date(count // 12, count % 12 + 1, 1)


def _opening_entry(account: CustomerAccount, start: date) -> StatementEntry:
    return StatementEntry(
        transaction_id=f"{account.number}000000",
        booked_on=start,
        amount=account.opening,
        counterparty=account.name,
        counterparty_account=AccountIdentifiers(),
        text="Balance brought forward",
        means="opening",
    )


@cache
def _month_entries(account: CustomerAccount, first: date) -> tuple[StatementEntry, ...]:
    """Generate the transactions of one month. Their sum is zero."""
    random = Random(f"{account.number}/{first:%Y-%m}")
    drawn = sorted(_GENERATORS[account.kind](random, account.scale), key=lambda entry: entry.day)
    rest = -sum(entry.amount for entry in drawn)
    entries = [*drawn, _MonthEntry(_SWEEP_DAY, rest, *_SWEEPS[account.kind], "internal")] if rest else drawn
    return tuple(
        StatementEntry(
            transaction_id=f"{account.number}{first:%y%m}{position:02d}",
            booked_on=first.replace(day=entry.day),
            amount=entry.amount,
            counterparty=entry.counterparty,
            counterparty_account=_counterparty_account(account, entry),
            text=entry.text,
            means=entry.means,
        )
        for position, entry in enumerate(entries, start=1)
    )


def _counterparty_account(account: CustomerAccount, entry: _MonthEntry) -> AccountIdentifiers:
    if entry.means != "transfer":
        return AccountIdentifiers()
    number = Random(entry.counterparty).randrange(10**8)
    country, bank = ("GB", "SIMU608371") if account.sort_code else ("DE", "1009880000")
    return AccountIdentifiers(iban=make_iban(country, f"{bank}{number:08d}"))


def _amount(random: Random, low: int, high: int, scale: int) -> int:
    return random.randint(low, high) * scale // 100


def _purchases(random: Random, scale: int, shops: Mapping[str, tuple[int, int]], count: int) -> Iterator[_MonthEntry]:
    names = sorted(shops)
    for _ in range(count):
        shop = random.choice(names)
        low, high = shops[shop]
        day = random.randint(2, _SWEEP_DAY - 1)
        yield _MonthEntry(day, -_amount(random, low, high, scale), shop, "Card payment", "card")


def _current_entries(random: Random, scale: int) -> Iterator[_MonthEntry]:
    yield _MonthEntry(1, 3_120_00 * scale // 100, "Larkspur Software", "Salary")
    yield _MonthEntry(2, -1_050_00 * scale // 100, "Harbour Lettings", "Rent")
    yield _MonthEntry(3, -_amount(random, 88_00, 142_00, scale), "Northwind Energy", "Electricity and gas")
    yield _MonthEntry(5, -38_50 * scale // 100, "Teal Broadband", "Internet")
    yield _MonthEntry(6, -24_90 * scale // 100, "Swift Gymnasium", "Membership")
    yield from _purchases(random, scale, _SHOPS, random.randint(14, 22))
    if random.random() < 0.4:
        yield _MonthEntry(random.randint(8, 24), _amount(random, 15_00, 80_00, scale), "R. Okafor", "Thank you!")


def _savings_entries(random: Random, scale: int) -> Iterator[_MonthEntry]:
    yield _MonthEntry(1, 250_00 * scale // 100, "Standing order", "Monthly saving", "internal")
    yield _MonthEntry(15, _amount(random, 18_00, 27_00, scale), "Interest", "Interest paid", "internal")


def _foreign_entries(random: Random, scale: int) -> Iterator[_MonthEntry]:
    yield _MonthEntry(1, _amount(random, 450_00, 600_00, scale), "Currency exchange", "Top-up", "internal")
    yield from _purchases(random, scale, _TRAVEL, random.randint(4, 9))
    if random.random() < 0.5:
        yield _MonthEntry(random.randint(4, 20), _amount(random, 90_00, 260_00, scale), "Fjord Consulting", "Invoice")


def _business_entries(random: Random, scale: int) -> Iterator[_MonthEntry]:
    yield _MonthEntry(2, -2_400_00 * scale // 100, "Quayside Estates", "Workshop rent")
    yield _MonthEntry(25, -_amount(random, 6_800_00, 7_400_00, scale), "Payroll", "Wages")
    for number in range(random.randint(6, 10)):
        customer = random.choice(_BUSINESS_CUSTOMERS)
        text = f"Invoice {random.randint(1000, 9999)}-{number}"
        yield _MonthEntry(random.randint(1, 27), _amount(random, 900_00, 2_600_00, scale), customer, text)
    for _ in range(random.randint(4, 8)):
        supplier = random.choice(_SUPPLIERS)
        yield _MonthEntry(random.randint(1, 27), -_amount(random, 60_00, 780_00, scale), supplier, "Supplies")
    yield from _purchases(random, scale, _TRAVEL, random.randint(2, 5))


def _card_entries(random: Random, scale: int) -> Iterator[_MonthEntry]:
    yield from _purchases(random, scale, {**_SHOPS, **_TRAVEL}, random.randint(8, 15))


_GENERATORS: Mapping[AccountKind, Callable[[Random, int], Iterator[_MonthEntry]]] = {
    "current": _current_entries,
    "savings": _savings_entries,
    "foreign": _foreign_entries,
    "business": _business_entries,
    "card": _card_entries,
    "dormant": lambda _random, _scale: iter(()),
}
_SWEEPS: Mapping[AccountKind, tuple[str, str]] = {
    "current": ("Own savings", "What is left this month"),
    "savings": ("Own fixed deposit", "Transfer to fixed deposit"),
    "foreign": ("Currency exchange", "Conversion at the end of the month"),
    "business": ("Own reserve account", "Transfer of the month's result"),
    "card": ("Direct debit", "Settlement of the card balance"),
    "busy": ("Own reserve account", "Transfer of the day's expenses"),
}
_SHOPS: Mapping[str, tuple[int, int]] = {
    "Baker & Finch": (2_80, 14_50),
    "Corner Pharmacy": (4_10, 32_00),
    "Green Basket": (12_00, 84_00),
    "Lantern Books": (7_99, 36_00),
    "Metro Transit": (2_60, 9_80),
    "Odeon Street Cinema": (11_00, 27_00),
    "Tomato & Thyme": (16_00, 58_00),
}
_TRAVEL: Mapping[str, tuple[int, int]] = {
    "Baltic Ferries": (28_00, 96_00),
    "Hotel Meridian": (74_00, 132_00),
    "Nordbahn": (9_90, 68_00),
    "Old Port Café": (3_20, 18_00),
}
_BUSINESS_CUSTOMERS = ("Atelier Rosenthal", "Brightwater Hotels", "Kiln & Co", "Studio Halden", "Tidewater Shops")
_SUPPLIERS = ("Clay Direct", "Glaze Works", "Paketdienst Nord", "Pallet Partners")
