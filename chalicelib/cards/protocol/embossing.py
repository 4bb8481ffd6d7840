"""Characters that a card bureau prints on a card and encodes in its chip and magnetic stripe."""

from __future__ import annotations

from unicodedata import combining, normalize

from chalicelib.foundation.search_text import UNDECOMPOSED_LETTERS

BUREAU_CHARACTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789 '-.,\u00b7"
"""The characters that a bureau prints unless its programme names others."""
TRACK_SEPARATORS = "^/%?"
"""Control characters of magnetic track 1 (ISO/IEC 7813), which no text on a card may have."""

_APOSTROPHES = str.maketrans("\u2019\u02bc", "''")


def is_printable(text: str, characters: str) -> bool:
    """Whether a bureau that prints ``characters``, in either case, prints ``text``.

    A letter with diacritics is printed if the bureau prints the letter without them.
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
    """A letter without diacritics, in lower case; another character as it is."""
    if not character.isalpha():
        return character
    letters = normalize("NFD", character).casefold()
    return "".join(letter for letter in letters if not combining(letter)).translate(UNDECOMPOSED_LETTERS)
