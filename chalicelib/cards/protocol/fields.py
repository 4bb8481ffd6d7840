"""The card API's field vocabulary: the specification's notations as types, so that a message reads like its table.

``N[1, 20]`` is a number of 1 to 20 digits, ``N[4]`` of exactly four; ``Digits[3]`` the same where leading zeros count.
``AN[1, 10]`` is ASCII letters and digits, ``ANS[1, 100]`` printable text, ``AS[1, 50]`` letters with the spaces and
marks of names. ``Id``, ``Flag``, ``Level``, ``CurrencyIson``, ``CountryIson``, ``Day``, ``Phone``, ``Iban``,
``Email``, ``Ipv4``, ``Paginator``, ``ItemCount`` and ``SmallObject`` say what they hold, ``ExtList`` is a list value,
``choice`` and ``letter`` make types of value lists.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Annotated, Any, get_args
from unicodedata import category

from pydantic.fields import FieldInfo

from chalicelib.cards.protocol.contact_rules import EMAIL, IPV4
from chalicelib.cards.protocol.list_rules import ListRule, ObjectRule, SeriesRule, TextsRule
from chalicelib.cards.protocol.rules import (
    CodeRule,
    CodeWordRule,
    DayRule,
    DigitsRule,
    IbanRule,
    NumberRule,
    OneOfRule,
    PaginatorRule,
    RangeRule,
    TextRule,
    ValueRule,
)
from chalicelib.foundation.fields.field_rules import UNPRINTABLE
from chalicelib.foundation.fields.registries import country_numbers, currency_numbers

ENTRIES = 10
"""So many currencies, accounts or cards may be named in one call."""
PAGE = 100
"""So many entries a page has at most."""
OBJECT_BYTES = 2000
"""So large an object of whatever members may be: a page of them is kept for repeats in one item."""

Bounds = int | tuple[int, int]


def _bounds(bounds: Bounds) -> tuple[int, int]:
    return bounds if isinstance(bounds, tuple) else (bounds, bounds)


class N:
    """A whole number of so many digits; it becomes an ``int``."""

    def __class_getitem__(cls, bounds: Bounds) -> Any:
        return Annotated[int, NumberRule(*_bounds(bounds))]


class Digits:
    """A number whose leading zeros count: it becomes a string."""

    def __class_getitem__(cls, bounds: Bounds) -> Any:
        return Annotated[str, DigitsRule(*_bounds(bounds))]


class Range:
    """A whole number from the first value to the second."""

    def __class_getitem__(cls, bounds: tuple[int, int]) -> Any:
        return Annotated[int, RangeRule(*bounds)]


def _printable(text: str) -> bool:
    return text.isprintable() and not text.isspace()


_PLAIN_NAME = re.compile("[A-Za-zÀ-ÖØ-öø-\u02c1\u0400-\u0481\u048a-\u052f\u1e00-\u1eff '\u2019.-]+")


def _of_names(text: str) -> bool:
    """Letters of every script with their marks, spaces, apostrophe, hyphen and dot; one letter at least."""
    fits = _PLAIN_NAME.fullmatch(text) or all(
        character.isalpha() or character in " '\u2019.-" or category(character)[0] == "M" for character in text
    )
    return bool(fits) and any(map(str.isalpha, text))


_LETTERS_AND_DIGITS = re.compile("[A-Za-z0-9]+")
_LETTERS = re.compile("[A-Za-z]+")


def _text(allowed: Callable[[str], object], reason: str, pattern: str, example: str) -> Any:
    class Text:
        def __class_getitem__(cls, bounds: Bounds) -> Any:
            return Annotated[str, TextRule(*_bounds(bounds), allowed, reason, pattern, example)]

    return Text


if TYPE_CHECKING:

    class AN:
        """ASCII letters and digits."""

    class A:
        """ASCII letters."""

    class ANS:
        """Printable text."""

    class AS:
        """Letters with the spaces and marks of names."""
else:
    AN = _text(_LETTERS_AND_DIGITS.fullmatch, "ASCII letters and digits", "^[A-Za-z0-9]+$", "AB12")
    A = _text(_LETTERS.fullmatch, "ASCII letters", "^[A-Za-z]+$", "EN")
    ANS = _text(_printable, "printable text, and not blank", f"^[^{UNPRINTABLE}]*$", "Riverside 12")
    AS = _text(
        _of_names,
        "letters, spaces, apostrophes, hyphens and dots, as in names",
        f"^ *[^ !-&(-,/-@\\[-`{{-~\u00a1-\u00a9{UNPRINTABLE}][^!-&(-,/-@\\[-`{{-~\u00a1-\u00a9{UNPRINTABLE}]*$",
        "Zoë",
    )


def letter(meanings: Mapping[str, str]) -> Any:
    """One of some letters."""
    return Annotated[str, CodeWordRule(meanings)]


def word(meanings: Mapping[str, str], length: int, shortest: int = 0) -> Any:
    """One of some strings of a length, or of different lengths from ``shortest`` on."""
    return Annotated[str, CodeWordRule(meanings, length, shortest)]


def choice(meanings: Mapping[int, str], digits: int = 1) -> Any:
    """One of some numbers."""
    return Annotated[int, OneOfRule(meanings, digits)]


class ExtList:
    """A list value of the interface: an array, a string with commas, or one value; ``None`` when it is empty."""

    def __class_getitem__(cls, entry: Any) -> Any:
        return Annotated[Any, ListRule(rule_of(entry), ENTRIES)]


class Beside:
    """A list value whose entries belong to those of another list: one may be there twice."""

    def __class_getitem__(cls, entry: Any) -> Any:
        return Annotated[Any, ListRule(rule_of(entry), ENTRIES, different=False)]


def rule_of(annotation: Any) -> ValueRule:
    """The rule of an annotated field type."""
    found: ValueRule = next(each for each in annotation.__metadata__ if isinstance(each, ValueRule))
    return found


def rule_in(field: FieldInfo) -> ValueRule:
    """The rule of a model's field, which may be optional."""
    rules = [each for each in field.metadata if isinstance(each, ValueRule)]
    return rules[0] if rules else rule_of(next(each for each in get_args(field.annotation) if each is not type(None)))


