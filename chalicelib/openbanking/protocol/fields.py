"""The open banking APIs' field types, in the specification's notation, so that a message reads like its table there.

``AN[18]`` is printable text of 1 to 18 characters, ``Text[140]`` text that people write, ``A[3]`` letters, ``N[20]`` a
number of up to 20 digits (a JSON number or a string of digits), ``Whole[100]`` a number from 1 to 100. Fields with a
specific meaning have their own types: ``Name[40]`` of a person or town, ``PayeeName[40]``, ``Id[20]`` for a bank's
identifiers, ``Digits[8]`` for account numbers, ``Amount[10]``, ``Country[2]``, ``Iban``, ``Bic``, ``Currency``, ``Day``
and ``WebAddress``. Every type also provides its JSON Schema.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from contextlib import suppress
from datetime import date
from decimal import Context, Decimal, FloatOperation, Inexact
from functools import partial, reduce
from typing import TYPE_CHECKING, Annotated, Any
from unicodedata import category

from pydantic import Field
from typing_extensions import TypeAliasType

from chalicelib.foundation.fields.field_rules import (
    BLANK,
    NO_LETTERS,
    NUMERIC,
    UNPRINTABLE,
    UNWRITTEN,
    AmountRule,
    DigitsRule,
    IdRule,
    Notation,
    NumberRule,
    TextRule,
    WholeRule,
)
from chalicelib.foundation.fields.ibans import is_iban
from chalicelib.foundation.fields.problems import fault
from chalicelib.foundation.fields.registries import countries, currencies
from chalicelib.foundation.fields.written_text import is_blank, is_written
from chalicelib.foundation.http.addresses import InvalidAddress, check_address


def _text(check: Callable[[str], str], pattern: str, description: str, example: str) -> Notation:
    """A notation for strings that pass ``check``."""

    def rule(length: int) -> TextRule:
        schema = {"pattern": pattern, "description": description, "examples": [example[:length].strip()]}
        return TextRule(check, length, schema)

    return Notation(str, rule)


def _characters(fits: Callable[[str], bool], what: str) -> Callable[[str], str]:
    """A check of a string's characters; ``what`` says which fit."""

    def check(value: str) -> str:
        return value if fits(value) else fault("characters", f"must be {what}")

    return check


def _is_in_names(character: str) -> bool:
    return character.isalpha() or character in _NAME_PUNCTUATION or category(character).startswith("M")


def _name(letters: str, description: str, example: str, *, digits: bool = False) -> Notation:
    """A notation for names; ``letters`` describes the allowed characters in error messages."""

    def check(value: str) -> str:
        if not _USUAL_NAME.fullmatch(value) and not all(
            _is_in_names(each) or (digits and each.isdecimal()) for each in value
        ):
            fault("characters", f"must contain only {letters} and the punctuation used in names")
        return fault("characters", "must not be blank") if is_blank(value) else value

    no_letters = rf"!-%*+{':' if digits else '0'}-@\[-`{{-~{NO_LETTERS}{UNWRITTEN}"
    return _text(check, f"^[{BLANK}]*[^{BLANK}{no_letters}][^{no_letters}]*$", description, example)


_USUAL_NAME = re.compile("[A-Za-zÀ-ÖØ-öø-\u02c1\u0400-\u0481\u048a-\u052f\u1e00-\u1eff '\u2019.,&/()-]+")
_NAME_PUNCTUATION = " '\u2019-.,&/()\u00a0\u00ad\u200c\u200d"
PRINTABLE_TEXT, LETTERS_ONLY = "Printable text", "Letters"

AN = _text(_characters(str.isprintable, "printable text"), f"^[^{UNPRINTABLE}]*$", PRINTABLE_TEXT, "Invoice 17")
"""Printable text (the specification's letters, digits and ``. ! @`` would exclude many addresses and names)."""
Text = _text(_characters(is_written, "printable text"), f"^[^{UNWRITTEN}]*$", PRINTABLE_TEXT, "Invoice 17")
"""Text that people write, such as a reference: printable, with no-break spaces, soft hyphens and joiners."""
A = _text(
    _characters(str.isalpha, "letters only"), rf"^[^\u0020-@\[-`{{-~{NO_LETTERS}{UNPRINTABLE}]*$", LETTERS_ONLY, "EUR"
)
Name = _name("letters, spaces", "A name: letters, spaces and ' \u2019 - . , & / ( ), without digits", "Zoë O'Brien")
"""The name of a person or town. Where the specification says letters, combining marks, spaces and punctuation are also
accepted.
"""
PayeeName = _name(
    "letters, digits, spaces",
    "The name of a payee: letters, digits, spaces and ' \u2019 - . , & / ( )",
    "Company 24 Ltd",
    digits=True,
)
"""The name of a payee, a person or company: like ``Name``, but digits are also allowed."""
N = Notation(Any, NumberRule)
"""A number with a maximum number of digits: a JSON number, or a string of digits with an optional decimal point."""
Digits = Notation(Any, DigitsRule)
"""An account number or sort code: a string of digits or a whole JSON number, kept as received."""
Id = Notation(Any, IdRule)
"""A bank's identifier: printable text, or a whole JSON number, which is converted to a string."""
Amount = Notation(Any, AmountRule)
"""An amount of money greater than zero: a JSON number or a string, written as digits with an optional decimal point.

The original notation is kept; ``decimal`` returns the value.
"""
Whole = Notation(int, WholeRule)
"""A whole number in a query, from 1 to the number in brackets; digits only."""


