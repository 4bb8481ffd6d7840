"""A country can be entered by name or by code."""

import pytest

from chalicelib.foundation.fields.registries import country_numbers
from chalicelib.website.cards.country_choice import country_choices, country_number


@pytest.mark.parametrize("written", ["Germany", " germany ", "DE", "de", "DEU", "276"])
def test_a_country_is_found_by_name_and_code(written: str) -> None:
    assert country_number(written) == 276


@pytest.mark.parametrize(("written", "number"), [("Cote d'Ivoire", 384), ("Turkiye", 792), ("008", 8), ("8", 8)])
def test_a_country_name_is_matched_without_diacritics_and_leading_zeros(written: str, number: int) -> None:
    assert country_number(written) == number


@pytest.mark.parametrize("written", ["", "Atlantis", "999", "Ger", "<b>"])
def test_an_unknown_country_is_rejected(written: str) -> None:
    assert country_number(written) is None


def test_every_country_is_offered_once_in_alphabetical_order() -> None:
    names = list(country_choices())

    assert len(names) == len(country_numbers())
    assert {country_number(name) for name in names} == set(country_numbers())
    assert names[:3] == ["Afghanistan", "Åland Islands", "Albania"]
