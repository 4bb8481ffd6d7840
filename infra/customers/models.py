"""The format of a customer file: its members with types, lengths and ranges."""

from __future__ import annotations

import re
from datetime import date
from decimal import Decimal
from typing import Annotated, Any, Literal, get_args

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, StringConstraints

from chalicelib.demo_bank.books import MOST_PENDING_DAYS, MOST_RULES, BookMeans, Every
from chalicelib.demo_bank.profiles import PROFILES
from chalicelib.foundation.fields.ibans import is_iban
from chalicelib.foundation.fields.registries import currencies
from chalicelib.foundation.fields.written_text import is_blank, is_written

MOST_ACCOUNTS = 20
MOST_TRANSACTIONS = 1000
BANKS = {profile.bic: profile for profile in PROFILES if not profile.plays_faults}
"""The banks that can have loaded customers, by BIC."""

_FIRST, _LAST = date(2000, 1, 1), date(2099, 12, 31)
_DAY = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
_AMOUNT = re.compile(r"-?[0-9]{1,13}(\.[0-9]{1,4})?")


def _check_printable(text: str) -> str:
    if not is_written(text) or is_blank(text) or text != text.strip():
        raise ValueError("must be printable text without leading or trailing spaces")
    return text


def _check_id(text: str) -> str:
    if not re.fullmatch(r"[a-z][a-z0-9-]{0,29}", text):
        raise ValueError("must begin with a small letter, and have at most 30 small letters, digits and hyphens")
    return text


def _check_number(text: str) -> str:
    if not re.fullmatch(r"[0-9]{8}", text):
        raise ValueError("must have 8 digits")
    return text


def _check_bank(bic: str) -> str:
    if bic not in BANKS:
        raise ValueError(f"must be {' or '.join(BANKS)}")
    return bic


def _check_currency(code: str) -> str:
    if code not in currencies():
        raise ValueError("must be the alphabetic ISO 4217 code of a currency with minor units")
    return code


def _check_iban(text: str) -> str:
    if not is_iban(text):
        raise ValueError("must be a valid IBAN, in capitals and without spaces")
    return text


def _check_amount(text: str) -> str:
    if not _AMOUNT.fullmatch(text):
        raise ValueError(
            "must be an amount: at most 13 digits and a decimal point if needed, with - before a negative one"
        )
    return text


def _check_movement(text: str) -> str:
    if not Decimal(text):
        raise ValueError("must not be 0")
    return text


def _parse_day(value: Any) -> date:
    try:
        day = date.fromisoformat(value) if isinstance(value, str) and _DAY.fullmatch(value) else None
    except ValueError:
        day = None
    if day is None or not _FIRST <= day <= _LAST:
        raise ValueError(f"must be a day from {_FIRST} to {_LAST}, written like these")
    return day


def _check_distinct(values: list[Any]) -> list[Any]:
    if len(set(values)) < len(values):
        raise ValueError("must not contain duplicates")
    return values


def _check_range(amounts: list[str]) -> list[str]:
    lowest, *others = amounts or [""]
    if len(others) != 1 or Decimal(lowest) * Decimal(others[0]) < 0 or Decimal(lowest) > Decimal(others[0]):
        raise ValueError("must be two amounts, the lower one first, both above or both below 0")
    return amounts


Name = Annotated[str, StringConstraints(min_length=1, max_length=50), AfterValidator(_check_printable)]
About = Annotated[str, StringConstraints(min_length=1, max_length=100), AfterValidator(_check_printable)]
Text = Annotated[str, StringConstraints(min_length=1, max_length=140), AfterValidator(_check_printable)]
Bank = Annotated[str, AfterValidator(_check_bank)]
Weekday = Literal["monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"]
WEEKDAYS: tuple[Weekday, ...] = get_args(Weekday)
Amount = Annotated[str, AfterValidator(_check_amount)]
Movement = Annotated[Amount, AfterValidator(_check_movement)]
Day = Annotated[date, BeforeValidator(_parse_day)]
Iban = Annotated[str, AfterValidator(_check_iban)]


class Part(BaseModel):
    """The base class of all parts of the file: strict types, no unknown members."""

    model_config = ConfigDict(strict=True, extra="forbid", frozen=True)


class ParticularsPart(Part):
    """The details of a transaction."""

    counterparty: Name
    text: Text
    iban: Iban | None = None
    means: BookMeans = "transfer"
    pending_days: Annotated[int, Field(ge=0, le=MOST_PENDING_DAYS)] = 0


class TransactionPart(ParticularsPart):
    """A listed transaction, booked on ``date``."""

    day: Day = Field(alias="date")
    amount: Movement


class RulePart(ParticularsPart):
    """A rule for recurring transactions: ``day`` is the day of the month, and ``between`` has the lowest and the
    highest amount.
    """

    every: Every
    day: Annotated[int, Field(ge=1, le=31)] | None = None
    weekday: Weekday | None = None
    starts_on: Day | None = Field(default=None, alias="from")
    ends_on: Day | None = Field(default=None, alias="until")
    amount: Movement | None = None
    between: Annotated[list[Movement], AfterValidator(_check_range)] | None = None


class AccountPart(Part):
    """An account. ``balance`` is the balance at the beginning of the day ``balance_on``."""

    number: Annotated[str, AfterValidator(_check_number)]
    name: Name
    currency: Annotated[str, AfterValidator(_check_currency)]
    iban: Iban | None = None
    balance: Amount
    balance_on: Day
    transactions: Annotated[list[TransactionPart], Field(max_length=MOST_TRANSACTIONS)] = []
    rules: Annotated[list[RulePart], Field(max_length=MOST_RULES)] = []


class CustomerPart(Part):
    """A customer of one or several banks."""

    id: Annotated[str, AfterValidator(_check_id)]
    banks: Annotated[list[Bank], Field(min_length=1), AfterValidator(_check_distinct)]
    name: Name
    about: About
    accounts: Annotated[list[AccountPart], Field(min_length=1, max_length=MOST_ACCOUNTS)]


class CustomersFile(Part):
    """The whole file."""

    customers: Annotated[list[CustomerPart], Field(min_length=1)]
