"""The account of the small test bank and the bank's responses to reads. Faulty banks override a method."""

from decimal import Decimal
from typing import Any

from chalicelib.foundation.fields.ibans import make_iban
from chalicelib.openbanking.protocol import v1_version
from chalicelib.openbanking.protocol.errors import Fault, Refusal
from chalicelib.openbanking.protocol.version import Version

NUMBER, SORT_CODE = "01234567", "040004"
IBAN = make_iban("GB", f"DEMO{SORT_CODE}{NUMBER}")
ACCOUNT_ID, CURRENCY = "1001", "GBP"
BALANCE = Decimal("250.00")
DAYS = [f"2026-11-0{day}" for day in range(5, 0, -1)]
"""The days of the booked entries, newest first."""
Members = dict[str, Any]


class BankReads:
    def __init__(self, version: Version) -> None:
        self.version = version

    def covers(self, amount: Decimal) -> bool:
        return amount <= BALANCE

    def listed(self) -> list[Members]:
        return [self.account()]

    def account(self) -> Members:
        if self.version is v1_version.VERSION:
            return {"id": int(ACCOUNT_ID), "name": "Current account", "iban": IBAN, "currency": CURRENCY}
        numbers = {"account_number": NUMBER, "sort_code": SORT_CODE}
        return {"resource_id": ACCOUNT_ID, "iban": IBAN, **numbers, "currency": CURRENCY, "name": "Current account"}

    def read(self, name: str, asked: Members) -> Members:
        match name:
            case "accounts":
                return {"accounts": self.listed()}
            case "account":
                return {"account": self.account()}
            case "account_balance":
                return self.balance_1(asked) if self.version is v1_version.VERSION else self.balances_2(asked)
            case "account_payments":
                return self.payments_1(asked)
            case "account_payment":
                return self.one_payment_1(asked)
            case "account_transactions":
                return self.transactions_2(asked)
        return self.funds(asked)

    def balance_1(self, _: Members) -> Members:
        return {"accounts": [{"id": int(ACCOUNT_ID), "name": "Current", "balance": str(BALANCE), "currency": CURRENCY}]}

    def balances_2(self, _: Members) -> Members:
        amount = {"amount": str(BALANCE), "currency": CURRENCY}
        return {"balances": [{"balance_amount": amount, "balance_type": "interimAvailable"}]}

    def payment_1(self, number: int) -> Members:
        return {
            "id": f"B{number}",
            "reference": "Books",
            "date_created": DAYS[number],
            "amount": "-8.50",
            "status": 4,
            "type": "Bank transfer",
            "description": "Books",
            "additional_data": [self.parties_1()],
        }

    def parties_1(self) -> Members:
        receiver = {"iban": "GB33BUKB20201555555555", "account_name": "Books", "currency": CURRENCY}
        return {"sender_data": {"iban": IBAN, "currency": CURRENCY}, "receiver_data": receiver}

    def payments_1(self, asked: Members) -> Members:
        limit, page = asked.get("record_count", 100), asked.get("current_page", 1)
        rows = [self.payment_1(number) for number in range(len(DAYS))][(page - 1) * limit : page * limit]
        return {"payments": rows, "paginator": {"limit": limit, "current_page": page}}

    def one_payment_1(self, asked: Members) -> Members:
        if asked["payment_id"] not in [f"B{number}" for number in range(len(DAYS))]:
            raise Refusal(Fault.UNKNOWN_RESOURCE, "there is no such payment")
        return {"payment": self.payment_1(int(asked["payment_id"][1:]))}

    def transactions_2(self, asked: Members) -> Members:
        """Return a page in which ``page_size`` counts booked and pending transactions separately."""
        size, start = asked.get("page_size", 100), int(asked.get("page_key", 0))
        found = {name: rows[start:] for name, rows in self.transactions(asked).items()}
        more = {"page_key": str(start + size)} if any(len(rows) > size for rows in found.values()) else {}
        return {"transactions": {name: rows[:size] for name, rows in found.items()}, **more}

    def transactions(self, asked: Members) -> dict[str, list[Members]]:
        """Return the requested transactions of all pages. Pending transactions have no date."""
        days = [day for day in DAYS if asked.get("date_from", day) <= day <= asked.get("date_to", day)]
        rows = {"booked": [_transaction(day) for day in days], "pending": [_transaction(None)]}
        return {name: found if asked["booking_status"] in ("both", name) else [] for name, found in rows.items()}

    def funds(self, asked: Members) -> Members:
        return {"funds_available": self.covers(Decimal(str(asked["instructed_amount"]["amount"])))}


def _transaction(day: str | None) -> Members:
    days = {"value_date": day, "booking_date": day} if day else {}
    amount = {"amount": "-8.50", "currency": CURRENCY, **days}
    return {
        "transaction_id": f"T{day or 'pending'}",
        "creditor_name": "Books",
        "creditor_account": {"iban": "GB33BUKB20201555555555"},
        "debtor_account": {"iban": IBAN},
        "transaction_amount": amount,
    }
