"""The bank-account numbers of the sandbox: each is derived from an address's id, and no two ids give the same one.

Their bank codes belong to no bank where the country leaves any free, and all check digits are right, the country's own
included. Iceland's accounts name their holder, whom the sandbox does not know: addresses there get German numbers, as
do those outside SEPA and those for which a country's numbers have run out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from operator import mul
from typing import NamedTuple

from chalicelib.cards.payments.modulus_check import with_check_digit
from chalicelib.cards.protocol.schemes import SEPA_COUNTRIES
from chalicelib.foundation.fields.ibans import is_iban, make_iban

BANK = "CSWY"
SORT_CODE = "089999"
_OTHERWISE = "DE"
_LETTERS = {number: letters for letters, number in SEPA_COUNTRIES.items()}


def british_number(address_id: int) -> str | None:
    """Eight digits of an account at ``SORT_CODE``; ``None`` when all were given."""
    number = _digits(address_id, 7)
    return number and with_check_digit(SORT_CODE, number)


def british_iban(account_number: str) -> str:
    return make_iban("GB", f"{BANK}{SORT_CODE}{account_number}")


def sepa_iban(country: int, address_id: int) -> str | None:
    """An IBAN of a country, given by its ISO number, else a German one; ``None`` when all were given."""
    ibans = (_iban(letters, address_id) for letters in (_LETTERS.get(country, _OTHERWISE), _OTHERWISE))
    return next(filter(None, ibans), None)


def _iban(letters: str, address_id: int) -> str | None:
    form = FORMS.get(letters)
    number = form and _digits(address_id, form.digits)
    return make_iban(letters, form.checked(form.bank, number)) if form and number else None


def _digits(number: int, count: int) -> str | None:
    """A number with leading zeros, unless it is too long."""
    return f"{number:0{count}}" if number < 10**count else None


class Form(NamedTuple):
    """How a country's accounts are numbered: ``checked`` joins bank and account number and adds what checks them."""

    bank: str
    digits: int
    checked: Callable[[str, str], str]


def _plain(bank: str, number: str) -> str:
    """Nothing checks the account number, or the bank code only, which stays the same."""
    return bank + number


def _british(bank: str, number: str) -> str:
    """Every seven digits have an eighth that fits, since the last one has weight 1 in a sum modulo 10."""
    return f"{bank}{with_check_digit(SORT_CODE, number)}"


def _by_97(bank: str, number: str) -> str:
    """ISO 7064, MOD 97-10: the whole leaves 1 when divided by 97."""
    return f"{bank}{number}{98 - int(bank + number) * 100 % 97:02}"


def _french(bank: str, number: str) -> str:
    """The "clé RIB": the whole is a multiple of 97."""
    return f"{bank}{number}{97 - int(bank + number) * 100 % 97:02}"


def _italian(bank: str, number: str) -> str:
    """The letter "CIN" comes first; digits at odd places count by a table of their own."""
    digits = [int(digit) for digit in bank + number]
    odd = (1, 0, 5, 7, 9, 13, 15, 17, 19, 21)
    total = sum(odd[digit] for digit in digits[::2]) + sum(digits[1::2])
    return f"{chr(ord('A') + total % 26)}{bank}{number}"


def _finnish(bank: str, number: str) -> str:
    """The last digit checks the others by Luhn's formula."""
    digits = [int(digit) for digit in reversed(bank + number)]
    total = sum(sum(divmod(2 * digit, 10)) for digit in digits[::2]) + sum(digits[1::2])
    return f"{bank}{number}{-total % 10}"


def _estonian(bank: str, number: str) -> str:
    """The last digit checks what follows the bank's two by the method 7-3-1, from the right."""
    return f"{bank}{number}{-_weighted((bank[2:] + number)[::-1], (7, 3, 1) * 5) % 10}"


def _hungarian(bank: str, number: str) -> str:
    return f"{bank}{number}{-_weighted(number, (9, 7, 3, 1) * 4) % 10}"


