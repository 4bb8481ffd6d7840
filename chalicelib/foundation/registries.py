"""Codes of ISO 4217 and ISO 3166-1, from pycountry: the registry is large and few requests need it."""

from __future__ import annotations

from functools import cache
from typing import Literal


@cache
def currencies() -> frozenset[str]:
    """The alphabetic codes of ISO 4217."""
    import pycountry

    return frozenset(currency.alpha_3 for currency in pycountry.currencies)


@cache
def countries(letters: Literal[2, 3]) -> frozenset[str]:
    """The codes of ISO 3166-1, alpha-2 or alpha-3."""
    import pycountry

    return frozenset(getattr(country, f"alpha_{letters}") for country in pycountry.countries)


@cache
def currency_numbers() -> dict[int, str]:
    """The numeric codes of ISO 4217 with their alphabetic ones."""
    import pycountry

    return {int(currency.numeric): currency.alpha_3 for currency in pycountry.currencies}


@cache
def country_numbers() -> dict[int, str]:
    """The numeric codes of ISO 3166-1 with their alpha-2 ones."""
    import pycountry

    return {int(country.numeric): country.alpha_2 for country in pycountry.countries}
