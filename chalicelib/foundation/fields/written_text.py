"""The characters of text that people write, and a stricter rule for titles, by which people recognise trusted parties.

Identifiers for programs, such as ids and keys, have only printable characters (``str.isprintable``).
"""

from __future__ import annotations

import unicodedata
from functools import cache

_NO_BREAK_SPACE, _SOFT_HYPHEN = "\u00a0", "\u00ad"
_NON_JOINER, _JOINER, _EMOJI_STYLE, _KEYCAP = "\u200c", "\u200d", "\ufe0f", "\u20e3"
_WRITTEN = dict.fromkeys(map(ord, (_NO_BREAK_SPACE, _SOFT_HYPHEN, _NON_JOINER, _JOINER)))
"""Characters that are not printable but occur in written text: no-break spaces, soft hyphens and joiners."""
_INVISIBLE = (
    *((0x00AD, 0x00AD), (0x034F, 0x034F), (0x061C, 0x061C), (0x115F, 0x1160), (0x17B4, 0x17B5), (0x180B, 0x180F)),
    *((0x200B, 0x200F), (0x202A, 0x202E), (0x2060, 0x206F), (0x3164, 0x3164), (0xFE00, 0xFE0F), (0xFEFF, 0xFEFF)),
    *((0xFFA0, 0xFFA0), (0xFFF0, 0xFFF8), (0x1BCA0, 0x1BCA3), (0x1D173, 0x1D17A), (0xE0000, 0xE0FFF)),
    *((0x2800, 0x2800), (0x13441, 0x13442), (0x16FE4, 0x16FE4), (0x1D159, 0x1D159)),
)
"""Ranges of invisible characters: Unicode's Default_Ignorable_Code_Points (DerivedCoreProperties.txt), followed by
characters with blank glyphs.
"""
_EMOJI = ((0x2190, 0x2BFF), (0x1F000, 0x1FAFF))
_STYLED = frozenset("\u00a9\u00ae\u203c\u2049\u2122\u2139\u3030\u303d\u3297\u3299")
"""The emoji outside ``_EMOJI`` that are displayed in colour when a variation selector follows."""
_FORMS = ((0xFB50, 0xFDFF), (0xFE70, 0xFEFF))
"""The presentation forms of Arabic letters. Their names state on which sides a letter is joined."""
_CURSIVE = ("SYRIAC LETTER", "NKO LETTER", "MONGOLIAN LETTER", "ARABIC TATWEEL")
_VIRAMA = 9
_MOST_COMPOSED = 4
"""The maximum number of characters that NFC composes into one character."""


class InvalidTitle(ValueError):
    """A title was rejected. The message states the violated rule."""


def is_written(text: str) -> bool:
    """Whether ``text`` contains only printable characters, no-break spaces, soft hyphens and joiners."""
    return text.isprintable() or text.translate(_WRITTEN).isprintable()


def is_blank(text: str) -> bool:
    """Whether ``text`` has no visible character."""
    return not text.strip() if text.isascii() else all(map(_is_blank_character, text))


def _is_blank_character(character: str) -> bool:
    return character.isspace() or is_invisible(character)


def is_invisible(character: str) -> bool:
    """Whether a character, other than a space, is ignored by renderers or has a blank glyph."""
    return _is_in(character, _INVISIBLE)


def read_title(text: str, longest: int) -> str:
    """Normalise a title for storage: NFC, with plain spaces and without soft hyphens.

    Raises:
        InvalidTitle: the title is empty, longer than ``longest`` characters or not printable, or has invisible
            characters other than effective joiners in scripts and emoji.
    """
    plain = text.replace(_NO_BREAK_SPACE, " ").replace(_SOFT_HYPHEN, "").strip()
    if len(plain) > _MOST_COMPOSED * longest:  # composing thousands of marks takes minutes
        raise InvalidTitle(f"must be 1 to {longest} printable characters")
    title = unicodedata.normalize("NFC", plain).strip()
    if not 1 <= len(title) <= longest or not is_written(title):
        raise InvalidTitle(f"must be 1 to {longest} printable characters")
    if not title.isascii() and any(is_invisible(each) and not _joins(title, place) for place, each in enumerate(title)):
        raise InvalidTitle("must not have invisible characters, except joiners where letters or emoji join")
    return title


def _joins(text: str, place: int) -> bool:
    """Whether the invisible character at the index ``place`` changes the appearance of its neighbours."""
    before, after = text[place - 1] if place else "", text[place + 1 : place + 2]
    if text[place] == _EMOJI_STYLE:
        is_keycap = before != "" and before in "0123456789#*" and after == _KEYCAP
        return is_keycap or before in _STYLED or _is_in(before, _EMOJI)
    if text[place] == _NON_JOINER:
        return _is_virama(before) or (_joins_forward(text, place) and _joins_backward(text, place))
    if text[place] == _JOINER:
        is_between_emoji = (before == _EMOJI_STYLE or _is_in(before, _EMOJI)) and _is_in(after, _EMOJI)
        is_at_an_end = _joins_forward(text, place) != _joins_backward(text, place)
        return is_between_emoji or _is_virama(before) or _is_virama(after) or is_at_an_end
    return False


def _joins_forward(text: str, place: int) -> bool:
    """Whether the letter before ``place`` joins the next letter, like most Arabic letters (RFC 5892, appendix A.1)."""
    letter = next((each for each in reversed(text[:place]) if unicodedata.category(each) != "Mn"), "")
    return letter in _joined_letters()[0] or _is_cursive(letter)


def _joins_backward(text: str, place: int) -> bool:
    letter = next((each for each in text[place + 1 :] if unicodedata.category(each) != "Mn"), "")
    return letter in _joined_letters()[1] or _is_cursive(letter)


@cache
def _joined_letters() -> tuple[frozenset[str], frozenset[str]]:
    found: dict[str, set[str]] = {"<initial>": set(), "<final>": set()}
    for first, last in _FORMS:
        for code in range(first, last + 1):
            form, *letters = unicodedata.decomposition(chr(code)).split() or [""]
            if form in found and len(letters) == 1:
                found[form].add(chr(int(letters[0], 16)))
    return frozenset(found["<initial>"]), frozenset(found["<final>"])


def _is_cursive(letter: str) -> bool:
    return unicodedata.name(letter, "").startswith(_CURSIVE) if letter else False


def _is_virama(character: str) -> bool:
    return character != "" and unicodedata.combining(character) == _VIRAMA


def _is_in(character: str, ranges: tuple[tuple[int, int], ...]) -> bool:
    return character != "" and any(first <= ord(character) <= last for first, last in ranges)
