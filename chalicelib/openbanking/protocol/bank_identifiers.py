"""Identifiers of banks: one rule for identifiers in banks' responses, in consents and in requests.

An identifier is printable text of at most 255 characters. A bank may also write it as a whole number. A page key and a
payment id have at most 1024 characters. A bank's response with an identifier that no request could contain is unusable.
The specification's shorter lengths are advice for banks: longer identifiers are logged and passed on.
"""

from __future__ import annotations

from functools import partial
from typing import Annotated, Any, TypeGuard

from chalicelib.foundation.fields.decimal_rules import NumberRule
from chalicelib.foundation.fields.field_types import PRINTABLE, FormRule, Notation
from chalicelib.foundation.fields.number_rules import IdRule
from chalicelib.foundation.fields.problems import fault
from chalicelib.foundation.lazy_dataclasses import dataclass

LONGEST_ID = 255
LONGEST_PAYMENT_ID = 1024
LONGEST_PAGE_KEY = 1024


def is_identifier(value: object, longest: int = LONGEST_ID) -> TypeGuard[str]:
    """Whether a request can contain ``value`` as an identifier."""
    return isinstance(value, str) and 1 <= len(value) <= longest and value.isprintable()


def is_payment_id(value: object) -> TypeGuard[str]:
    """Whether ``value`` can be used as a payment id in queries and reports."""
    return is_identifier(value, LONGEST_PAYMENT_ID)


def _check(text: str, longest: int) -> str:
    """Check an identifier from a bank. A problem of the kind ``identifier`` makes the bank's response unusable."""
    if not text:
        fault("empty", "must not be empty")
    if not is_identifier(text, longest):
        fault("identifier", f"must be printable text of at most {longest} characters")
    return text


@dataclass(frozen=True, slots=True, eq=False)
class BankIdRule(IdRule):
    """An identifier in a bank's response: text, or a whole number, which is converted to its digits.

    ``longest`` is the maximum length in the specification, ``named`` the maximum length in a request.
    """

    named: int = LONGEST_ID

    def check(self, value: Any) -> Any:
        text = self.text(value)
        if not isinstance(text, str):
            fault("type", "must be a string or a whole number")
        _check(text, self.named)
        return text if len(text) <= self.longest else fault("length", f"must have at most {self.longest} characters")


def is_identifier_rule(rule: object) -> bool:
    """Whether ``rule`` is that of a bank's identifier, which a problem of the kind ``identifier`` violates.

    Page keys, which no entry of a list has, do not count.
    """
    return isinstance(rule, BankIdRule) or (isinstance(rule, NumberRule) and rule.named is not None)


BankId = Notation(Any, BankIdRule)
"""An identifier in a bank's response. The number in brackets is the maximum length in the specification."""
BankNumber = Notation(Any, partial(NumberRule, named=LONGEST_ID))
"""A numeric identifier in a bank's response. The number in brackets is the number of digits in the specification. The
value is not converted.
"""
BankPaymentId = Annotated[str, BankIdRule(LONGEST_ID, named=LONGEST_PAYMENT_ID)]
"""The id of a payment in a bank's response."""
BankPageKey = Annotated[
    str,
    FormRule(
        lambda text: _check(text, LONGEST_PAGE_KEY),
        {
            "minLength": 1,
            "maxLength": LONGEST_PAGE_KEY,
            "pattern": PRINTABLE.pattern,
            "description": PRINTABLE.description,
            "examples": [PRINTABLE.example],
        },
    ),
]
"""The key of the next page in a bank's response."""
