"""The card API's field types, in the specification's notation, so that a message reads like its table there.

``N[1, 20]`` is a number of 1 to 20 digits, ``N[4]`` of exactly four; ``Digits[3]`` is the same but keeps leading zeros.
``AN[1, 10]`` is ASCII letters and digits, ``ANS[1, 100]`` printable text, ``AS[1, 50]`` letters, spaces and the
punctuation of names. ``ExtList[Id]`` is a list value. Enumerated fields take their values from ``values``, ``schemes``
or a state table.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import date
from functools import partial
from ipaddress import AddressValueError, IPv4Address
from typing import Annotated, Any, get_args
from unicodedata import category

from pydantic.fields import FieldInfo

from chalicelib.cards.protocol import payment_states, schemes, states, values
from chalicelib.cards.protocol.list_rules import ListRule, ObjectRule, SeriesRule, TextsRule
from chalicelib.cards.protocol.rules import (
    CharacterRule,
    CodeRule,
    CodeWordRule,
    FormRule,
    IntegerRule,
    NumberWordRule,
    NumericIdRule,
    OneOfRule,
    PaginatorRule,
    RangeRule,
    ValueRule,
    is_printable,
)
from chalicelib.foundation.fields.field_rules import BLANK, UNWRITTEN
from chalicelib.foundation.fields.ibans import is_iban
from chalicelib.foundation.fields.registries import country_numbers, currency_numbers
from chalicelib.foundation.lazy_dataclasses import dataclass

ENTRIES = 10
"""The maximum number of currencies, accounts or cards per request."""
PAGE = 100
"""The maximum number of entries per page."""
OBJECT_BYTES = 2000
"""The maximum size of a free-form object in bytes. A page of them must fit into the item stored for repeats."""
LIST_CHARACTERS = 65536
"""The maximum length of a list in characters."""


@dataclass(frozen=True)
class _Notation:
    """Builds a field type from the bounds in brackets; a single number is both bounds."""

    kind: type
    rule: Callable[..., ValueRule]

    def __getitem__(self, bounds: int | tuple[int, int]) -> Any:
        return Annotated[self.kind, self.rule(*bounds if isinstance(bounds, tuple) else (bounds, bounds))]


@dataclass(frozen=True)
class _ListNotation:
    """A list value: an array, a comma-separated string, or a single value; ``None`` if empty."""

    different: bool

    def __getitem__(self, entry: Any) -> Any:
        return Annotated[Any, ListRule(rule_of(entry), ENTRIES, self.different)]


def rule_of(annotation: Any) -> ValueRule:
    """The rule of an annotated field type."""
    found: ValueRule = next(each for each in annotation.__metadata__ if isinstance(each, ValueRule))
    return found


def rule_in(field: FieldInfo) -> ValueRule:
    """The rule of a model's field, which may be optional."""
    rules = [each for each in field.metadata if isinstance(each, ValueRule)]
    return rules[0] if rules else rule_of(next(each for each in get_args(field.annotation) if each is not type(None)))


# -- Numbers and lists

N = _Notation(int, IntegerRule)
Digits = _Notation(str, NumericIdRule)
Range = _Notation(int, RangeRule)
ExtList = _ListNotation(different=True)
Beside = _ListNotation(different=False)
"""A list parallel to another list; entries may repeat."""

FLAG = {0: "no", 1: "yes"}
Id = Annotated[int, IntegerRule(1, 20)]
Flag = Annotated[int, OneOfRule(FLAG)]
Level = Annotated[int, RangeRule(0, 1000)]
CurrencyIson = Annotated[int, CodeRule(currency_numbers, "numeric currency code (ISO 4217)", 978)]
CountryIson = Annotated[int, CodeRule(country_numbers, "numeric country code (ISO 3166-1)", 276)]
Paginator = Annotated[tuple[int, int], PaginatorRule(PAGE, 11)]
ItemCount = Annotated[int, RangeRule(1, PAGE, 11)]
SmallObject = Annotated[dict[str, Any], ObjectRule(OBJECT_BYTES)]

# -- Texts

