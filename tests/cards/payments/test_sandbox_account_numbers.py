"""The sandbox's bank-account numbers: right by every check, the country's own included, and each of one address."""

from __future__ import annotations

from operator import mul

import pytest
from hypothesis import given
from hypothesis import strategies as st
from stdnum import iban as stdnum_iban
from stdnum.cz import bankaccount
from stdnum.iso7064 import mod_11_10

from chalicelib.cards.payments import modulus_check
from chalicelib.cards.payments.sandbox_account_numbers import FORMS, SORT_CODE, british_iban, british_number, sepa_iban
from chalicelib.cards.protocol.schemes import BRITAIN, SEPA_COUNTRIES
from chalicelib.foundation.fields.ibans import is_iban, make_iban

GERMANY, ICELAND, NORWAY, BRAZIL = 276, 352, 578, 76
IDS = st.integers(1, 9_999_999)


@pytest.mark.parametrize("letters", SEPA_COUNTRIES)
def test_every_country_of_sepa_gives_ibans_that_are_right(letters: str) -> None:
    ibans = [sepa_iban(SEPA_COUNTRIES[letters], number) for number in [*range(1, 40), 999_999]]

    assert all(iban and is_iban(iban) and stdnum_iban.is_valid(iban) for iban in ibans)
    assert len(set(ibans)) == len(ibans)
    assert {iban[:2] for iban in ibans if iban} == {"DE" if letters == "IS" else letters}


@given(st.sampled_from(sorted(SEPA_COUNTRIES.values())), IDS, IDS)
def test_no_two_addresses_get_the_same_iban(country: int, one: int, other: int) -> None:
    assert (sepa_iban(country, one) == sepa_iban(country, other)) == (one == other)


@pytest.mark.parametrize(
    ("iban", "bank", "number"),
    [
        ("BE71096123456769", "096", "1234567"),
        ("EE382200221020145685", "2200", "22102014568"),
        ("ES9121000418450200051332", "21000418", "0200051332"),
        ("FI2112345600000785", "123", "4560000078"),
        ("FR7630006000011234567890189", "3000600001", "12345678901"),
        ("HR1210010051863000160", "1001005", "186300016"),
        ("HU42117730161111101800000000", "11773016", "111110180000000"),
        ("IT60X0542811101000000123456", "0542811101", "000000123456"),
        ("MC5811222000010123456789030", "1122200001", "01234567890"),
        ("ME25505000012345678951", "505", "0000123456789"),
        ("MK07250120000058984", "250", "1200000589"),
        ("PT50000201231234567890154", "00020123", "12345678901"),
        ("RS35260005601001611379", "260", "0056010016113"),
        ("SI56263300012039086", "26330", "00120390"),
        ("SM86U0322509800000000270100", "0322509800", "000000270100"),
    ],
)
def test_published_account_numbers_have_the_check_that_their_country_gives(iban: str, bank: str, number: str) -> None:
    letters = iban[:2]
    form = FORMS[letters]

    assert (len(bank), len(number)) == (len(form.bank), form.digits)
    assert make_iban(letters, form.checked(bank, number)) == iban


@pytest.mark.parametrize(
    ("letters", "published", "weights"),
    [
        ("AL", "21211009", (9, 7, 3, 1, 9, 7, 3, 1)),
        ("HU", "11773016", (9, 7, 3, 1, 9, 7, 3, 1)),
        ("PL", "10901014", (3, 9, 7, 1, 3, 9, 7, 1)),
    ],
)
def test_bank_codes_with_a_check_digit_pass_as_published_ones_do(
    letters: str, published: str, weights: tuple[int, ...]
) -> None:
    for code in (published, FORMS[letters].bank):
        assert sum(map(mul, map(int, code), weights)) % 10 == 0


def test_the_croatian_bank_code_passes_as_a_published_one_does() -> None:
    assert mod_11_10.is_valid("1001005")
    assert mod_11_10.is_valid(FORMS["HR"].bank)


@given(IDS)
def test_dutch_numbers_pass_the_proof_by_eleven(address_id: int) -> None:
    """As the published NL91ABNA0417164300 does."""
    iban = sepa_iban(SEPA_COUNTRIES["NL"], address_id)

    assert iban
    for account in ("0417164300", iban[8:]):
        assert sum(map(mul, map(int, account), range(10, 0, -1))) % 11 == 0


@given(st.sampled_from(["CZ", "SK"]), IDS)
def test_czech_and_slovak_numbers_pass_the_check_of_stdnum(letters: str, address_id: int) -> None:
    """At a bank that it knows."""
    iban = sepa_iban(SEPA_COUNTRIES[letters], address_id)

    assert iban
    assert bankaccount.is_valid(f"{iban[8:14]}-{iban[14:]}/0800")


@pytest.mark.parametrize("country", [BRAZIL, ICELAND])
def test_where_no_number_can_be_made_it_is_a_german_one(country: int) -> None:
    assert sepa_iban(country, 7) == sepa_iban(GERMANY, 7)


def test_where_the_numbers_of_a_country_have_run_out_it_is_a_german_one() -> None:
    last, next_one = sepa_iban(NORWAY, 999_999), sepa_iban(NORWAY, 1_000_000)

    assert last
    assert last.startswith("NO")
    assert next_one == sepa_iban(GERMANY, 1_000_000)
    assert sepa_iban(GERMANY, 10**10) is None


@given(IDS, IDS)
def test_a_british_number_fits_its_sort_code_and_belongs_to_one_address(one: int, other: int) -> None:
    number = british_number(one)

    assert number
    assert len(number) == 8
    assert modulus_check.fits(SORT_CODE, number)
    assert (number == british_number(other)) == (one == other)


def test_british_numbers_run_out_after_ten_million() -> None:
    assert british_number(9_999_999)
    assert british_number(10_000_000) is None


def test_a_british_iban_names_the_sort_code_and_the_number_and_is_the_one_that_sepa_gets() -> None:
    number = british_number(17)

    assert number == "00000178"
    assert british_iban(number) == sepa_iban(BRITAIN, 17) == "GB59CSWY08999900000178"
