"""Characters that a card bureau prints on a card and encodes in its chip and magnetic stripe."""

from __future__ import annotations

from unicodedata import combining, normalize

from chalicelib.foundation.search_text import UNDECOMPOSED_LETTERS

BUREAU_CHARACTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789 '-.,\u00b7"
"""The characters that a card bureau prints unless the card programme specifies other characters."""
TRACK_SEPARATORS = "^/%?"
"""The control characters of magnetic track 1 (ISO/IEC 7813), which are not allowed in any text on a card."""

_APOSTROPHES = str.maketrans("\u2019\u02bc", "''")


def is_printable(text: str, characters: str) -> bool:
    """Whether a bureau can print ``text`` if the bureau can print ``characters`` in upper and lower case.

    A letter with diacritics is printable if the letter without diacritics is printable.
    """
    allowed, last = frozenset(characters.casefold()), ""
    for character in normalize("NFC", text.translate(_APOSTROPHES)):
        if combining(character) and last.isalpha():  # a diacritic without a precomposed letter
            continue
        last = character
        if not (allowed.issuperset(character.casefold()) or allowed.issuperset(_fold_letter(character))):
            return False
    return True


def _fold_letter(character: str) -> str:
    if not character.isalpha():
        return character
    letters = normalize("NFD", character).casefold()
    return "".join(letter for letter in letters if not combining(letter)).translate(UNDECOMPOSED_LETTERS)