_LETTERS_AND_DIGITS = re.compile("[A-Za-z0-9]+")
_LETTERS = re.compile("[A-Za-z]+")
_PLAIN_NAME = re.compile("[A-Za-zÀ-ÖØ-öø-\u02c1\u0400-\u0481\u048a-\u052f\u1e00-\u1eff '\u2019.-]+")
_NO_LETTER = f"!-&(-,/-@\\[-`{{-~\u00a1-\u00a9{UNWRITTEN}"
_ATOM = r"[^\x00- \x7f\"(),.:;<>@\[\\\]]+"
_LABEL = r"(?!-)[^\x00-,./:-@\[-`{-\x7f]{1,63}(?<!-)"
_EMAIL = re.compile(rf"(?=[^@]{{1,64}}@){_ATOM}(?:\.{_ATOM})*@(?:{_LABEL}\.)+(?![0-9]+$){_LABEL}")
"""An RFC 5321 mailbox with a domain of at least two labels and RFC 6531 international characters.

Quoted local parts and bracketed address literals are rejected.
"""
_DAY = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")


def _is_name(text: str) -> bool:
    """Whether text consists of letters of any script, combining marks, spaces, apostrophes, hyphens and dots.

    At least one letter is required.
    """
    fits = _PLAIN_NAME.fullmatch(text) or all(
        character.isalpha() or character in " '\u2019.-\u00a0\u00ad\u200c\u200d" or category(character)[0] == "M"
        for character in text
    )
    return bool(fits) and any(map(str.isalpha, text))


def _read_day(text: str) -> str | None:
    try:
        return str(date.fromisoformat(text if _DAY.fullmatch(text) else ""))
    except ValueError:
        return None


def _read_ipv4(text: str) -> str | None:
    """Return a dotted decimal address without leading zeros; ``None`` for any other text."""
    try:
        return str(IPv4Address(text))
    except AddressValueError:
        return None


def _reader(pattern: re.Pattern[str]) -> Callable[[str], str | None]:
    return lambda text: text if pattern.fullmatch(text) else None


def _text(allowed: Callable[[str], object], reason: str, pattern: str, example: str) -> _Notation:
    return _Notation(str, partial(CharacterRule, allowed=allowed, reason=reason, pattern=pattern, example=example))


AN = _text(_LETTERS_AND_DIGITS.fullmatch, "ASCII letters and digits", "^[A-Za-z0-9]+$", "AB12")
A = _text(_LETTERS.fullmatch, "ASCII letters", "^[A-Za-z]+$", "EN")
ANS = _text(is_printable, "non-blank printable text", f"^[^{UNWRITTEN}]*$", "Riverside 12")
AS = _text(
    _is_name,
    "letters, spaces, apostrophes, hyphens and dots, as in names",
    f"^[{BLANK}]*[^{BLANK}{_NO_LETTER}][^{_NO_LETTER}]*$",
    "Zoë",
)

Day = Annotated[
    str, FormRule(10, 10, bool, "", f"^{_DAY.pattern}$", "1990-01-31", _read_day, "a date, YYYY-MM-DD", "date")
]
Phone = Annotated[str, NumericIdRule(6, 15, "447700900123")]
Iban = Annotated[
    str,
    FormRule(
        15,
        34,
        _LETTERS_AND_DIGITS.fullmatch,
        "ASCII letters and digits",
        "^[A-Za-z]{2}[0-9]{2}[A-Za-z0-9]+$",
        "DE89370400440532013000",
        lambda text: text.upper() if is_iban(text.upper()) else None,
        "an IBAN with valid check digits",
        described="An IBAN, without spaces",
    ),
]
"""An IBAN; lower-case letters are converted to upper case."""
_BRITISH_NUMBER = re.compile("[0-9]{6,8}")


def _read_british_number(text: str) -> str | None:
    """Return the eight digits of a British account number; one of six or seven gets leading zeros (Pay.UK)."""
    return text.zfill(8) if _BRITISH_NUMBER.fullmatch(text) else None


BritishAccountNumber = Annotated[
    str,
    FormRule(
        1,
        26,
        _LETTERS_AND_DIGITS.fullmatch,
        "ASCII letters and digits",
        f"^{_BRITISH_NUMBER.pattern}$",
        "31926819",
        _read_british_number,
        "a British account number of 8 digits, or of 6 or 7 without leading zeros",
    ),
]
_PRINTABLE = str.isprintable, "printable text"
_EMAIL_PATTERN = "^[^@ ]{1,64}@[^@ ]+[.][^@ ]+$"
Email = Annotated[
    str, FormRule(6, 100, *_PRINTABLE, _EMAIL_PATTERN, "zoe@example.com", _reader(_EMAIL), "an email address", "email")
]
Ipv4 = Annotated[
    str,
    FormRule(
        7, 15, *_PRINTABLE, "^[0-9]{1,3}([.][0-9]{1,3}){3}$", "203.0.113.7", _read_ipv4, "an IPv4 address", "ipv4"
    ),
]

# -- Series in one string

