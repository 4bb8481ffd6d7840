"""How the banks speak to people: scopes in plain words, money, dates and account numbers as they are read."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime

from chalicelib.demo_bank.customers import MINOR_DIGITS

_SYMBOLS = {"GBP": "£", "EUR": "€", "USD": "$"}


@dataclass(frozen=True, slots=True)
class ScopeText:
    """What a scope allows, as the PSU reads it."""

    title: str
    meaning: str


SCOPE_TEXTS: Mapping[str, ScopeText] = {
    "account.list": ScopeText(
        "See which accounts you have", "The names, numbers and currencies of the accounts you choose."
    ),
    "account.balance": ScopeText("See your balances", "How much money is in the accounts you choose, now and later."),
    "account.details": ScopeText("See account details", "The details of each account you choose, such as its IBAN."),
    "account.payments": ScopeText(
        "See your payments", "The list of payments made from and to the accounts you choose."
    ),
    "account.payment": ScopeText(
        "See single payments", "All details of one payment: who, how much, when and what for."
    ),
    "payment.init": ScopeText("Prepare payments", "You confirm every single payment here before any money moves."),
    "card_based.funds_confirmations": ScopeText(
        "Ask whether there is enough money", "We answer yes or no to an amount; your balance is not shown."
    ),
    "accounts": ScopeText(
        "See which accounts you have", "The names, numbers and currencies of the accounts you choose."
    ),
    "accounts.balances": ScopeText("See your balances", "How much money is in the accounts you choose, now and later."),
    "accounts.transactions": ScopeText(
        "See your transactions", "Booked and pending transactions of the chosen accounts."
    ),
    "payments.single": ScopeText("Prepare payments", "You confirm every single payment here before any money moves."),
    "payments.bulk": ScopeText(
        "Prepare payments in bulk", "Many payments in one go; you confirm the whole list here first."
    ),
    "funds_confirmations": ScopeText(
        "Ask whether there is enough money", "We answer yes or no to an amount; your balance is not shown."
    ),
}


def scope_text(scope: str) -> ScopeText:
    """A scope in plain words; one that is not known is called by its name."""
    return SCOPE_TEXTS.get(scope, ScopeText(scope, "A permission that this page has no words for."))


def money(minor: int, currency: str) -> str:
    """An amount in minor units as ``£1,234.56`` or ``SEK 1,234.56``."""
    whole, fraction = divmod(abs(minor), 10**MINOR_DIGITS)
    sign = "\N{MINUS SIGN}" if minor < 0 else ""
    symbol = _SYMBOLS.get(currency, f"{currency}\N{NO-BREAK SPACE}")
    return f"{sign}{symbol}{whole:,}.{fraction:0{MINOR_DIGITS}d}"


def group_by_four(number: str) -> str:
    """An IBAN in groups of four."""
    return " ".join(number[start : start + 4] for start in range(0, len(number), 4))


def sort_code(code: str) -> str:
    """``040004`` as ``04-00-04``."""
    return "-".join(code[start : start + 2] for start in range(0, len(code), 2))


def day(seconds: int) -> str:
    """Unix seconds as ``21 November 2026``."""
    moment = datetime.fromtimestamp(seconds, UTC)
    return f"{moment.day} {moment:%B %Y}"


def day_of_month(moment: date) -> str:
    """A date as ``21 Nov``, where the year is plain from what is around it."""
    return f"{moment.day} {moment:%b}"
