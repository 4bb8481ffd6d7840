"""Registries: the codes of ISO 4217 and ISO 3166-1."""

from __future__ import annotations

from chalicelib.foundation.registries import countries, currencies


def test_currencies_are_those_of_iso_4217() -> None:
    assert {"EUR", "GBP", "USD", "JPY", "KWD"} <= currencies()
    assert currencies() is currencies()


def test_countries_are_those_of_iso_3166() -> None:
    assert {"DE", "GB", "LT", "US"} <= countries(2)
    assert {"DEU", "GBR", "LTU", "USA"} <= countries(3)
    assert len(countries(2)) == len(countries(3))
    assert countries(2) is countries(2)
