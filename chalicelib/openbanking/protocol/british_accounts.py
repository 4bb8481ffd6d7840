"""British accounts: a 6-digit sort code and an 8-digit account number, in the formats that banks and TPPs use."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import NamedTuple

SORT_CODE = 6
NUMBER = 8
_WRITTEN = re.compile(
    r"(?P<first>[0-9]{6})[ /-]?(?P<second>[0-9]{8})|(?P<number>[0-9]{8})(?:[ /-](?P<sort_code>[0-9]{6}))?"
)
_IBAN = re.compile(r"GB[0-9]{2}[A-Z]{4}(?P<sort_code>[0-9]{6})(?P<number>[0-9]{8})")


class BritishAccount(NamedTuple):
    """An account number and, if known, its sort code."""

    number: str
    sort_code: str | None

    def is_other_than(self, other: BritishAccount) -> bool:
        """Whether this account and another account are definitely different."""
        codes = {self.sort_code, other.sort_code} - {None}
        return self.number != other.number or len(codes) > 1


def read_account(text: str) -> BritishAccount | None:
    """Parse an entry of a consent's ``accountNumbers``. Return ``None`` if the entry is invalid.

    Accepts an account number; an account number and a sort code in either order, separated by a space, a hyphen or a
    slash; or 14 digits, sort code first.
    """
    found = _WRITTEN.fullmatch(text)
    if found is None:
        return None
    return BritishAccount(found["second"] or found["number"], found["first"] or found["sort_code"])


def read_approved_account(text: str) -> BritishAccount:
    """Parse an account of a stored consent. For older consents, all characters except digits are ignored."""
    found = read_account(text)
    if found is not None:
        return found
    digits = "".join(filter(str.isdigit, text))
    whole = read_account(digits)
    return whole if whole is not None else BritishAccount(digits, None)


def distinct_accounts(texts: Iterable[str]) -> list[str]:
    """Return the entries of ``accountNumbers`` without duplicates. If an account appears in several notations, return
    the first one.
    """
    found: dict[BritishAccount, str] = {}
    for text in texts:
        found.setdefault(read_approved_account(text), text)
    return list(found.values())


def restore_leading_zeros(number: int) -> str:
    """Return the digits of a JSON number in ``accountNumbers``, with the leading zeros restored.

    At most one zero of a sort code can be missing, because no sort code begins with two.
    """
    text = str(number)
    return text.zfill(SORT_CODE + NUMBER) if len(text) == SORT_CODE + NUMBER - 1 else text.zfill(NUMBER)


def account_from_members(number: object, sort_code: object | None) -> BritishAccount:
    """Build an account from separate members. JSON numbers are padded with leading zeros."""
    return BritishAccount(str(number).zfill(NUMBER), str(sort_code).zfill(SORT_CODE) if sort_code is not None else None)


def digits_of(text: str, most: int) -> str | None:
    """Return the digits of a sort code or an account number without hyphens and spaces; ``None`` for other text."""
    found = text.replace("-", "").replace(" ", "")
    return found if found.isascii() and found.isdecimal() and len(found) <= most else None


def account_of_iban(iban: str) -> BritishAccount | None:
    """Return the account of a British IBAN; ``None`` for other text."""
    found = _IBAN.fullmatch(iban)
    return BritishAccount(found["number"], found["sort_code"]) if found else None


def contradicts(iban: str | None, number: object | None, sort_code: object | None) -> bool:
    """Whether a British IBAN contradicts the account number or the sort code in the same message."""
    if iban is None or (number is None and sort_code is None):
        return False
    found = account_of_iban(iban)
    if found is None:
        return False
    return account_from_members(found.number if number is None else number, sort_code).is_other_than(found)
