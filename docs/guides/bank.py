"""A small bank of version 1 or 2: accounts, payments, a consent page and a confirmation page."""

import logging
import os
import sys
from decimal import Decimal
from pathlib import Path

import uvicorn
from starlette.requests import Request

from causeway.bank import (
    Account,
    AccountReferenceV2,
    AccountV1,
    Bank,
    Call,
    InsufficientFunds,
    ListedPaymentV1,
    Order,
    Payment,
    Refused,
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
BOOKED = [
    ListedPaymentV1(
        id=f"B{day}", reference="Books", description="Books", date_created=f"2026-11-0{day}", amount=Decimal("-8.50")
    )
    for day in range(5, 0, -1)  # the newest first
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


@bank.payments
async def list_payments(call: Call, account: AccountV1) -> list[ListedPaymentV1]:
    """The payments of an account in version 1. They are sent in pages."""
    return BOOKED


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
