"""The regular expressions that read what strangers send take linear work.

Two things make them slow: repeats that can end in more than one place, and searches that read the same run of
characters from each of its characters on.
"""

from __future__ import annotations

import re

import pytest

from tests.parsers.linear_patterns import find_repeats_to_mend
from tests.parsers.patterns import LINEAR_EXCEPTIONS, PATTERNS, find_repeats

REFUSED_WHEN_SEARCHED = {
    "white space before what may begin with it": r"\s*([^{}@]+)\{([^{}]*)\}",
    "white space twice": r"url\(\s*['\"]?\s*#([^'\")]*)",
    "a word that may begin anywhere in it": r"([\w-]+)\(",
    "a repeat of a repeat": r"\((?:a+)*\)",
    "any character, then a certain one": r"/\*.*\*/",
}
ACCEPTED_WHEN_SEARCHED = {
    "a word at whose beginning the search begins": r"(?<![\w-])([\w-]+)\(",
    "white space after a character that is none": r"url\(\s*+['\"]?\s*+#([^'\")]*)",
    "a repeat at the end": r"[0-9]+",
}


@pytest.mark.parametrize("name", sorted(PATTERNS.keys() - LINEAR_EXCEPTIONS.keys()))
def test_no_pattern_has_a_repeat_with_superlinear_work(name: str) -> None:
    assert find_repeats(name) == []


@pytest.mark.parametrize("name", LINEAR_EXCEPTIONS)
def test_each_exception_has_a_repeat_refused_by_the_rules(name: str) -> None:
    assert find_repeats(name)


@pytest.mark.parametrize("pattern", REFUSED_WHEN_SEARCHED.values(), ids=REFUSED_WHEN_SEARCHED)
def test_a_repeat_with_superlinear_work_is_found(pattern: str) -> None:
    assert find_repeats_to_mend(re.compile(pattern), is_searched=True)


@pytest.mark.parametrize("pattern", ACCEPTED_WHEN_SEARCHED.values(), ids=ACCEPTED_WHEN_SEARCHED)
def test_a_repeat_with_linear_work_is_accepted(pattern: str) -> None:
    assert find_repeats_to_mend(re.compile(pattern), is_searched=True) == []
