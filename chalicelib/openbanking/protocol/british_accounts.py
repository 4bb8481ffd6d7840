"""British accounts: a sort code of 6 digits and an account number of 8, however banks and TPPs write them."""

from __future__ import annotations

import re
from typing import NamedTuple

SORT_CODE = 6
NUMBER = 8
_WRITTEN = re.compile(
    r"(?P<first>[0-9]{6})[ /-]?(?P<second>[0-9]{8})|(?P<number>[0-9]{8})(?:[ /-](?P<sort_code>[0-9]{6}))?"
)
_IBAN = re.compile(r"GB[0-9]{2}[A-Z]{4}(?P<sort_code>[0-9]{6})(?P<number>[0-9]{8})")


class BritishAccount(NamedTuple):
    """An account number, and its sort code where that is known."""

    number: str
    sort_code: str | None

    def is_other_than(self, other: BritishAccount) -> bool:
        """Whether two accounts are certainly not the same one."""
        codes = {self.sort_code, other.sort_code} - {None}
        return self.number != other.number or len(codes) > 1


def read_account(text: str) -> BritishAccount | None:
    """An account as ``accountNumbers`` of a consent name it, ``None`` for anything else.

    That is an account number; it and the sort code, in either order, with a space, a hyphen or a slash between them;
    or 14 digits, sort code first.
    """
    found = _WRITTEN.fullmatch(text)
    if found is None:
        return None
    return BritishAccount(found["second"] or found["number"], found["first"] or found["sort_code"])


def read_approved_account(text: str) -> BritishAccount:
    """An account as a stored consent names it. Older ones may do so in any form: their digits count."""
    found = read_account(text)
    if found is not None:
        return found
    digits = "".join(filter(str.isdigit, text))
    whole = read_account(digits)
    return whole if whole is not None else BritishAccount(digits, None)


def restore_leading_zeros(number: int) -> str:
    """The digits of a JSON number in ``accountNumbers``, with the leading zeros that it has lost.

    A sort code lost one at most, since none begins with two.
    """
    text = str(number)
    return text.zfill(SORT_CODE + NUMBER) if len(text) == SORT_CODE + NUMBER - 1 else text.zfill(NUMBER)


def account_from_members(number: object, sort_code: object | None) -> BritishAccount:
    """An account that is named by two members; as JSON numbers they have lost the zeros in front."""
    return BritishAccount(str(number).zfill(NUMBER), str(sort_code).zfill(SORT_CODE) if sort_code is not None else None)


def contradicts(iban: str | None, number: object | None, sort_code: object | None) -> bool:
    """Whether a British IBAN names another account than the number and the sort code beside it."""
    if iban is None or (number is None and sort_code is None):
        return False
    found = _IBAN.fullmatch(iban)
    if found is None:
        return False
    beside = account_from_members(found["number"] if number is None else number, sort_code)
    return beside.is_other_than(BritishAccount(found["number"], found["sort_code"]))
