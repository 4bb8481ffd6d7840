"""Normalises text for searches: ignores case, diacritics and invisible characters."""

from __future__ import annotations

import unicodedata

from chalicelib.foundation.fields.written_text import is_invisible

UNDECOMPOSED_LETTERS = str.maketrans(
    {"æ": "ae", "đ": "d", "ð": "d", "ħ": "h", "\u0131": "i", "ł": "l", "œ": "oe", "ø": "o", "þ": "th", "ŧ": "t"}
)
"""Latin letters of Europe that Unicode does not decompose into a letter and a diacritic."""


def fold(text: str) -> str:
    """Normalise a text: ``"zoe oneil"`` for ``"Zoë ONeil"``, and ``"soren"`` for ``"Søren"``."""
    letters = unicodedata.normalize("NFKD", text).casefold()
    searchable = (
        each for each in letters if not unicodedata.combining(each) and (each.isascii() or not is_invisible(each))
    )
    return "".join(searchable).translate(UNDECOMPOSED_LETTERS)
