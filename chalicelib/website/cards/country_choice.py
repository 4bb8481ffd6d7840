"""Countries in forms: a user types part of a name and chooses a country. ISO 3166-1 codes are accepted, too."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

from chalicelib.foundation.fields.registries import country_letters, country_names, country_numbers
from chalicelib.foundation.search_text import fold

INVALID = "There is no such country. Choose one from the list, such as Germany."


@cache
def country_choices() -> Mapping[str, str]:
    """Return alpha-2 codes by English name, sorted by name."""
    return {name: letters for letters, name in sorted(country_names().items(), key=lambda each: fold(each[1]))}


def country_number(written: str) -> int | None:
    """Return the numeric code of a country, by its name in any case or a code. Return ``None`` if unknown."""
    return _numbers().get(fold(written.strip()))


@cache
def _numbers() -> Mapping[str, int]:
    names, long_codes = country_names(), country_letters()
    return {
        fold(word): number
        for number, letters in country_numbers().items()
        for word in (str(number), f"{number:03}", letters, long_codes[number], names[letters])
    }
