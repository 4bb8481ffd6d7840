"""The sandbox's bank-account numbers: valid IBANs and British account numbers, unique per address."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from stdnum import iban as stdnum_iban

from chalicelib.cards.payments import modulus_check
from chalicelib.cards.payments.sandbox_account_numbers import SORT_CODE, british_iban, british_number, sepa_iban
from chalicelib.cards.protocol.schemes import BRITAIN, SEPA_COUNTRIES
from chalicelib.foundation.fields.ibans import is_iban

GERMANY, ICELAND, NORWAY, BRAZIL = 276, 352, 578, 76
IDS = st.integers(1, 9_999_999)


@pytest.mark.parametrize("letters", SEPA_COUNTRIES)
def test_the_generated_ibans_of_every_sepa_country_are_valid_and_distinct(letters: str) -> None:
    ibans = [sepa_iban(SEPA_COUNTRIES[letters], number) for number in [*range(1, 40), 999_999]]

    assert all(iban and is_iban(iban) and stdnum_iban.is_valid(iban) for iban in ibans)
    assert len(set(ibans)) == len(ibans)
    assert {iban[:2] for iban in ibans if iban} == {"DE" if letters == "IS" else letters}


@given(st.sampled_from(sorted(SEPA_COUNTRIES.values())), IDS, IDS)
def test_no_two_addresses_have_the_same_iban(country: int, one: int, other: int) -> None:
    assert (sepa_iban(country, one) == sepa_iban(country, other)) == (one == other)


@pytest.mark.parametrize("country", [BRAZIL, ICELAND])
def test_an_address_for_a_country_without_generated_ibans_has_a_german_iban(country: int) -> None:
    assert sepa_iban(country, 7) == sepa_iban(GERMANY, 7)


def test_an_address_for_a_country_with_exhausted_numbers_has_a_german_iban() -> None:
    last, next_one = sepa_iban(NORWAY, 999_999), sepa_iban(NORWAY, 1_000_000)

    assert last
    assert last.startswith("NO")
    assert next_one == sepa_iban(GERMANY, 1_000_000)
    assert sepa_iban(GERMANY, 10**10) is None


@given(IDS, IDS)
def test_a_british_account_number_passes_the_modulus_check_and_is_unique(one: int, other: int) -> None:
    number = british_number(one)

    assert number
    assert len(number) == 8
    assert modulus_check.is_valid(SORT_CODE, number)
    assert (number == british_number(other)) == (one == other)


def test_british_account_numbers_are_exhausted_after_id_9_999_999() -> None:
    assert british_number(9_999_999)
    assert british_number(10_000_000) is None


def test_a_british_iban_contains_the_sort_code_and_the_number_and_equals_the_sepa_iban() -> None:
    number = british_number(17)

    assert number == "00000178"
    assert british_iban(number) == sepa_iban(BRITAIN, 17) == "GB59CSWY08999900000178"
