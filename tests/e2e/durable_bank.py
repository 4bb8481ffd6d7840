"""A bank of ``causeway.bank`` in a process of its own. All that it knows is in a file; it can be killed at any step.

``.venv/bin/python -m tests.e2e.durable_bank FOLDER``: the folder has ``settings.json``, ``bank.pem`` and, for each
step at which the process kills itself once, a file ``die-at-…``.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
from collections.abc import Callable
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
from tests.e2e.sqlite_storage import SqliteStorage

PSU, LIMIT = "customer-1", Decimal(1000)
IBANS, CURRENCIES = {1: "GB10DEMO04000431926801", 2: "DE89370400440532013000"}, {1: "GBP", 2: "EUR"}
BOOKED: dict[int, Any] = {1: 4, 2: "ACSC"}
RECEIVED: dict[int, Any] = {1: 1, 2: "RCVD"}


def make_bank(storage: SqliteStorage, version: int, key: bytes, **settings: Any) -> Bank:
    """A bank with one customer, who has one account. It books as often as it is told to."""
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
    """After a crash: what stands in the books, but was not yet told to the package."""
    for payment_id in storage.booked("booked"):
        payment = await bank.find_payment(payment_id)
        if payment is not None and payment.status == RECEIVED[bank.version]:
            await bank.report_status(payment_id, BOOKED[bank.version])


def kill_at_marked_steps(folder: Path) -> Callable[[str], None]:
    """A function that ends this process as a power failure does, once at each step that has a file."""

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
