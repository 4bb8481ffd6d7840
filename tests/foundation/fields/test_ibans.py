"""IBAN validation gives the same results as python-stdnum."""

import random
import re
import string
from collections.abc import Callable
from importlib.util import find_spec

import pytest
from stdnum import iban as stdnum_iban
from stdnum import numdb
from stdnum.es import ccc
from stdnum.iso7064 import mod_97_10

from chalicelib.foundation.fields.ibans import NATIONAL_CHECKS, is_iban, make_iban

STRUCTURES: dict[str, str] = {low: properties["bban"] for _, low, _, properties, _ in numdb.get("iban").prefixes}
CHARACTERS = {"n": string.digits, "a": string.ascii_uppercase, "c": string.digits + string.ascii_uppercase}


def belgian(account: str) -> str:
    """Return a Belgian account number with valid check digits.

    Every third account number has remainder 0, for which the check digits are 97.
    """
    number = int(account[:-2])
    number -= 0 if number % 3 else number % 97
    return f"{number:010d}{number % 97 or 97:02d}"


def spanish(account: str) -> str:
    return account[:8] + ccc.calc_check_digits(account) + account[10:]


def montenegrin(account: str) -> str:
    return account[:-2] + mod_97_10.calc_check_digits(account[:-2])


def norwegian(account: str) -> str:
    """Return a Norwegian account number. Every third number has bank code 0000, which requires a separate check."""
    return "0000" + account[4:] if int(account) % 3 == 0 else account


MENDED: dict[str, Callable[[str], str]] = {"BE": belgian, "ES": spanish, "ME": montenegrin, "NO": norwegian}


def made(country: str, chance: random.Random) -> str:
    """Return an IBAN with a valid structure and valid check digits. The IBAN also passes most national checks."""
    parts = re.findall(r"([0-9]+)!([nac])", STRUCTURES[country])
    account = "".join(c for count, kind in parts for c in chance.choices(CHARACTERS[kind], k=int(count)))
    account = MENDED.get(country, str)(account)
    return f"{country}{mod_97_10.calc_check_digits(account + country)}{account}"


def altered(number: str, chance: random.Random) -> str:
    place = chance.randrange(len(number))
    instead = chance.choice(CHARACTERS["c"])
    return chance.choice(
        [number[:place] + instead + number[place + 1 :], number[:place] + number[place + 1 :], number + instead]
    )


@pytest.mark.parametrize("country", STRUCTURES)
def test_iban_validation_agrees_with_stdnum(country: str) -> None:
    chance = random.Random(country)
    numbers = [made(country, chance) for _ in range(300 if country in MENDED else 10)]
    numbers += [altered(number, chance) for number in numbers]
    numbers = [number for number in numbers if number[2:4].isdigit()]

    answers = {number: is_iban(number) for number in numbers}

    assert answers == {number: stdnum_iban.is_valid(number) for number in numbers}
    assert set(answers.values()) == {True, False}


@pytest.mark.parametrize(
    "number",
    ["", "GB", "GB33", "XX3389370400440532013000", "DE89370400440532013000 ", "de89370400440532013000", "DE89"],
)
def test_text_that_is_not_an_iban_is_rejected(number: str) -> None:
    assert not is_iban(number)


def test_iban_check_digits_must_be_digits() -> None:
    """Python-stdnum accepts letters as check digits if the checksum is right, but the standard forbids letters."""
    account = "370400440532013000"
    taken = [
        number
        for first in string.ascii_uppercase
        for second in string.ascii_uppercase
        if stdnum_iban.is_valid(number := f"DE{first}{second}{account}")
    ]

    assert taken
    assert not any(map(is_iban, taken))


@pytest.mark.parametrize(
    "number",
    [
        "AT611904300234573201",
        "BE68539007547034",
        "CH9300762011623852957",
        "DE89370400440532013000",
        "ES9121000418450200051332",
        "FR1420041010050500013M02606",
        "GB29NWBK60161331926819",
        "GB82WEST12345698765432",
        "IE29AIBK93115212345678",
        "MT84MALT011000012345MTLCAST001S",
        "NL91ABNA0417164300",
        "SI56263300012039086",
    ],
)
def test_make_iban_computes_the_published_check_digits(number: str) -> None:
    assert make_iban(number[:2], number[4:]) == number


@pytest.mark.parametrize("country", STRUCTURES)
def test_generated_ibans_have_check_digits_that_stdnum_accepts(country: str) -> None:
    chance = random.Random(country)
    accounts = [made(country, chance)[4:] for _ in range(200)]
    numbers = [make_iban(country, account) for account in accounts]

    assert all(number[2:4].isdigit() and number[4:] in accounts for number in numbers)
    assert all(mod_97_10.is_valid(number[4:] + number[:4]) for number in numbers)


def test_every_national_check_of_stdnum_is_implemented() -> None:
    assert {country for country in STRUCTURES if find_spec_of(country)} == NATIONAL_CHECKS.keys()


def find_spec_of(country: str) -> object:
    """Return python-stdnum's check module for a country. Module names such as ``is`` end with an underscore."""
    package = {"IS": "is_", "IN": "in_"}.get(country, country.lower())
    try:
        return find_spec(f"stdnum.{package}.iban")
    except ModuleNotFoundError:
        return None
