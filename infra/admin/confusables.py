"""Finds titles that people could confuse, with a reduced form of Unicode's skeletons (UTS #39, section 4)."""

from __future__ import annotations

from chalicelib.foundation.fields.written_text import is_invisible
from chalicelib.foundation.search_text import fold

_LATIN = {
    "a": "\u0430\u03b1",
    "b": "\u0432\u044c\u03b2",
    "c": "\u0441\u03f2",
    "d": "\u0501",
    "e": "\u0435\u03b5",
    "h": "\u043d\u04bb\u0570",
    "j": "\u0458\u03f3",
    "k": "\u043a\u03ba",
    "l": "i\u04561\u04cf\u03b9|",
    "m": "\u043c",
    "n": "\u043f\u03b7\u0578",
    "o": "0\u043e\u03bf\u0585\u03c3",
    "p": "\u0440\u03c1",
    "q": "\u051b\u0566",
    "r": "\u0433",
    "s": "\u0455",
    "t": "\u0442\u03c4",
    "u": "\u03c5\u057d\u03bc",
    "v": "\u0475\u03bd",
    "w": "\u051d\u03c9",
    "x": "\u0445\u03c7",
    "y": "\u0443\u03b3\u04af",
    "z": "\u03b6",
    "3": "\u0437",
    "6": "\u0431",
}
"""Lower-case letters and digits, each with the Latin, Cyrillic, Greek and Armenian characters that look like it."""
_LOOKALIKES = str.maketrans({other: letter for letter, others in _LATIN.items() for other in others})


def skeleton(title: str) -> str:
    """Return the visual skeleton of a title. Titles that look alike have equal skeletons."""
    folded = fold(title).translate(_LOOKALIKES)
    visible = [each for each in folded if not each.isspace() and not is_invisible(each)]
    letters = "".join(filter(str.isalnum, visible)) or "".join(visible)
    return letters.replace("rn", "m").replace("vv", "w")
