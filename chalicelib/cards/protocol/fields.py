"""The card API's field types, in the specification's notation, so that a message is declared as in its specification.

``N[1, 20]`` is a number of 1 to 20 digits, and ``N[4]`` is a number of exactly four digits. ``Digits[3]`` is a number
of three digits with leading zeros retained. ``AN[1, 10]`` is ASCII letters and digits, ``ANS[1, 100]`` is printable
text, and ``AS[1, 50]`` is letters, spaces and the punctuation of names. ``ExtList[Id]`` is a list value. Enumerated
fields take their values from ``values``, ``schemes`` or a state table.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from ipaddress import AddressValueError, IPv4Address
from typing import Annotated, Any

from chalicelib.cards.protocol import payment_states, schemes, states, values
from chalicelib.foundation.fields.field_types import (
    BLANK,
    DAY,
    PRINTABLE,
    UNWRITTEN,
    Characters,
    FormRule,
    Json,
    Notation,
    ValueRule,
    capitalize,
    check_length,
    in_names,
    is_visible,
    read_day,
    reader,
    rule_of,
)
from chalicelib.foundation.fields.ibans import LONGEST_PASTED, PASTED, compact_iban, read_iban
from chalicelib.foundation.fields.list_rules import ListRule, ObjectRule, SeriesRule, TextsRule
from chalicelib.foundation.fields.number_rules import (
    CodeRule,
    CodeWordRule,
    IntegerRule,
    NumberWordRule,
    NumericIdRule,
    OneOfRule,
    RangeRule,
    digits_of,
)
from chalicelib.foundation.fields.problems import fault
from chalicelib.foundation.fields.registries import country_numbers, currency_numbers
from chalicelib.foundation.lazy_dataclasses import dataclass

ENTRIES = 10
"""The maximum number of currencies, accounts or cards per request."""
PAGE = 100
"""The maximum number of entries per page."""
OBJECT_BYTES = 2000
"""The maximum size of a free-form object in bytes. A page of free-form objects must fit into the item that is stored
for duplicate requests.
"""
LIST_CHARACTERS = 65536
"""The maximum length of a list in characters."""


@dataclass(frozen=True, slots=True, eq=False)
class PaginatorRule(ValueRule):
    """A page of a list: ``item_count`` entries from the zero-based ``offset``."""

    most: int
    digits: int

    def check(self, value: Any) -> tuple[int, int]:
        if type(value) is not dict:
            fault("type", "must be an object")
        if any(name not in ("item_count", "offset") for name in value):
            fault("unknown", "must have only item_count and offset")
        found = []
        for name in ("item_count", "offset"):
            if value.get(name) is None:
                fault("missing", f"must have {name}")
            found.append(int(digits_of(value[name], self.digits, unit=f"digits in {name}")))
        if not 1 <= found[0] <= self.most:
            fault("value", f"must have an item_count from 1 to {self.most}")
        return found[0], found[1]

    def json_schema(self) -> Json:
        count = {"type": ["integer", "string"], "minimum": 1, "maximum": self.most, "pattern": "^[0-9]{1,11}$"}
        return {
            "type": "object",
            "properties": {
                "item_count": count | {"description": f"Entries per page, at most {self.most}"},
                "offset": IntegerRule(self.digits).json_schema()
                | {"description": "Zero-based index of the first entry"},
            },
            "required": ["item_count", "offset"],
            "additionalProperties": False,
            "examples": [{"item_count": 20, "offset": 0}],
        }


# -- Numbers and lists

N = Notation(int, IntegerRule, exact=True)
Digits = Notation(str, NumericIdRule, exact=True)
Range = Notation(int, RangeRule)
ExtList = Notation(Any, lambda entry: ListRule(rule_of(entry), ENTRIES))
"""A list value: an array, a comma-separated string, or a single value. An empty list is ``None``."""
Beside = Notation(Any, lambda entry: ListRule(rule_of(entry), ENTRIES, different=False))
"""A list with one entry for each entry of another list. Duplicate entries are allowed."""

FLAG = {0: "no", 1: "yes"}
Id = Annotated[int, IntegerRule(20)]
Flag = Annotated[int, OneOfRule(FLAG)]
Level = Annotated[int, RangeRule(1000, lowest=0)]
CurrencyIson = Annotated[int, CodeRule(currency_numbers, "numeric currency code (ISO 4217)", 978)]
CountryIson = Annotated[int, CodeRule(country_numbers, "numeric country code (ISO 3166-1)", 276)]
Paginator = Annotated[tuple[int, int], PaginatorRule(PAGE, 11)]
ItemCount = Annotated[int, RangeRule(PAGE, lowest=1, digits=11)]
SmallObject = Annotated[dict[str, Any], ObjectRule(OBJECT_BYTES)]

# -- Texts

_LETTERS_AND_DIGITS = Characters(
    re.compile("[A-Za-z0-9]+").fullmatch,
    "must be ASCII letters and digits",
    "^[A-Za-z0-9]+$",
    "ASCII letters and digits",
    "AB12",
)
_NO_LETTER = f"!-&(-,/-@\\[-`{{-~\u00a1-\u00a9{UNWRITTEN}"

AN = _LETTERS_AND_DIGITS.notation(exact=True)
A = Characters(
    re.compile("[A-Za-z]+").fullmatch, "must be ASCII letters", "^[A-Za-z]+$", "ASCII letters", "EN"
).notation(exact=True)
ANS = Characters(
    is_visible, "must be non-blank printable text", f"^[^{UNWRITTEN}]*$", "Non-blank printable text", "Riverside 12"
).notation(exact=True)
AS = Characters(
    in_names("'\u2019.-", lambda text: any(map(str.isalpha, text))),
    "must be letters, spaces, apostrophes, hyphens and dots, as in names",
    f"^[{BLANK}]*[^{BLANK}{_NO_LETTER}][^{_NO_LETTER}]*$",
    "Letters, spaces, apostrophes, hyphens and dots, as in names",
    "Zoë",
).notation(exact=True)

# -- Forms

_ATOM = r"[^\x00- \x7f\"(),.:;<>@\[\\\]]+"
_LABEL = r"(?!-)[^\x00-,./:-@\[-`{-\x7f]{1,63}(?<!-)"
_EMAIL = re.compile(rf"(?=[^@]{{1,64}}@){_ATOM}(?:\.{_ATOM})*@(?:{_LABEL}\.)+(?![0-9]+$){_LABEL}")
"""An RFC 5321 mailbox with a domain of at least two labels and RFC 6531 international characters.