def _croatian(bank: str, number: str) -> str:
    """ISO 7064, MOD 11,10."""
    from stdnum.iso7064 import mod_11_10

    return f"{bank}{number}{mod_11_10.calc_check_digit(number)}"


def _by_11(bank: str, number: str, weights: tuple[int, ...]) -> str:
    """The weighted sum is a multiple of 11; where no last digit makes it one after a first 9, one does after an 8."""
    for body in (f"9{number}", f"8{number}"):
        check = -_weighted(body, weights) % 11
        if check < 10:
            break
    return f"{bank}{body}{check}"


_dutch = partial(_by_11, weights=(10, 9, 8, 7, 6, 5, 4, 3, 2))
_czech = partial(_by_11, weights=(6, 3, 7, 9, 10, 5, 8, 4, 2))


def _belgian(bank: str, number: str) -> str:
    return _passing("BE", (f"{bank}{number}{check:02}" for check in range(1, 98)))


def _spanish(bank: str, number: str) -> str:
    return _passing("ES", (f"{bank}{check:02}{number}" for check in range(100)))


def _norwegian(bank: str, number: str) -> str:
    """As in ``_by_11``, with the first 9 or 8 in the place of the bank's last digit."""
    return _passing("NO", (f"{bank}{first}{number}{check}" for first in "98" for check in range(10)))


def _passing(country: str, accounts: Iterable[str]) -> str:
    """The account number that passes the country's check."""
    return next(account for account in accounts if is_iban(make_iban(country, account)))


def _weighted(digits: str, weights: tuple[int, ...]) -> int:
    return sum(map(mul, map(int, digits), weights))


FORMS = {
    "AD": Form("99999999", 12, _plain),
    "AL": Form("99999999", 16, _plain),
    "AT": Form("99999", 11, _plain),
    "BE": Form("999", 7, _belgian),
    "BG": Form(f"{BANK}999910", 8, _plain),
    "CH": Form("99999", 12, _plain),
    "CY": Form("99999999", 16, _plain),
    "CZ": Form("9999000000", 8, _czech),
    "DE": Form("99999999", 10, _plain),
    "DK": Form("9999", 10, _plain),
    "EE": Form("9999", 11, _estonian),
    "ES": Form("99999999", 10, _spanish),
    "FI": Form("999", 10, _finnish),
    "FR": Form("9999999999", 11, _french),
    "GB": Form(f"{BANK}{SORT_CODE}", 7, _british),
    "GI": Form(BANK, 15, _plain),
    "GR": Form("9999999", 16, _plain),
    "HR": Form("9999998", 9, _croatian),
    "HU": Form("99999999", 15, _hungarian),
    "IE": Form(f"{BANK}999999", 8, _plain),
    "IT": Form("9999999999", 12, _italian),
    "LI": Form("99999", 12, _plain),
    "LT": Form("99999", 11, _plain),
    "LU": Form("999", 13, _plain),
    "LV": Form(BANK, 13, _plain),
    "MC": Form("9999999999", 11, _french),
    "MD": Form("99", 18, _plain),
    "ME": Form("999", 13, _by_97),
    "MK": Form("999", 10, _by_97),
    "MT": Form(f"{BANK}99999", 18, _plain),
    "NL": Form(BANK, 8, _dutch),
    "NO": Form("999", 6, _norwegian),
    "PL": Form("99999999", 16, _plain),
    "PT": Form("99999999", 11, _by_97),
    "RO": Form(BANK, 16, _plain),
    "RS": Form("999", 13, _by_97),
    "SE": Form("999", 17, _plain),
    "SI": Form("99999", 8, _by_97),
    "SK": Form("9999000000", 8, _czech),
    "SM": Form("9999999999", 12, _italian),
    "VA": Form("999", 15, _plain),
}
"""By what an IBAN begins with; the bank codes pass their countries' own checks."""
