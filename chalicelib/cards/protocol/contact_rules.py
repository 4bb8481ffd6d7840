"""The rules for how a holder is reached: email addresses and IPv4 addresses, as printable text of a form."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from ipaddress import AddressValueError, IPv4Address
from typing import Any

from chalicelib.cards.protocol.rules import Json, ValueRule, check_length
from chalicelib.foundation.fields.problems import fault

_ATOM = r"[^\x00- \x7f\"(),.:;<>@\[\\\]]+"
_LABEL = r"(?!-)[^\x00-,./:-@\[-`{-\x7f]{1,63}(?<!-)"
_EMAIL = re.compile(rf"(?=[^@]{{1,64}}@){_ATOM}(?:\.{_ATOM})*@(?:{_LABEL}\.)+(?![0-9]+$){_LABEL}")
"""A mailbox of RFC 5321 with a domain of two labels or more, with RFC 6531's letters of every script.

Quoted names before the ``@`` and addresses in brackets after it are not taken.
"""


@dataclass(frozen=True, slots=True)
class FormRule(ValueRule):
    """Printable text of so many characters that ``fits`` a form; ``format`` is JSON Schema's name for it."""

    shortest: int
    longest: int
    fits: Callable[[str], bool]
    called: str
    format: str
    pattern: str
    example: str

    def check(self, value: Any) -> str:
        if type(value) is not str:
            fault("type", "must be a string")
        check_length(value, self.shortest, self.longest, "characters")
        if not value.isprintable():
            fault("characters", "must be printable text")
        if not self.fits(value):
            fault("value", f"must be {self.called}")
        return str(value)

    def json_schema(self) -> Json:
        return {
            "type": "string",
            "format": self.format,
            "minLength": self.shortest,
            "maxLength": self.longest,
            "pattern": self.pattern,
            "description": self.called[0].upper() + self.called[1:],
            "examples": [self.example],
        }


def is_email(text: str) -> bool:
    """Whether printable text is an email address."""
    return _EMAIL.fullmatch(text) is not None


def is_ipv4(text: str) -> bool:
    """Whether text is an IPv4 address: four decimal numbers from 0 to 255 without leading zeros."""
    try:
        IPv4Address(text)
    except AddressValueError:
        return False
    return True


EMAIL = FormRule(6, 100, is_email, "an email address", "email", "^[^@ ]{1,64}@[^@ ]+[.][^@ ]+$", "zoe@example.com")
IPV4 = FormRule(7, 15, is_ipv4, "an IPv4 address", "ipv4", "^[0-9]{1,3}([.][0-9]{1,3}){3}$", "203.0.113.7")
