"""Tests of the characters that a card bureau prints: letters, digits and the punctuation of the programme."""

import pytest

from chalicelib.cards.protocol.embossing import BUREAU_CHARACTERS, TRACK_SEPARATORS, is_printable

LATIN = [
    "ZOE ONEIL",
    "zoë o'neil",
    "Søren Łukasz",
    "WEISS-GROß",
    "Ångström, J.",
    "FRAGA·LÓPEZ",
    "O\u2019Neil",
    "M\u0303 7",
]
FOREIGN = [
    "Ζωή",
    "Зоя",
    "東京",
    "زويا",
    "\uff3a\uff2f\uff25",
    "ZOE \U0001f600",
    "ZOE\u20e3",
    "-\u0338",
    "Z\u00a0E",
    "½",
    "ª",
]


@pytest.mark.parametrize("text", LATIN)
def test_a_bureau_prints_latin_letters_without_diacritics(text: str) -> None:
    assert is_printable(text, BUREAU_CHARACTERS)


@pytest.mark.parametrize("text", [*FOREIGN, *(f"ZOE{separator}ONEIL" for separator in TRACK_SEPARATORS)])
def test_a_bureau_rejects_foreign_scripts_symbols_and_track_separators(text: str) -> None:
    assert not is_printable(text, BUREAU_CHARACTERS)


@pytest.mark.parametrize(("text", "printed"), [("Ζωή", True), ("ΖΩΗ & ΥΙΟΣ", True), ("ZOE", False), ("Ζωή^", False)])
def test_a_bureau_prints_the_characters_that_the_programme_allows(text: str, printed: bool) -> None:
    assert is_printable(text, "ΑΒΓΔΕΖΗΘΙΚΛΜΝΞΟΠΡΣΤΥΦΧΨΩ &") is printed
