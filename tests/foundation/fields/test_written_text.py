"""User-written text: the permitted characters, and the stricter rules for titles."""

import pytest

from chalicelib.foundation.fields import written_text
from chalicelib.foundation.fields.written_text import InvalidTitle, is_blank, is_written, read_title

FAMILY = "\U0001f468\u200d\U0001f469\u200d\U0001f467"
TITLES = {
    "Persian with a non-joiner": "\u0646\u0631\u0645\u200c\u0627\u0641\u0632\u0627\u0631",
    "a Persian abbreviation with a joiner": "\u06f1\u06f4\u06f0\u06f3 \u0647\u200d.\u0642",
    "Hindi with a non-joiner": "क्\u200cष",
    "Hindi with a joiner": "क्\u200dष",
    "Bengali with a joiner before the virama": "র\u200d্যাব",
    "Sinhala with a joiner": "ශ්\u200dරී",
    "a family of emoji": FAMILY,
    "a heart in colour": "I \u2764\ufe0f banks",
    "a keycap": "Bank #\ufe0f\u20e3 1\ufe0f\u20e3",
    "a flag of pirates": "\U0001f3f4\u200d\u2620\ufe0f",
    "a profession with a skin tone": "\U0001f469\U0001f3fd\u200d\U0001f4bb",
    "a trade mark in colour": "Bank\u2122\ufe0f",
    "Arabic with vowels and a non-joiner": "\u0645\u0650\u200c\u0627",
}
NOT_TITLES = {
    "nothing": "",
    "blanks": " \u00a0 ",
    "a soft hyphen": "\u00ad",
    "a Hangul filler": "\u3164",
    "a blank Braille pattern": "\u2800",
    "a variation selector": "\ufe0f",
    "joiners": "\u200c\u200d",
    "a filler in a word": "Bud\u3164get",
    "a half-width filler": "Budget\uffa0",
    "a Braille blank in a word": "Budget\u2800Friend",
    "a variation selector in a word": "Bud\ufe0fget",
    "another variation selector": "Bud\ufe00get",
    "an ideographic variation selector": "葛\U000e0100",
    "a grapheme joiner": "Bud\u034fget",
    "a zero-width space": "Bud\u200bget",
    "a direction": "Bud\u202eget",
    "a tag": "Budget\U000e0041",
    "a joiner between Latin letters": "Bud\u200dget",
    "a non-joiner between Latin letters": "Bud\u200cget",
    "a non-joiner at the end": "\u0646\u0631\u0645\u200c",
    "a non-joiner after a letter that does not join": "\u062f\u0631\u200c\u0627",
    "a joiner between letters that join": "\u0646\u200d\u0631",
    "a joiner behind an emoji": "\U0001f468\u200d",
    "a joiner before an emoji": "Bank\u200d\U0001f468",
    "two joiners": "\U0001f468\u200d\u200d\U0001f469",
    "two variation selectors": "\u2764\ufe0f\ufe0f",
    "a keycap's selector without the keycap": "1\ufe0f",
    "a control character": "Bud\x00get",
    "a line break": "Budget\nFriend",
    "too much": "x" * 129,
}


@pytest.mark.parametrize(
    "text",
    ["Zoë", "a\u00a0b", "Donau\u00addampf", "\u0646\u0631\u0645\u200c\u0627\u0641\u0632\u0627\u0631", FAMILY, "", " "],
)
def test_user_text_may_contain_non_breaking_spaces_soft_hyphens_and_joiners(text: str) -> None:
    assert is_written(text)


@pytest.mark.parametrize(
    "text", ["\n", "a\x00", "\u202e", "\u200b", "\ufeff", "\ue000", "\ud800", "a\u2009b"], ids=ascii
)
def test_user_text_with_control_or_direction_characters_is_rejected(text: str) -> None:
    assert not is_written(text)


@pytest.mark.parametrize(
    ("text", "blank"), [("", True), (" \u00a0", True), ("\u200d\u3164\u2800\ufe0f", True), (" a", False)]
)
def test_user_text_of_invisible_characters_only_is_blank(text: str, blank: bool) -> None:
    assert is_blank(text) is blank


@pytest.mark.parametrize("title", TITLES.values(), ids=TITLES)
def test_a_title_may_contain_joiners_between_characters_that_they_join(title: str) -> None:
    assert read_title(title, 128) == title


@pytest.mark.parametrize("title", NOT_TITLES.values(), ids=NOT_TITLES)
def test_a_blank_title_or_a_title_with_invisible_characters_is_rejected(title: str) -> None:
    with pytest.raises(InvalidTitle, match=r"must be 1 to 128 printable|must not have invisible"):
        read_title(title, 128)


def test_titles_are_normalized_to_composed_characters() -> None:
    assert read_title(" Cafe\u0301\u00a0Bud\u00adget ", 128) == "Caf\u00e9 Budget"
    assert read_title("e\u0301" * 128, 128) == "\u00e9" * 128


def test_a_title_may_have_four_times_the_maximum_length_before_unicode_composition() -> None:
    assert read_title("\u03b1\u0313\u0300\u0345" * 128, 128) == "\u1f82" * 128


def test_a_very_long_title_is_rejected_without_unicode_composition(monkeypatch: pytest.MonkeyPatch) -> None:
    """Unicode composition takes quadratic time for combining marks in the wrong order."""
    monkeypatch.setattr(written_text, "unicodedata", None)

    with pytest.raises(InvalidTitle, match="must be 1 to 128 printable characters"):
        read_title("\u0301\u0323" * 300, 128)
