"""Bank account numbers of the sandbox, unique because they are derived from address ids.

The bank codes are unassigned codes, if the country has unassigned codes. IBANs and British account numbers are valid.
National check digits inside other account numbers are correct if ``is_iban`` verifies them, otherwise 0. Icelandic
account numbers contain an identifier of the holder, which the sandbox does not have. So addresses in Iceland get German
numbers. Addresses outside SEPA, and in countries with no unused numbers, also get German numbers.
"""

from __future__ import annotations

from chalicelib.cards.payments.modulus_check import with_check_digit
from chalicelib.cards.protocol.schemes import SEPA_COUNTRIES
from chalicelib.foundation.fields.ibans import is_iban, make_iban

BANK = "CSWY"
SORT_CODE = "089999"
_BRITAIN, _OTHERWISE = "GB", "DE"
_LETTERS = {number: letters for letters, number in SEPA_COUNTRIES.items()}


def british_number(address_id: int) -> str | None:
    """Return the eight digits of an account at ``SORT_CODE``, or ``None`` if all numbers are used up.

    For any seven digits, there is a valid eighth digit, because the last digit has weight 1 in a sum modulo 10.
    """
    number = _pad_number(address_id, 7)
    return number and with_check_digit(SORT_CODE, number)


def british_iban(account_number: str) -> str:
    return make_iban(_BRITAIN, f"{BANK}{SORT_CODE}{account_number}")


def sepa_iban(country: int, address_id: int) -> str | None:
    """Return an IBAN of ``country`` (numeric ISO code) or a German IBAN, or ``None`` if all IBANs are used up."""
    ibans = (_make_iban(letters, address_id) for letters in (_LETTERS.get(country, _OTHERWISE), _OTHERWISE))
    return next(filter(None, ibans), None)


def _make_iban(letters: str, address_id: int) -> str | None:
    if letters == _BRITAIN:
        account_number = british_number(address_id)
        return account_number and british_iban(account_number)
    form = FORMS.get(letters, "")
    number = _pad_number(address_id, form.count("#"))
    return number and _checked_iban(letters, form.replace("#" * len(number), number))


def _checked_iban(letters: str, account: str) -> str:
    """Return the first valid IBAN in which digits replace the question marks of the account number."""
    unknown = account.count("?")
    checks = (f"{check:0{unknown}}" if unknown else "" for check in range(10**unknown))
    ibans = (make_iban(letters, account.replace("?" * unknown, check)) for check in checks)
    return next(filter(is_iban, ibans))


def _pad_number(number: int, count: int) -> str | None:
    return f"{number:0{count}}" if number < 10**count else None


FORMS = {
    "AD": "99999999############",
    "AL": "99999999################",
    "AT": "99999###########",
    "BE": "999#######??",
    "BG": f"{BANK}999910########",
    "CH": "99999############",
    "CY": "99999999################",
    "CZ": "99990000009########0",
    "DE": "99999999##########",
    "DK": "9999##########",
    "EE": "9999###########0",
    "ES": "99999999??##########",
    "FI": "999##########0",
    "FR": "9999999999###########00",
    "GI": f"{BANK}###############",
    "GR": "9999999################",
    "HR": "9999998#########0",
    "HU": "99999999###############0",
    "IE": f"{BANK}999999########",
    "IT": "X9999999999############",
    "LI": "99999############",
    "LT": "99999###########",
    "LU": "999#############",
    "LV": f"{BANK}#############",
    "MC": "9999999999###########00",
    "MD": "99##################",
    "ME": "999#############??",
    "MK": "999##########00",
    "MT": f"{BANK}99999##################",
    "NL": f"{BANK}9########0",
    "NO": "998######??",
    "PL": "99999999################",
    "PT": "99999999###########00",
    "RO": f"{BANK}################",
    "RS": "999#############00",
    "SE": "999#################",
    "SI": "99999########00",
    "SK": "99990000009########0",
    "SM": "X9999999999############",
    "VA": "999###############",
}
"""Account number patterns, keyed by the country code of the IBAN. ``#`` is a digit of the address's number, and ``?``
is a check digit.

If you change a pattern, do not move the digits of the number. Otherwise, a new IBAN could equal an existing IBAN.
"""
