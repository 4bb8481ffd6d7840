"""A bank of ``causeway.bank`` in a separate process that stores all state in a file and can be killed at any step.

Start the bank with ``.venv/bin/python -m tests.e2e.durable_bank FOLDER``. The folder contains ``settings.json``,
``bank.pem``, and a file ``die-at-…`` for each step at which the process kills itself once.
"""

import asyncio
import json
import os
import signal
import sqlite3
import sys
import time
from collections.abc import Callable, Mapping
from contextlib import closing
from decimal import Decimal
from pathlib import Path
from typing import Any

import uvicorn
from starlette.requests import Request

from causeway.bank import (
    Account,
    AccountReferenceV2,
    AccountV1,
    BalanceAmountV2,
    BalanceV1,
    BalanceV2,
    Bank,
    Call,
    Consent,
    InsufficientFunds,
    Order,
    Payment,
    app,
    hub,
)
from causeway.tpp import Retries
from tests.kit.time import PATIENCE_SECONDS

Values = Mapping[str, Any]
SCHEMA = """
    CREATE TABLE IF NOT EXISTS remembered (
        number INTEGER PRIMARY KEY AUTOINCREMENT, kind TEXT, key TEXT, value TEXT, owner TEXT, expires_at REAL,
        UNIQUE (kind, key)
    );
    CREATE TABLE IF NOT EXISTS books (number INTEGER PRIMARY KEY AUTOINCREMENT, what TEXT, subject TEXT);
"""


def open_file(file: Path) -> sqlite3.Connection:
    connection = sqlite3.connect(file, timeout=PATIENCE_SECONDS, isolation_level=None)
    connection.execute("PRAGMA journal_mode = WAL")
    connection.executescript(SCHEMA)
    return connection


class SqliteStorage:
    """A durable storage in a SQLite file. After each write, it calls ``after`` with the name of the step, such as
    ``add-call``.
    """

    def __init__(self, file: Path, after: Callable[[str], None] = lambda step: None) -> None:
        self._connection = open_file(file)
        self._after = after

    async def add(self, kind: str, key: str, value: Values, *, owner: str = "", expires_at: float = 0.0) -> bool:
        gone = "DELETE FROM remembered WHERE kind = ? AND key = ? AND expires_at BETWEEN 0.1 AND ?"
        self._connection.execute(gone, (kind, key, time.time()))
        new = "INSERT OR IGNORE INTO remembered (kind, key, value, owner, expires_at) VALUES (?, ?, ?, ?, ?)"
        return self._wrote(f"add-{kind}", new, (kind, key, _text(value), owner, expires_at))

    async def get(self, kind: str, key: str) -> Values | None:
        asked = "SELECT value FROM remembered WHERE kind = ? AND key = ? AND NOT expires_at BETWEEN 0.1 AND ?"
        row = self._connection.execute(asked, (kind, key, time.time())).fetchone()
        return json.loads(row[0]) if row else None

    async def replace(self, kind: str, key: str, old: Values, new: Values | None) -> bool:
        named = (kind, key, _text(old))
        if new is None:
            gone = "DELETE FROM remembered WHERE kind = ? AND key = ? AND value = ?"
            return self._wrote(f"delete-{kind}", gone, named)
        changed = "UPDATE remembered SET value = ? WHERE kind = ? AND key = ? AND value = ?"
        return self._wrote(f"replace-{kind}", changed, (_text(new), *named))

    async def find(self, kind: str, owner: str = "") -> Mapping[str, Values]:
        asked = """SELECT key, value FROM remembered
            WHERE kind = ? AND owner = ? AND NOT expires_at BETWEEN 0.1 AND ? ORDER BY number"""
        rows = self._connection.execute(asked, (kind, owner, time.time()))
        return {key: json.loads(value) for key, value in rows}

    def book(self, what: str, subject: str) -> None:
        """Add a line to the bank's own books. The books accept duplicates, so a repeated action appears twice."""
        self._wrote(what, "INSERT INTO books (what, subject) VALUES (?, ?)", (what, subject))

    def booked(self, what: str) -> list[str]:
        return read_books(self._connection, what)

    def _wrote(self, step: str, statement: str, values: tuple[Any, ...]) -> bool:
        if not self._connection.execute(statement, values).rowcount:
            return False
        self._after(step)
        return True


