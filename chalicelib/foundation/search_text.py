"""Normalises text for searches: ignores case, diacritics and invisible characters."""

from __future__ import annotations

import unicodedata

from chalicelib.foundation.fields.written_text import is_invisible

UNDECOMPOSED_LETTERS = str.maketrans(
    {"æ": "ae", "đ": "d", "ð": "d", "ħ": "h", "\u0131": "i", "ł": "l", "œ": "oe", "ø": "o", "þ": "th", "ŧ": "t"}
)
"""Latin letters of European languages that Unicode does not decompose into a base letter and a diacritic."""


def fold(text: str) -> str:
    """Normalise a text for searches. For example, ``"Zoë ONeil"`` becomes ``"zoe oneil"``, and ``"Søren"`` becomes
    ``"soren"``.
    """
    letters = unicodedata.normalize("NFKD", text).casefold()
    searchable = (
        each for each in letters if not unicodedata.combining(each) and (each.isascii() or not is_invisible(each))
    )
    return "".join(searchable).translate(UNDECOMPOSED_LETTERS)