_PAIR = rf"[0-9]{{4,11}}\+[^,{UNWRITTEN}]{{1,15}}"
_COUNTRY = "[0-9]{1,3}"


def _read_country(text: str) -> str | None:
    """Return a country code padded with zeros to three digits; ``None`` if it is unknown."""
    return f"{int(text):03}" if re.fullmatch(_COUNTRY, text) and int(text) in country_numbers() else None


def _series(pattern: str, reason: str, example: str, read: Callable[[str], str | None] | None = None) -> SeriesRule:
    whole = f"^ *{pattern} *(, *{pattern} *)*$"
    form = read or _reader(re.compile(pattern))
    return SeriesRule(LIST_CHARACTERS, form, f"{reason}, separated by commas", whole, example)


Pairs = Annotated[
    tuple[str, ...],
    _series(_PAIR, "pairs of acquirer BIN and merchant id, joined by +", "400012+SHOP0001,400012+SHOP0002"),
]
Mccs = Annotated[tuple[str, ...], _series("[0-9]{4}", "merchant category codes of exactly 4 digits", "5411,5812")]
Countries = Annotated[
    tuple[str, ...], _series(_COUNTRY, "numeric country codes (ISO 3166-1)", "276,826", _read_country)
]
Merchants = Annotated[tuple[str, ...], TextsRule(LIST_CHARACTERS)]

# -- Enumerated fields

_HOLDER_TYPE = NumberWordRule(values.HOLDER_TYPES)
HolderType = Annotated[int, _HOLDER_TYPE]
HolderTypeWord = Annotated[str, _HOLDER_TYPE]
KindOfCard = Annotated[int, OneOfRule(values.KINDS_OF_CARD)]
KeptOrNew = Annotated[int, OneOfRule(values.KEPT_OR_NEW)]
PinStatus = Annotated[int, OneOfRule(states.PIN_STATES)]
ReasonCode = Annotated[int, OneOfRule(values.REASONS, 20)]
LimitType = Annotated[int, OneOfRule(values.LIMIT_TYPES)]
TransactionType = Annotated[int, OneOfRule(values.TRANSACTION_TYPES, 2)]
CardTransactionType = Annotated[int, OneOfRule(values.CARD_TRANSACTION_TYPES, 2)]
EntryModeType = Annotated[int, OneOfRule(values.ENTRY_MODES, 2)]
EciIndicator = Annotated[int, OneOfRule(values.ECI_INDICATORS)]
AuthorizeType = Annotated[int, OneOfRule(values.AUTHORIZE_TYPES)]
AccountGroup = Annotated[str, CodeWordRule(values.ACCOUNT_GROUPS, 20, 1)]
AccountStatus = Annotated[str, CodeWordRule(states.ACCOUNT_STATES)]
NewAccountStatus = Annotated[str, CodeWordRule(states.NEW_ACCOUNT_STATES)]
CardStatus = Annotated[str, CodeWordRule(states.CARD_STATES)]
CardStatusToSet = Annotated[str, CodeWordRule(states.CARD_STATES_TO_SET)]
ConfirmationStatus = Annotated[str, CodeWordRule(values.CONFIRMATIONS)]
ResponseCode = Annotated[str, CodeWordRule(values.RESPONSE_CODES, 2)]
DisputeStep = Annotated[str, CodeWordRule(states.DISPUTE_STEPS, 10, 1)]
EpmMethod = Annotated[int, OneOfRule(schemes.METHODS, 20)]
EpmType = Annotated[int, OneOfRule(values.EPM_TYPES)]
AccountType = Annotated[int, OneOfRule(values.ACCOUNT_TYPES)]
AssignmentState = Annotated[int, OneOfRule(values.ASSIGNMENT_STATES)]
NumberedDebitReason = Annotated[int, OneOfRule(values.NUMBERED_DEBIT_REASONS, 6)]
AddressStatus = Annotated[str, CodeWordRule(payment_states.ADDRESS_STATES)]
PaymentState = Annotated[str, CodeWordRule(payment_states.PAYMENT_STATES)]
KindOfPayment = Annotated[str, CodeWordRule(payment_states.PAYMENT_KINDS, 6, 1)]
MandateState = Annotated[str, CodeWordRule(payment_states.MANDATE_STATES)]
DirectDebitReason = Annotated[str, CodeWordRule(values.DIRECT_DEBIT_REASONS, 6, 1)]
Scheme = Annotated[str, CodeWordRule(schemes.SCHEME_NAMES, 255, 1)]
PaymentResult = Annotated[str, CodeWordRule(payment_states.RESULT_MEANINGS, 20, 1)]
