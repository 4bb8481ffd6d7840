"""The ledger: payments from and to an account, in addition to its generated transactions.

A payment has an entry, ``entry#<account>#<time>#<id>``, on each affected account of this bank. The balance is the sum
of the booked entries. The available balance also subtracts pending entries. On the first of a month, the previous
month's payments are reversed, so that sandbox accounts regain their funds and a twelve-month statement is complete.

A debit reads the account's debit count, ``turn#<account>``, before the account's entries. The write of the debit's
entry also increments the count. If two debits are based on the same balance, only one of them succeeds.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import astuple
from datetime import UTC, date, datetime, timedelta
from operator import attrgetter
from typing import Any

from chalicelib.demo_bank.books import AccountBook
from chalicelib.demo_bank.customers import CustomerAccount
from chalicelib.demo_bank.instructions import AccountIdentifiers
from chalicelib.demo_bank.orders import RETENTION_SECONDS
from chalicelib.demo_bank.runtime import TABLE, DemoBank
from chalicelib.demo_bank.transactions import (
    Statement,
    StatementEntry,
    book_statement,
    first_day,
    first_of_month,
    generate_statement,
)
from chalicelib.foundation.dynamodb.conditions import Attr
from chalicelib.foundation.dynamodb.store import Item, Operation, Put, Update, absent
from chalicelib.foundation.lazy_dataclasses import dataclass
from chalicelib.openbanking.protocol.payment_statuses import Status

_SETTLED_WITHIN = timedelta(days=1)
"""The maximum time between a payment's confirmation and its booking. Payments confirmed within this time before a
statement's first day may appear in the statement.
"""

_RESERVED_FOR = timedelta(days=30)
"""The maximum time for which a pending payment reserves the money. Only payments that are never settled reach this
limit.
"""


@dataclass(frozen=True, slots=True)
class PaymentEntry:
    """The entry of one payment on one account. ``amount`` is in minor units, negative for debits.

    Attributes:
        entry_id: for the paying account, the payment's id.
        counterparty_account: the counterparty's account, if known.
        created_at: when the payment was initiated, Unix seconds.
        begun_at: when the customer confirmed, Unix seconds; part of the record's key.
        booked_at: when the payment was booked; 0 while the payment is pending.
        settles_at: when a pending entry is due for settlement.
    """

    entry_id: str
    payment_id: str
    amount: int
    counterparty: str
    counterparty_account: AccountIdentifiers
    text: str
    status: Status
    created_at: int
    begun_at: int
    booked_at: int = 0
    settles_at: int = 0


def put_entry(bank: DemoBank, account_id: str, entry: PaymentEntry) -> Put:
    members = {name: getattr(entry, name) for name in PaymentEntry.__dataclass_fields__}
    members["counterparty_account"] = list(astuple(entry.counterparty_account))
    return Put(TABLE, entry_key(bank, account_id, entry) | members | {"expires_at": entry.begun_at + RETENTION_SECONDS})


def entry_key(bank: DemoBank, account_id: str, entry: PaymentEntry) -> Item:
    return bank.key(f"{_prefix(account_id)}{entry.begun_at:012d}#{entry.entry_id}")


def read_entries(bank: DemoBank, account: CustomerAccount) -> list[PaymentEntry]:
    """Return the payments that may appear in today's statement, oldest first."""
    bank_name, prefix = bank.profile.name, _prefix(account.account_id)
    first = _midnight(first_day(bank.clock.now().date()) - _SETTLED_WITHIN)
    after = bank.key(f"{prefix}{first:012d}")
    return list(map(_entry, bank.store.each(TABLE, ("bank", bank_name), sort_prefix=("id", prefix), after=after)))


def build_statement(
    account: CustomerAccount, payments: Iterable[PaymentEntry], today: date, book: AccountBook | None = None
) -> Statement:
    """Build an account's statement as of ``today``, including its payments.

    ``book`` is the book of a loaded account. Its opening balance includes payments that were booked earlier.
    """
    made = book_statement(account, book, today) if book else generate_statement(account, today)
    start = max(first_day(today), book.opened_on) if book else first_day(today)
    booked: list[StatementEntry] = []
    pending: list[StatementEntry] = []
    for entry in payments:
        if entry.booked_at or _day(entry.begun_at) > today - _RESERVED_FOR:
            (booked if entry.booked_at else pending).append(_transaction(entry, today))
    booked = [entry for entry in booked if entry.booked_on >= start]
    everything = [*made.booked, *booked, *_monthly_reversals(account, booked, today)]
    return Statement(booked=tuple(sorted(everything, key=attrgetter("booked_on"))), pending=(*made.pending, *pending))


def _monthly_reversals(account: CustomerAccount, booked: Iterable[StatementEntry], today: date) -> list[StatementEntry]:
    """Return the entries that reverse each month's payments on the first of the following month."""
    sums: dict[date, int] = defaultdict(int)
    for entry in booked:
        sums[first_of_month(entry.booked_on, -1)] += entry.amount
    return [
        StatementEntry(
            transaction_id=f"{account.number}{first:%y%m}99",
            booked_on=first,
            amount=-amount,
            counterparty="Sandbox",
            counterparty_account=AccountIdentifiers(),
            text="Last month's demonstration payments reversed",
            means="internal",
        )
        for first, amount in sorted(sums.items())
        if amount and first <= today
    ]


def _transaction(entry: PaymentEntry, today: date) -> StatementEntry:
    return StatementEntry(
        transaction_id=entry.entry_id,
        booked_on=_day(entry.booked_at) if entry.booked_at else today,
        amount=entry.amount,
        counterparty=entry.counterparty,
        counterparty_account=entry.counterparty_account,
        text=entry.text,
        means="transfer",
        status=entry.status,
        created_on=_day(entry.created_at),
    )


def _entry(item: Item) -> PaymentEntry:
    members: dict[str, Any] = {name: item[name] for name in PaymentEntry.__dataclass_fields__}
    members["counterparty_account"] = AccountIdentifiers(*item["counterparty_account"])
    return PaymentEntry(**members)


def _day(seconds: int) -> date:
    return datetime.fromtimestamp(seconds, UTC).date()


def _midnight(day: date) -> int:
    return int(datetime(day.year, day.month, day.day, tzinfo=UTC).timestamp())


def read_debit_count(bank: DemoBank, account_id: str) -> int:
    """Return the number of debits on the account. Read it before the entries."""
    item = bank.store.get(TABLE, bank.key(_debit_count_id(account_id)))
    return item["taken"] if item else 0


def update_debit_count(bank: DemoBank, account_id: str, taken: int) -> Operation:
    """Return the write operation that increments the debit count. It fails if another debit was recorded after
    ``taken`` was read.
    """
    condition = Attr("taken").eq(taken) if taken else absent("bank")
    return Update(TABLE, bank.key(_debit_count_id(account_id)), add={"taken": 1}, condition=condition)


def _prefix(account_id: str) -> str:
    return f"entry#{account_id}#"


def _debit_count_id(account_id: str) -> str:
    return f"turn#{account_id}"
