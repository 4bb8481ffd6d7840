"""The field types of the open banking APIs, named in the notation of the specification's message tables.

``AN[18]`` is printable text of 1 to 18 characters, ``Text[140]`` is text written by people, ``A[3]`` is text of letters
only, ``N[20]`` is a number of up to 20 digits (a JSON number or a string of digits), and ``Whole[100]`` is a whole
number from 1 to 100. Fields with a specific meaning have their own types: ``Name[40]`` for a person or town,
``PayeeName[40]`` for a payee, ``Id[20]`` for a bank's identifiers, ``Digits[8]`` for account numbers, ``Amount[10]``,
``Country[2]``, ``Iban``, ``Bic``, ``Currency``, ``Day`` and ``WebAddress``. Every type also provides its JSON Schema.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import Annotated, Any

from pydantic import Field
from typing_extensions import TypeAliasType

from chalicelib.foundation.fields.decimal_rules import AmountRule, NumberRule
from chalicelib.foundation.fields.field_types import (
    BLANK,
    DAY,
    NO_LETTERS,
    PRINTABLE,
    UNPRINTABLE,
    UNWRITTEN,
    Characters,
    FormRule,
    Notation,
    in_names,
    read_day,
)
from chalicelib.foundation.fields.ibans import LONGEST_PASTED, PASTED, read_iban
from chalicelib.foundation.fields.number_rules import DigitsRule, IdRule, WholeRule
from chalicelib.foundation.fields.problems import fault
from chalicelib.foundation.fields.registries import countries, currencies
from chalicelib.foundation.fields.written_text import is_blank, is_written
from chalicelib.foundation.http.addresses import InvalidAddress, check_address

AN = PRINTABLE.notation()
"""Printable text. The specification allows letters, digits and ``. ! @``, which would exclude many addresses and names.
"""
Text = Characters(
    is_written, PRINTABLE.reason, f"^[^{UNWRITTEN}]*$", PRINTABLE.description, PRINTABLE.example
).notation()
"""Text written by people, such as a payment reference: printable characters, no-break spaces, soft hyphens and joiners.
"""
A = Characters(
    str.isalpha, "must be letters only", rf"^[^\u0020-@\[-`{{-~{NO_LETTERS}{UNPRINTABLE}]*$", "Letters", "EUR"
).notation()


def _is_visible(text: str) -> bool:
    return not is_blank(text) or fault("characters", "must not be blank")


def _name(
    letters: str, no_letters: str, is_letter: Callable[[str], bool], description: str, example: str, more: str = ""
) -> Notation:
    """Return the field type for a kind of name. ``letters`` describes the allowed characters. ``no_letters`` is part of
    a regular expression for ASCII characters that are not allowed. ``more`` has further allowed punctuation.
    """
    fits = in_names(f"'\u2019-.,&/(){more}", _is_visible, is_letter)
    others = rf"{no_letters}\[-`{{-~{NO_LETTERS}{UNWRITTEN}"
    reason = f"must contain only {letters} and the punctuation used in names"
    pattern = f"^[{BLANK}]*[^{BLANK}{others}][^{others}]*$"
    return Characters(fits, reason, pattern, description, example).notation()


Name = _name(
    "letters, spaces",
    "!-%*+0-@",
    str.isalpha,
    "A name: letters, spaces and ' \u2019 - . , & / ( ), without digits",
    "Zoë O'Brien",
)
"""The name of a person or town. Combining marks, spaces and punctuation are accepted, although the specification allows
only letters.
"""
PayeeName = _name(
    "letters, digits, spaces",
    "!-%*;->@",
    lambda character: character.isalpha() or character.isdecimal(),
    "The name of a payee: letters, digits, spaces and ' \u2019 - . , & / ( ) + : ?",
    "Company 24 Ltd",
    "+:?",
)
"""The name of a payee, a person or company: like ``Name``, with digits and all characters of SEPA
payments.
"""
N = Notation(Any, NumberRule)
"""A number with a maximum number of digits: a JSON number, or a string of digits with an optional decimal point."""
Digits = Notation(Any, DigitsRule)
"""An account number or sort code: a string of digits or a whole JSON number. The value is not converted."""
Id = Notation(Any, IdRule)
"""A bank's identifier: printable text, or a whole JSON number, which is converted to a string."""
Amount = Notation(Any, AmountRule)
"""An amount of money greater than zero: a JSON number or a string, written as digits with an optional decimal point.

The original notation is kept; ``decimal`` returns the value.
"""
Whole = Notation(int, WholeRule)
"""A whole number in a query, written with digits only, from 1 to the number in brackets."""