FLAG = {0: "no", 1: "yes"}

if TYPE_CHECKING:
    Id = int
    Flag = int
    Level = int
    CurrencyIson = int
    CountryIson = int
    Day = str
    Phone = str
    Iban = str
    Email = str
    Ipv4 = str
    Paginator = tuple[int, int]
    ItemCount = int
    SmallObject = dict[str, Any]
else:
    Id = N[1, 20]
    Flag = choice(FLAG)
    Level = Range[0, 1000]
    CurrencyIson = Annotated[int, CodeRule(currency_numbers, "numeric currency code of ISO 4217", 978)]
    CountryIson = Annotated[int, CodeRule(country_numbers, "numeric country code of ISO 3166-1", 276)]
    Day = Annotated[str, DayRule()]
    Phone = Annotated[str, DigitsRule(6, 15, "447700900123")]
    Iban = Annotated[str, IbanRule()]
    Email = Annotated[str, EMAIL]
    Ipv4 = Annotated[str, IPV4]
    Paginator = Annotated[Any, PaginatorRule(PAGE, 11)]
    ItemCount = Annotated[int, RangeRule(1, PAGE, 11)]
    SmallObject = Annotated[Any, ObjectRule(OBJECT_BYTES)]


LIST_CHARACTERS = 65536
"""So long may each list be."""

_PAIR = rf"[0-9]{{4,11}}\+[^,{UNPRINTABLE}]{{1,15}}"
_MCC = "[0-9]{4}"
_COUNTRY = "[0-9]{1,3}"


def _matching(pattern: str) -> Callable[[str], str | None]:
    compiled = re.compile(pattern)
    return lambda text: text if compiled.fullmatch(text) else None


def _country(text: str) -> str | None:
    """A country's code with its leading zeros."""
    return f"{int(text):03}" if re.fullmatch(_COUNTRY, text) and int(text) in country_numbers() else None


def _series(form: Callable[[str], str | None], pattern: str, reason: str, example: str) -> Any:
    whole = f"^ *{pattern} *(, *{pattern} *)*$"
    return Annotated[Any, SeriesRule(LIST_CHARACTERS, form, f"{reason}, with commas between them", whole, example)]


if TYPE_CHECKING:
    Pairs = tuple[str, ...]
    Mccs = tuple[str, ...]
    Countries = tuple[str, ...]
    Merchants = tuple[str, ...]
else:
    Pairs = _series(
        _matching(_PAIR),
        _PAIR,
        "pairs of acquirer BIN and merchant id, joined by +",
        "400012+SHOP0001,400012+SHOP0002",
    )
    Mccs = _series(_matching(_MCC), _MCC, "merchant category codes of exactly 4 digits", "5411,5812")
    Countries = _series(_country, _COUNTRY, "numeric country codes of ISO 3166-1", "276,826")
    Merchants = Annotated[Any, TextsRule(LIST_CHARACTERS)]
