"""What a caller is told of an action that there is not: its name as it came, and the nearest one (decisions, Wire)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

LONGEST = 50
"""So many characters of the name are told."""


def unknown_action(name: str, here: Iterable[str], elsewhere: Mapping[str, str]) -> str:
    """The message for ``name``, which is none of the actions ``here``; ``elsewhere`` says where others are called."""
    said = f'there is no action "{_printable(name[:LONGEST])}"'
    if name in elsewhere:
        return f"{said} here: {elsewhere[name]}"
    nearest = _nearest(name[:LONGEST], [*here, *elsewhere])
    if nearest is None:
        return said
    place = f": {elsewhere[nearest]}" if nearest in elsewhere else ""
    return f"{said}; the nearest is {nearest}{place}"


def _printable(text: str) -> str:
    """ASCII's printable characters, and question marks in place of all others."""
    return "".join(character if " " <= character <= "~" else "?" for character in text)


def _nearest(name: str, known: Iterable[str]) -> str | None:
    """The name that is most like it in whatever letters, if one is alike at all."""
    from difflib import get_close_matches  # few requests need it

    names = {each.lower(): each for each in known}
    return next((names[found] for found in get_close_matches(name.lower(), names, n=1)), None)