def _code(name: str, codes: Callable[[], frozenset[str]], kind: str, longest: int, example: str) -> Any:
    """Return the type of a code from a registry, such as a country code."""
    schema = {"description": f"A {kind}", "examples": [example]}
    rule = FormRule(lambda text: text if text in codes() else None, schema, f"is not a {kind}", longest, codes=codes)
    return TypeAliasType(name, Annotated[str, rule])


Country = {
    2: _code("CountryAlpha2", partial(countries, 2), "country code (ISO 3166-1 alpha-2)", 2, "DE"),
    3: _code("CountryAlpha3", partial(countries, 3), "country code (ISO 3166-1 alpha-3)", 3, "DEU"),
}
"""An ISO 3166-1 country code in capitals: ``Country[2]`` is alpha-2, ``Country[3]`` alpha-3."""


_BIC = re.compile(r"[A-Z0-9]{4}[A-Z]{2}[A-Z0-9]{2}(?:[A-Z0-9]{3})?")


def _read_bic(text: str) -> str | None:
    upper = text.upper()
    return upper if text.isascii() and _BIC.fullmatch(upper) else None


_WEB_ADDRESS = re.compile(
    r"[Hh][Tt][Tt][Pp][Ss]?://(?:[A-Za-z0-9._-]+|\[[0-9A-Fa-f:.]+\])(?::[0-9]{1,5})?"  # host and port
    r'(?:[/?][!-"$-~]*)?'  # path and query: printable ASCII, no fragment
)


def _read_web_address(text: str) -> str | None:
    with suppress(InvalidAddress):
        if _WEB_ADDRESS.fullmatch(text):
            return check_address(text, local=True)
    return None


Timestamp = Annotated[
    str,
    Field(
        pattern=r"^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}\+00:00$",
        json_schema_extra={"format": "date-time"},
    ),
]
"""A UTC timestamp in responses, for example ``2026-01-31T09:30:00+00:00``."""
Uuid = Annotated[
    str, Field(pattern="^[0-9A-Fa-f]{8}(?:-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}$", json_schema_extra={"format": "uuid"})
]

Iban = Annotated[
    str,
    FormRule(
        read_iban,
        {
            "minLength": 15,
            "pattern": PASTED,
            "description": "An IBAN with the length, structure and check digits of its country; "
            "lower-case letters, spaces, hyphens and the word IBAN before it are accepted",
            "examples": ["GB33BUKB20201555555555"],
        },
        "is not a valid IBAN",
        longest=LONGEST_PASTED,
        format="iban",
    ),
]
Bic = Annotated[
    str,
    FormRule(
        _read_bic,
        {
            "minLength": 8,
            "pattern": "^[A-Za-z0-9]{4}[A-Za-z]{2}[A-Za-z0-9]{2}(?:[A-Za-z0-9]{3})?$",
            "description": "A BIC of 8 or 11 characters",
            "examples": ["DEUTDEFF"],
        },
        "is not a BIC of 8 or 11 characters",
        longest=11,
    ),
]
Currency = _code("Currency", currencies, "currency code (ISO 4217)", 3, "EUR")
Day = Annotated[
    str,
    FormRule(
        read_day,
        {
            "minLength": 10,
            "maxLength": 10,
            "pattern": f"^{DAY.pattern}$",
            "description": "A date, YYYY-MM-DD",
            "examples": ["2026-01-31"],
        },
        "must be a date, YYYY-MM-DD",
        kind="date",
        format="date",
    ),
]
WebAddress = Annotated[
    str,
    FormRule(
        _read_web_address,
        {
            "pattern": f"^{_WEB_ADDRESS.pattern}$",
            "description": "An absolute http or https URL without user information or fragment",
            "examples": ["https://tpp.example.com/callback"],
        },
        "must be an http or https URL with a host and without user information or fragment",
        longest=2048,
        format="uri",
    ),
]
