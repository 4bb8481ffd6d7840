"""How the banks speak to people: scopes in plain words, money, dates and account numbers as they are read."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime

from chalicelib.demo_bank.customers import MINOR_DIGITS

_SYMBOLS = {"GBP": "£", "EUR": "€", "USD": "$"}


@dataclass(frozen=True, slots=True)
class Words:
    """What a scope allows, as the PSU reads it."""

    title: str
    meaning: str


SCOPE_WORDS: Mapping[str, Words] = {
    "account.list": Words(
        "See which accounts you have", "The names, numbers and currencies of the accounts you choose."
    ),
    "account.balance": Words("See your balances", "How much money is in the accounts you choose, now and later."),
    "account.details": Words("See account details", "The details of each account you choose, such as its IBAN."),
    "account.payments": Words("See your payments", "The list of payments made from and to the accounts you choose."),
    "account.payment": Words("See single payments", "All details of one payment: who, how much, when and what for."),
    "payment.init": Words("Prepare payments", "You confirm every single payment here before any money moves."),
    "card_based.funds_confirmations": Words(
        "Ask whether there is enough money", "We answer yes or no to an amount; your balance is not shown."
    ),
    "accounts": Words("See which accounts you have", "The names, numbers and currencies of the accounts you choose."),
    "accounts.balances": Words("See your balances", "How much money is in the accounts you choose, now and later."),
    "accounts.transactions": Words("See your transactions", "Booked and pending transactions of the chosen accounts."),
    "payments.single": Words("Prepare payments", "You confirm every single payment here before any money moves."),
    "payments.bulk": Words(
        "Prepare payments in bulk", "Many payments in one go; you confirm the whole list here first."
    ),
    "funds_confirmations": Words(
        "Ask whether there is enough money", "We answer yes or no to an amount; your balance is not shown."
    ),
}


def scope_words(scope: str) -> Words:
    """A scope in plain words; one that is not known is called by its name."""
    return SCOPE_WORDS.get(scope, Words(scope, "A permission that this page has no words for."))


def money(minor: int, currency: str) -> str:
    """An amount in minor units as ``£1,234.56`` or ``SEK 1,234.56``."""
    whole, fraction = divmod(abs(minor), 10**MINOR_DIGITS)
    sign = "\N{MINUS SIGN}" if minor < 0 else ""
    symbol = _SYMBOLS.get(currency, f"{currency}\N{NO-BREAK SPACE}")
    return f"{sign}{symbol}{whole:,}.{fraction:0{MINOR_DIGITS}d}"


def grouped(number: str) -> str:
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
