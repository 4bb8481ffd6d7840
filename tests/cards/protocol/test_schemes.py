"""Tests of the schemes of external payments: selection by method and amount, and the SEPA countries."""

import pycountry
import pytest

from chalicelib.cards.protocol.schemes import (
    BRITAIN,
    DEFAULT_SCHEMES,
    METHOD_CURRENCIES,
    METHODS,
    SCHEMES,
    SEPA,
    SEPA_COUNTRIES,
    UK,
    choose_scheme,
    country_of,
)

LARGEST = [(method, name, limit) for method, limits in SCHEMES.items() for name, limit in limits.items() if limit]


def test_every_method_has_a_currency_and_schemes_and_defaults_to_its_own_schemes() -> None:
    assert METHODS.keys() == METHOD_CURRENCIES.keys() == SCHEMES.keys() == DEFAULT_SCHEMES.keys()
    assert all(set(DEFAULT_SCHEMES[method]) <= SCHEMES[method].keys() for method in METHODS)


@pytest.mark.parametrize(("method", "name", "limit"), LARGEST)
def test_a_scheme_accepts_amounts_up_to_its_limit(method: int, name: str, limit: int) -> None:
    assert choose_scheme(method, [name], limit) == name
    assert choose_scheme(method, [name], limit + 1) is None


def test_chaps_accepts_any_amount() -> None:
    assert choose_scheme(UK, ["CHAPS"], 10**15 - 1) == "CHAPS"


@pytest.mark.parametrize(
    ("method", "schemes", "amount", "expected"),
    [
        (UK, [], 100_000_000, "FPS"),
        (UK, [], 100_000_001, "CHAPS"),
        (SEPA, [], 10_000_000, "SCTINST"),
        (SEPA, [], 10_000_001, "SCT"),
        (SEPA, [], 100_000_000_000, None),
        (UK, ["BACS", "FPS"], 100, "BACS"),
        (UK, ["FPS", "BACS", "CHAPS"], 100_000_001, "BACS"),
        (UK, ["SCT", "CHAPS"], 100, "CHAPS"),
        (SEPA, ["FPS"], 100, None),
    ],
)
def test_a_payment_uses_the_first_requested_scheme_that_accepts_its_amount(
    method: int, schemes: list[str], amount: int, expected: str | None
) -> None:
    """The selection skips schemes of other methods. If no scheme is requested, the default order applies."""
    assert choose_scheme(method, schemes, amount) == expected


def test_the_sepa_countries_have_their_iso_3166_numbers() -> None:
    known = {country.alpha_2: int(country.numeric) for country in pycountry.countries}

    assert {letters: known[letters] for letters in SEPA_COUNTRIES} == SEPA_COUNTRIES


def test_the_country_of_an_account_is_the_country_of_the_iban_and_britain_without_an_iban() -> None:
    assert country_of("DE89370400440532013000") == 276
    assert country_of("GB29NWBK60161331926819") == BRITAIN
    assert country_of("SA0380000000608010167519") is None
    assert country_of(None) == BRITAIN
