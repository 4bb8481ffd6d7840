"""The field vocabulary: the specification's types as types, so that a message reads like its table.

``AN[18]`` is printable text of 1 to 18 characters, ``A[3]`` letters, ``N[20]`` up to 20 digits (a JSON number or a
string of digits), ``Whole[100]`` a number from 1 to 100. Where the specification's letters and numbers mean something,
the type says what: ``Name[40]`` of a person or town, ``PayeeName[40]``, ``Id[20]`` by which a bank names something,
``Digits[8]`` of an account number, ``Amount[10]`` of money, ``Country[2]``; ``Iban``, ``Bic``, ``Currency``, ``Day``
and ``WebAddress`` what their names say.
A ``Message`` refuses unknown members; an ``OpenMessage``, for what a bank answers, lets them through.

Every type also tells JSON Schema what it takes.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from datetime import date
from decimal import Context, Decimal, FloatOperation, Inexact
from functools import partial, reduce
from itertools import islice
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeVar
from unicodedata import category

from pydantic import BaseModel, ConfigDict, Field, ValidationError
from typing_extensions import TypeAliasType

from chalicelib.foundation.fields.field_rules import (
    NO_LETTERS,
    NUMERIC,
    UNPRINTABLE,
    AmountRule,
    DigitsRule,
    IdRule,
    Json,
    NumberRule,
    TextRule,
    WholeRule,
)
from chalicelib.foundation.fields.ibans import is_iban
from chalicelib.foundation.fields.problems import InvalidMessage, Kind, Problem, fault, problems_of
from chalicelib.foundation.fields.registries import countries, currencies
from chalicelib.foundation.http.addresses import InvalidAddress, check_address

__all__ = [
    "AN",
    "A",
    "Amount",
    "Bic",
    "Country",
    "Currency",
    "Day",
    "Digits",
    "Iban",
    "Id",
    "InvalidMessage",
    "Kind",
    "Message",
    "N",
    "Name",
    "OpenMessage",
    "PayeeName",
    "Problem",
    "Timestamp",
    "Uuid",
    "WebAddress",
    "Whole",
    "currencies",
    "decimal",
    "exact_sum",
    "fault",
]

_PROBLEMS = 50  # as many as one answer tells
M = TypeVar("M", bound="Message")


class Message(BaseModel):
    """A JSON object with exactly the members that its model declares."""

    model_config = ConfigDict(extra="forbid", frozen=True, defer_build=True, hide_input_in_errors=True)

    @classmethod
    def read(cls: type[M], value: object) -> M:
        """Check a parsed JSON value. Raises: InvalidMessage."""
        if not isinstance(value, dict):
            raise InvalidMessage([Problem("", "type", "the body must be a JSON object")])
        try:
            return cls.model_validate(value)
        except ValidationError as error:
            raise InvalidMessage(list(islice(problems_of(cls, error), _PROBLEMS))) from None


class OpenMessage(Message):
    """A JSON object that may have more members than its model declares."""

    model_config = ConfigDict(extra="allow")


class _Text:
    """A constrained string; subclasses say which characters are allowed."""

    pattern: str
    example: str
    description: str

    @staticmethod
    def check(value: str) -> str:
        raise NotImplementedError

    @classmethod
    def json_schema(cls, length: int) -> Json:
        example = cls.example[:length].strip()
        return {"pattern": cls.pattern, "description": cls.description, "examples": [example]}

    def __class_getitem__(cls, length: int) -> Any:
        return Annotated[str, TextRule(cls.check, length, partial(cls.json_schema, length))]


class AN(_Text):
    """Printable text (the specification's letters, digits and ``. ! @`` would refuse addresses and names)."""

    pattern = f"^[^{UNPRINTABLE}]*$"
    example = "Invoice 17"
    description = "Printable text"

    @staticmethod
    def check(value: str) -> str:
        return value if value.isprintable() else fault("characters", "must be printable text")


class A(_Text):
    """Letters."""

    pattern = rf"^[^\u0020-@\[-`{{-~{NO_LETTERS}{UNPRINTABLE}]*$"
    example = "EUR"
    description = "Letters"

    @staticmethod
    def check(value: str) -> str:
        return value if value.isalpha() else fault("characters", "must be letters only")


class Name(_Text):
    """The name of a person or town, where the specification says letters: also combining marks, spaces, punctuation."""

    pattern = r"^ *[^ {0}][^{0}]*$".format(rf"!-%*+0-@\[-`{{-~{NO_LETTERS}{UNPRINTABLE}")
    example = "Zoë O'Brien"
    description = "A name: letters, spaces and ' \u2019 - . , & / ( ), without digits"

    @staticmethod
    def check(value: str) -> str:
        if not _USUAL_NAME.fullmatch(value) and not all(map(_is_in_names, value)):
            fault("characters", "must be letters, spaces and the punctuation of names")
        return value if value.strip() else fault("characters", "must not be blank")


class PayeeName(_Text):
    """The name of a payee, person or company: as ``Name``, and digits."""

    pattern = r"^ *[^ {0}][^{0}]*$".format(rf"!-%*+:-@\[-`{{-~{NO_LETTERS}{UNPRINTABLE}")
    example = "Company 24 Ltd"
    description = "The name of a payee: letters, digits, spaces and ' \u2019 - . , & / ( )"

    @staticmethod
    def check(value: str) -> str:
        if not _USUAL_NAME.fullmatch(value) and not all(each.isdecimal() or _is_in_names(each) for each in value):
            fault("characters", "must be letters, digits, spaces and the punctuation of names")
        return value if value.strip() else fault("characters", "must not be blank")


_USUAL_NAME = re.compile("[A-Za-zÀ-ÖØ-öø-\u02c1\u0400-\u0481\u048a-\u052f\u1e00-\u1eff '\u2019.,&/()-]+")


def _is_in_names(character: str) -> bool:
    return character.isalpha() or character in " '\u2019-.,&/()" or category(character).startswith("M")


class N:
    """A number of at most so many digits: a JSON number, or a string of digits with an optional decimal dot."""

    def __class_getitem__(cls, length: int) -> Any:
        return Annotated[Any, NumberRule(length)]


class Digits:
    """An account number or sort code: a string of digits, or a whole JSON number; it is kept as it came."""

    def __class_getitem__(cls, length: int) -> Any:
        return Annotated[Any, DigitsRule(length)]


class Id:
    """What identifies something at a bank: printable text, or a whole JSON number, which becomes its digits as text."""

    def __class_getitem__(cls, length: int) -> Any:
        return Annotated[Any, IdRule(length)]


class Amount:
    """An amount of money greater than zero: a JSON number or a string, written as digits with an optional decimal dot.

    It is kept exactly as it came; ``decimal`` tells its value.
    """

    def __class_getitem__(cls, length: int) -> Any:
        return Annotated[Any, AmountRule(length)]


def decimal(value: object) -> Decimal:
    """The exact value of an accepted ``N`` or ``Amount``."""
    assert isinstance(value, NUMERIC)
    return Decimal(value)


def exact_sum(values: Iterable[object]) -> Decimal:
    """What accepted ``Amount`` values come to; unlike ``sum``, without rounding to 28 digits."""
    return reduce(_EXACT.add, map(_exact, values), Decimal())


_EXACT = Context(prec=1000, traps=[Inexact, FloatOperation])
_exact: Callable[[Any], Decimal] = _EXACT.create_decimal


class Whole:
    """A whole number from 1 to the length in brackets, as a query has it: nothing but digits."""

    def __class_getitem__(cls, highest: int) -> Any:
        return Annotated[int, WholeRule(highest)]


class Country:
    """A country code of ISO 3166-1 in capitals: ``Country[2]`` is alpha-2, ``Country[3]`` alpha-3."""

    def __class_getitem__(cls, letters: Literal[2, 3]) -> Any:
        return _COUNTRIES[letters]


def _country(letters: Literal[2, 3], example: str) -> Any:
    def check(value: str) -> str:
        if value not in countries(letters):
            fault("value", f"is not a country code of ISO 3166-1 alpha-{letters}")
        return value

    def describe() -> Json:
        description = f"A country code of ISO 3166-1 alpha-{letters}"
        return {"enum": sorted(countries(letters)), "description": description, "examples": [example]}

    return TypeAliasType(f"CountryAlpha{letters}", Annotated[str, TextRule(check, letters, describe)])


_COUNTRIES = {2: _country(2, "DE"), 3: _country(3, "DEU")}


def _iban(value: str) -> str:
    compact = value.replace(" ", "").upper()
    return compact if value.isascii() and is_iban(compact) else fault("value", "is not a valid IBAN")


def _iban_schema() -> Json:
    return {
        "format": "iban",
        "minLength": 15,
        "pattern": "^ *[A-Za-z] *[A-Za-z] *[0-9] *[0-9][A-Za-z0-9 ]*$",
        "description": "An IBAN: its length, structure and check digits are those of its country; small letters and "
        "spaces are taken too",
        "examples": ["GB33BUKB20201555555555"],
    }


_BIC = re.compile(r"[A-Z0-9]{4}[A-Z]{2}[A-Z0-9]{2}(?:[A-Z0-9]{3})?")


def _bic(value: str) -> str:
    upper = value.upper()
    return upper if value.isascii() and _BIC.fullmatch(upper) else fault("value", "is not a BIC of 8 or 11 characters")


def _bic_schema() -> Json:
    return {
        "minLength": 8,
        "pattern": "^[A-Za-z0-9]{4}[A-Za-z]{2}[A-Za-z0-9]{2}(?:[A-Za-z0-9]{3})?$",
        "description": "A BIC of 8 or 11 characters",
        "examples": ["DEUTDEFF"],
    }


def _currency(value: str) -> str:
    return value if value in currencies() else fault("value", "is not a currency code of ISO 4217")


def _currency_schema() -> Json:
    return {"enum": sorted(currencies()), "description": "A currency code of ISO 4217", "examples": ["EUR"]}


_DAY = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")


def _day(value: str) -> str:
    if not _DAY.fullmatch(value):
        fault("date", "must be a date, YYYY-MM-DD")
    try:
        date.fromisoformat(value)
    except ValueError:
        fault("date", "must be a date, YYYY-MM-DD")
    return value


def _day_schema() -> Json:
    return {
        "format": "date",
        "minLength": 10,
        "maxLength": 10,
        "pattern": f"^{_DAY.pattern}$",
        "description": "A date, YYYY-MM-DD",
        "examples": ["2026-01-31"],
    }


_WEB_ADDRESS = re.compile(
    r"https?://(?:[A-Za-z0-9._-]+|\[[0-9A-Fa-f:.]+\])(?::[0-9]{1,5})?"  # host and port
    r'(?:[/?][!-"$-~]*)?'  # path and query: what ASCII can print, but no fragment
)


def _web_address(value: str) -> str:
    try:
        if _WEB_ADDRESS.fullmatch(value):
            return check_address(value, local=True)
    except InvalidAddress:
        pass
    return fault("value", "must be an http or https address with a host, without user information and fragment")


def _web_address_schema() -> Json:
    return {
        "format": "uri",
        "pattern": f"^{_WEB_ADDRESS.pattern}$",
        "description": "An absolute http or https address without user information and fragment",
        "examples": ["https://tpp.example.com/callback"],
    }


Timestamp = Annotated[
    str,
    Field(
        pattern=r"^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}\+00:00$",
        json_schema_extra={"format": "date-time"},
    ),
]
"""A point in time as answers have it: ``2026-01-31T09:30:00+00:00``."""
Uuid = Annotated[
    str, Field(pattern="^[0-9A-Fa-f]{8}(?:-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}$", json_schema_extra={"format": "uuid"})
]

if TYPE_CHECKING:
    Iban = str
    Bic = str
    Currency = str
    Day = str
    WebAddress = str
else:
    Iban = Annotated[str, TextRule(_iban, 42, _iban_schema)]
    Bic = Annotated[str, TextRule(_bic, 11, _bic_schema)]
    Currency = TypeAliasType("Currency", Annotated[str, TextRule(_currency, 3, _currency_schema)])
    Day = Annotated[str, TextRule(_day, None, _day_schema)]
    WebAddress = Annotated[str, TextRule(_web_address, 2048, _web_address_schema)]
