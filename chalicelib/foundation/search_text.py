"""Text as it is compared in a search: without case and diacritics."""

from __future__ import annotations

import unicodedata


def fold(text: str) -> str:
    """``"zoe oneil"`` for ``"Zoë ONeil"``."""
    letters = unicodedata.normalize("NFKD", text.casefold())
    return "".join(letter for letter in letters if not unicodedata.combining(letter))