def decimal(value: object) -> Decimal:
    """The exact value of a valid ``N`` or ``Amount``."""
    assert isinstance(value, NUMERIC)
    return Decimal(value)


def exact_sum(values: Iterable[object]) -> Decimal:
    """The exact sum of valid ``Amount`` values; ``sum`` would round to 28 digits."""
    return reduce(_EXACT.add, map(_exact, values), Decimal())


_EXACT = Context(prec=1000, traps=[Inexact, FloatOperation])
_exact: Callable[[Any], Decimal] = _EXACT.create_decimal


def _code(name: str, codes: Callable[[], frozenset[str]], kind: str, longest: int, example: str) -> Any:
    def check(value: str) -> str:
        return value if value in codes() else fault("value", f"is not a {kind}")

    rule = TextRule(check, longest, {"description": f"A {kind}", "examples": [example]}, codes)
    return TypeAliasType(name, Annotated[str, rule])


Country = {
    2: _code("CountryAlpha2", partial(countries, 2), "country code (ISO 3166-1 alpha-2)", 2, "DE"),
    3: _code("CountryAlpha3", partial(countries, 3), "country code (ISO 3166-1 alpha-3)", 3, "DEU"),
}
"""An ISO 3166-1 country code in capitals: ``Country[2]`` is alpha-2, ``Country[3]`` alpha-3."""


def _iban(value: str) -> str:
    compact = value.replace(" ", "").upper()
    return compact if value.isascii() and is_iban(compact) else fault("value", "is not a valid IBAN")


_BIC = re.compile(r"[A-Z0-9]{4}[A-Z]{2}[A-Z0-9]{2}(?:[A-Z0-9]{3})?")


def _bic(value: str) -> str:
    upper = value.upper()
    return upper if value.isascii() and _BIC.fullmatch(upper) else fault("value", "is not a BIC of 8 or 11 characters")


_DAY = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")


def _day(value: str) -> str:
    with suppress(ValueError):
        if _DAY.fullmatch(value):
            return date.fromisoformat(value).isoformat()
    return fault("date", "must be a date, YYYY-MM-DD")


_WEB_ADDRESS = re.compile(
    r"[Hh][Tt][Tt][Pp][Ss]?://(?:[A-Za-z0-9._-]+|\[[0-9A-Fa-f:.]+\])(?::[0-9]{1,5})?"  # host and port
    r'(?:[/?][!-"$-~]*)?'  # path and query: printable ASCII, no fragment
)


def _web_address(value: str) -> str:
    with suppress(InvalidAddress):
        if _WEB_ADDRESS.fullmatch(value):
            return check_address(value, local=True)
    return fault("value", "must be an http or https URL with a host and without user information or fragment")


Timestamp = Annotated[
    str,
    Field(
        pattern=r"^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}\+00:00$",
        json_schema_extra={"format": "date-time"},
    ),
]
"""A timestamp in responses: ``2026-01-31T09:30:00+00:00``."""
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
    Iban = Annotated[
        str,
        TextRule(
            _iban,
            42,
            {
                "format": "iban",
                "minLength": 15,
                "pattern": "^ *[A-Za-z] *[A-Za-z] *[0-9] *[0-9][A-Za-z0-9 ]*$",
                "description": "An IBAN with the length, structure and check digits of its country; "
                "lower-case letters and spaces are accepted",
                "examples": ["GB33BUKB20201555555555"],
            },
        ),
    ]
    Bic = Annotated[
        str,
        TextRule(
            _bic,
            11,
            {
                "minLength": 8,
                "pattern": "^[A-Za-z0-9]{4}[A-Za-z]{2}[A-Za-z0-9]{2}(?:[A-Za-z0-9]{3})?$",
                "description": "A BIC of 8 or 11 characters",
                "examples": ["DEUTDEFF"],
            },
        ),
    ]
    Currency = _code("Currency", currencies, "currency code (ISO 4217)", 3, "EUR")
    Day = Annotated[
        str,
        TextRule(
            _day,
            None,
            {
                "format": "date",
                "minLength": 10,
                "maxLength": 10,
                "pattern": f"^{_DAY.pattern}$",
                "description": "A date, YYYY-MM-DD",
                "examples": ["2026-01-31"],
            },
        ),
    ]
    WebAddress = Annotated[
        str,
        TextRule(
            _web_address,
            2048,
            {
                "format": "uri",
                "pattern": f"^{_WEB_ADDRESS.pattern}$",
                "description": "An absolute http or https URL without user information or fragment",
                "examples": ["https://tpp.example.com/callback"],
            },
        ),
    ]
