"""Text as it is compared in a search: without case and diacritics."""

from __future__ import annotations

import unicodedata

UNDECOMPOSED_LETTERS = str.maketrans(
    {"æ": "ae", "đ": "d", "ð": "d", "ħ": "h", "\u0131": "i", "ł": "l", "œ": "oe", "ø": "o", "þ": "th", "ŧ": "t"}
)
"""Latin letters of Europe that Unicode does not decompose into a letter and a diacritic."""


def fold(text: str) -> str:
    """``"zoe oneil"`` for ``"Zoë ONeil"``, and ``"soren"`` for ``"Søren"``."""
    letters = unicodedata.normalize("NFKD", text).casefold()
    return "".join(letter for letter in letters if not unicodedata.combining(letter)).translate(UNDECOMPOSED_LETTERS)
