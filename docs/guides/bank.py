"""A small bank of version 1 or 2: accounts, payments, a consent page and a confirmation page."""

import logging
import os
import sys
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from pathlib import Path

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
    InsufficientFunds,
    ListedPaymentV1,
    Order,
    Payment,
    Refused,
    TransactionAmountV2,
    TransactionsV2,
    TransactionV2,
)

if len(sys.argv) != 2 or not sys.argv[1].isdecimal() or not all(map(os.environ.get, ("VERSION", "API_KEY", "HUB"))):
    sys.exit("usage: VERSION=2 API_KEY=… HUB=http://127.0.0.1:8000 .venv/bin/python docs/guides/bank.py PORT")

bank = Bank(
    version=int(os.environ["VERSION"]),
    hub=os.environ["HUB"],
    api_key=os.environ["API_KEY"],
    private_key=Path(".local/bank.pem").read_bytes(),
    base_url=f"http://127.0.0.1:{sys.argv[1]}",
    name="Example Bank",
)

# A real bank has a database, for this data and for the consents and payments that `bank` keeps: all is lost on exit.
IBAN, CURRENCY = "DE89370400440532013000", "EUR"
ACCOUNTS: dict[int, Account] = {
    1: AccountV1(id="1", name="Current account", iban=IBAN, currency=CURRENCY),
    2: AccountReferenceV2(resource_id="1", name="Current account", iban=IBAN, currency=CURRENCY),
}
TODAY = datetime.now(UTC).date()
BOOKED = [
    ListedPaymentV1(
        id=f"B{5 - days}",
        reference="Books",
        description="Books",
        date_created=str(TODAY - timedelta(days=days)),
        amount=Decimal("-8.50"),
    )
    for days in range(5)  # the newest first
]
balance = Decimal(1000)


@bank.psu
async def sign_in(request: Request) -> str:
    """The customer at the browser. A real bank signs customers in, with strong authentication."""
    return "customer-1"


@bank.accounts
async def list_accounts(call: Call) -> list[Account]:
    """The customer's accounts. Only those that the customer approved reach the hub."""
    return [ACCOUNTS[bank.version]]


@bank.balances
async def read_balance(call: Call, account: Account) -> list[BalanceV1] | list[BalanceV2]:
    """The balances of an account."""
    if isinstance(account, AccountV1):
        return [BalanceV1(id=account.id, name=account.name, balance=balance, currency=CURRENCY)]
    return [BalanceV2(balance_amount=BalanceAmountV2(amount=balance, currency=CURRENCY), balance_type="interimBooked")]


@bank.payments
async def list_payments(call: Call, account: AccountV1) -> list[ListedPaymentV1]:
    """The payments of an account in version 1. They are sent in pages."""
    return BOOKED


@bank.transactions
async def list_transactions(call: Call, account: AccountReferenceV2) -> TransactionsV2:
    """The transactions of an account in version 2. They are filtered, and sent in pages."""
    return TransactionsV2(booked=[in_version_2(row) for row in BOOKED])


def in_version_2(row: ListedPaymentV1) -> TransactionV2:
    """A payment of the list as a transaction of version 2."""
    amount = TransactionAmountV2(amount=row.amount, currency=CURRENCY, booking_date=row.date_created)
    return TransactionV2(transaction_id=row.id, transaction_amount=amount)


@bank.pay
async def take_order(order: Order) -> None:
    """Accept an order, which the customer confirms later, or refuse it."""
    if set(order.totals) != {CURRENCY}:
        raise Refused(f"this account is in {CURRENCY}")
    if order.totals[CURRENCY] > balance:
        raise InsufficientFunds


@bank.confirmed
async def book(payment: Payment) -> None:
    """Book a payment that the customer has confirmed, or refuse it."""
    global balance
    await take_order(payment.order)
    balance -= payment.order.totals[CURRENCY]


logging.basicConfig(format="%(message)s", stream=sys.stdout)
logging.getLogger("causeway").setLevel(logging.INFO)  # one line for each webhook
uvicorn.run(bank, port=int(sys.argv[1]), log_level="warning")