def books(file: Path, what: str) -> list[str]:
    with closing(open_file(file)) as connection:
        return read_books(connection, what)


def read_books(connection: sqlite3.Connection, what: str) -> list[str]:
    rows = connection.execute("SELECT subject FROM books WHERE what = ? ORDER BY number", (what,))
    return [subject for (subject,) in rows]


def _text(value: Values) -> str:
    return json.dumps(value, sort_keys=True)


PSU, LIMIT = "customer-1", Decimal(1000)
IBANS, CURRENCIES = {1: "GB10DEMO04000431926801", 2: "DE89370400440532013000"}, {1: "GBP", 2: "EUR"}
BOOKED: dict[int, Any] = {1: 4, 2: "ACSC"}
RECEIVED: dict[int, Any] = {1: 1, 2: "RCVD"}


def make_bank(storage: SqliteStorage, version: int, key: bytes, **settings: Any) -> Bank:
    """Create a bank that has one customer with one account and books each confirmed payment."""
    bank = Bank(version=version, private_key=key, storage=storage, name="Durable Bank", **settings)

    @bank.psu
    async def sign_in(request: Request) -> str:
        return PSU

    @bank.accounts
    async def accounts(call: Call) -> list[Account]:
        if version == 1:
            return [AccountV1(id="1", name="Current account", iban=IBANS[1], currency=CURRENCIES[1])]
        return [AccountReferenceV2(resource_id="1", iban=IBANS[2], currency=CURRENCIES[2])]

    @bank.balances
    async def balances(call: Call, account: Account) -> list[BalanceV1] | list[BalanceV2]:
        if isinstance(account, AccountV1):
            return [BalanceV1(id=account.id, name=account.name, balance=LIMIT, currency=account.currency)]
        amount = BalanceAmountV2(amount=LIMIT, currency=account.currency)
        return [BalanceV2(balance_amount=amount, balance_type="interimAvailable")]

    @bank.pay
    async def accept(order: Order) -> None:
        if order.totals[CURRENCIES[version]] > LIMIT:
            raise InsufficientFunds
        storage.book("accepted", order.request_id)

    @bank.confirmed
    async def book(payment: Payment) -> None:
        storage.book("booked", payment.payment_id)

    @bank.revoked
    async def forget(consent: Consent) -> None:
        storage.book("revoked", consent.consent_id)

    return bank


async def report_what_is_booked(bank: Bank, storage: SqliteStorage) -> None:
    """Report payments that the bank booked before a crash but has not reported to the package."""
    for payment_id in storage.booked("booked"):
        payment = await bank.find_payment(payment_id)
        if payment is not None and payment.status == RECEIVED[bank.version]:
            await bank.report_status(payment_id, BOOKED[bank.version])


def kill_at_marked_steps(folder: Path) -> Callable[[str], None]:
    """Return a function that kills this process once at each step with a ``die-at`` file, like a power failure."""

    def end(step: str) -> None:
        mark = folder / f"die-at-{step}"
        if mark.exists():
            mark.unlink()
            os.kill(os.getpid(), signal.SIGKILL)

    return end


async def serve(folder: Path) -> None:
    settings = json.loads((folder / "settings.json").read_text("utf-8"))
    port = settings.pop("port")
    storage = SqliteStorage(folder / "bank.sqlite", kill_at_marked_steps(folder))
    bank = make_bank(storage, key=(folder / "bank.pem").read_bytes(), retries=Retries(waits=(0.05, 0.1)), **settings)
    await report_what_is_booked(bank, storage)
    await uvicorn.Server(uvicorn.Config(bank, port=port, log_level="warning")).serve()


if __name__ == "__main__":
    app.PENDING_SECONDS, hub.ANSWER_SECONDS = 0.2, 1.0
    asyncio.run(serve(Path(sys.argv[1])))