Quoted local parts and bracketed address literals are rejected.
"""


def _read_ipv4(text: str) -> str | None:
    """Return a dotted decimal address without leading zeros, or ``None`` for any other text."""
    try:
        return str(IPv4Address(text))
    except AddressValueError:
        return None


def _form(
    read: Callable[[str], str | None],
    called: str,
    lengths: tuple[int, int],
    characters: Characters | None,
    pattern: str,
    example: str,
    format: str = "",
    description: str = "",
) -> FormRule:
    """Return the rule of a text format. Messages use the name ``called``, and JSON Schema uses ``description`` or this
    name.
    """
    schema = {"pattern": pattern, "description": description or capitalize(called), "examples": [example]}
    shortest, longest = lengths
    return FormRule(read, schema, f"must be {called}", longest, shortest, characters, format=format)


Day = Annotated[str, _form(read_day, "a date, YYYY-MM-DD", (10, 10), None, f"^{DAY.pattern}$", "1990-01-31", "date")]
Phone = Annotated[str, NumericIdRule(15, 6, "447700900123")]
_IBAN_CHARACTERS = Characters(
    re.compile(PASTED).fullmatch, "must be ASCII letters and digits", PASTED, "ASCII letters and digits", "DE89"
)


def _read_iban(text: str) -> str | None:
    check_length(len(compact_iban(text)), 34, 15)
    return read_iban(text)


Iban = Annotated[
    str,
    _form(
        _read_iban,
        "an IBAN with valid check digits",
        (15, LONGEST_PASTED),
        _IBAN_CHARACTERS,
        PASTED,
        "DE89370400440532013000",
        description="An IBAN; lower-case letters, spaces, hyphens and the word IBAN before it are accepted",
    ),
]
"""An IBAN, which is read in capitals without spaces."""
_BRITISH_NUMBER = re.compile("[0-9]{6,8}")


def _read_british_number(text: str) -> str | None:
    """Return the eight digits of a British account number. A number of six or seven digits gets leading zeros
    (Pay.UK).
    """
    return text.zfill(8) if _BRITISH_NUMBER.fullmatch(text) else None


BritishAccountNumber = Annotated[
    str,
    _form(
        _read_british_number,
        "a British account number of 8 digits, or of 6 or 7 without leading zeros",
        (1, 26),
        _LETTERS_AND_DIGITS,
        f"^{_BRITISH_NUMBER.pattern}$",
        "31926819",
    ),
]
_EMAIL_PATTERN = "^[^@ ]{1,64}@[^@ ]+[.][^@ ]+$"
Email = Annotated[
    str, _form(reader(_EMAIL), "an email address", (6, 100), PRINTABLE, _EMAIL_PATTERN, "zoe@example.com", "email")
]
_IPV4_PATTERN = "^[0-9]{1,3}([.][0-9]{1,3}){3}$"
Ipv4 = Annotated[str, _form(_read_ipv4, "an IPv4 address", (7, 15), PRINTABLE, _IPV4_PATTERN, "203.0.113.7", "ipv4")]

# -- Series in one string

_PAIR = rf"[0-9]{{4,11}}\+[^,{UNWRITTEN}]{{1,15}}"
_COUNTRY = "[0-9]{1,3}"


def _read_country(text: str) -> str | None:
    return f"{int(text):03}" if re.fullmatch(_COUNTRY, text) and int(text) in country_numbers() else None


def _series(pattern: str, reason: str, example: str, read: Callable[[str], str | None] | None = None) -> SeriesRule:
    whole = f"^ *{pattern} *(, *{pattern} *)*$"
    form = read or reader(re.compile(pattern))
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
