"""A bank of either version that implements every function, with two accounts."""

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

import uvicorn
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat, PublicFormat
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
    ListedPaymentV1,
    Order,
    Payment,
    PaymentV1,
    Refused,
    TransactionAccountV2,
    TransactionAmountV2,
    TransactionsV2,
    TransactionV2,
)

API_KEY = "FULLGB2.the-key-of-the-full-bank"
PSU = "psu-1"
IBANS = ("GB10DEMO04000431926801", "GB25DEMO04000401234567")
NUMBERS = ("31926801", "01234567")
SORT_CODE, CURRENCY = "040004", "GBP"
BALANCE = Decimal("250.00")
DAYS = [f"2026-11-0{day}" for day in range(5, 0, -1)]
"""The days of the booked transactions, newest first."""


def make_key() -> rsa.RSAPrivateKey:
    return rsa.generate_private_key(public_exponent=65537, key_size=2048)


def private_pem(key: rsa.RSAPrivateKey) -> bytes:
    return key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())


def public_pem(key: rsa.RSAPrivateKey) -> str:
    return key.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo).decode()


KEY = make_key()


@dataclass
class FullBank:
    bank: Bank
    orders: list[Order] = field(default_factory=list)
    booked: list[Payment] = field(default_factory=list)
    revoked: list[Consent] = field(default_factory=list)
    psu: str = PSU
    before_booking: Callable[[Payment], Any] = lambda payment: None


def make_bank(version: int, hub: str, base_url: str, **options: Any) -> FullBank:
    settings = {"api_key": API_KEY, "private_key": private_pem(KEY), "name": "Full Bank", **options}
    full_bank = FullBank(Bank(version=version, hub=hub, base_url=base_url, **settings))
    _fill_reads(full_bank.bank, version)
    _fill_payments(full_bank)
    return full_bank


def _fill_reads(bank: Bank, version: int) -> None:
    @bank.accounts
    def accounts(call: Call) -> list[Account]:
        return [account(version, number) for number in range(2)] if call.psu == PSU else []

    @bank.balances
    def balances(call: Call, of: Account) -> list[BalanceV1] | list[BalanceV2]:
        if isinstance(of, AccountV1):
            return [BalanceV1(id=of.id, name=of.name, balance=BALANCE, currency=of.currency)]
        amount = BalanceAmountV2(amount=BALANCE, currency=of.currency)
        return [BalanceV2(balance_amount=amount, balance_type="interimAvailable")]

    @bank.payments
    async def payments(call: Call, of: AccountV1) -> list[ListedPaymentV1]:
        return [ListedPaymentV1.from_json(listed(number)) for number in range(len(DAYS))]

    @bank.payment
    async def payment(call: Call, payment_id: str) -> PaymentV1 | None:
        found = [PaymentV1.from_json(listed(number)) for number in range(len(DAYS)) if payment_id == f"B{number}"]
        return found[0] if found else None

    @bank.transactions
    def transactions(call: Call, of: AccountReferenceV2) -> TransactionsV2:
        return TransactionsV2(booked=[transaction(day) for day in DAYS], pending=[transaction(None)])

    @bank.funds
    def funds(call: Call, of: Account, amount: Decimal, currency: str) -> bool:
        return currency == of.currency and amount <= BALANCE


def _fill_payments(full_bank: FullBank) -> None:
    bank = full_bank.bank

    @bank.psu
    async def psu(request: Request) -> str:
        return full_bank.psu

    @bank.pay
    async def pay(order: Order) -> None:
        if set(order.totals) != {CURRENCY}:
            raise Refused(f"this account is in {CURRENCY}")
        if order.totals[CURRENCY] > BALANCE:
            raise InsufficientFunds
        full_bank.orders.append(order)

    @bank.confirmed
    async def confirmed(payment: Payment) -> None:
        full_bank.booked.append(payment)
        full_bank.before_booking(payment)

    @bank.revoked
    def revoked(consent: Consent) -> None:
        full_bank.revoked.append(consent)


def account(version: int, number: int) -> Account:
    name = ("Everyday account", "Savings account")[number]
    if version == 1:
        return AccountV1(id=str(1001 + number), name=name, iban=IBANS[number], currency=CURRENCY)
    return AccountReferenceV2(
        resource_id=str(1001 + number),
        iban=IBANS[number],
        account_number=NUMBERS[number],
        sort_code=SORT_CODE,
        currency=CURRENCY,
        name=name,
    )


def listed(number: int) -> dict[str, Any]:
    return {
        "id": f"B{number}",
        "reference": "Books",
        "date_created": DAYS[number],
        "amount": "-8.50",
        "status": 4,
        "type": "Bank transfer",
        "description": "Books",
        "additional_data": [{"sender_data": {"iban": IBANS[0], "currency": CURRENCY}}],
    }


def transaction(day: str | None) -> TransactionV2:
    """Return a transaction in the format of version 2. A transaction without a day is pending."""
    amount = TransactionAmountV2(amount=Decimal("-8.50"), currency=CURRENCY, value_date=day, booking_date=day)
    return TransactionV2(
        transaction_id=f"T{day or 'pending'}",
        creditor_name="Books",
        debtor_account=TransactionAccountV2(iban=IBANS[0]),
        transaction_amount=amount,
    )


@contextmanager
def serving(bank: Bank, port: int) -> Iterator[None]:
    server = uvicorn.Server(uvicorn.Config(bank, port=port, log_level="warning"))
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    try:
        while not server.started and thread.is_alive():
            time.sleep(0.01)
        assert server.started
        yield
    finally:
        server.should_exit = True
        thread.join()
