"""Regular expressions that read external input run in linear time.

Two constructs take superlinear time. The first is a repeat with more than one possible end. The second is a search that
reads the same run of characters again from each character of the run.
"""

import inspect
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from types import ModuleType
from typing import Any

import pytest

from chalicelib.cards.protocol import fields as card_fields
from chalicelib.cards.requests import envelope
from chalicelib.delivery import client_events, recorded_exchange
from chalicelib.foundation import durations, identifiers, jsontext
from chalicelib.foundation.crypto import public_keys, signature_hints
from chalicelib.foundation.fields import decimal_rules, field_types, number_rules
from chalicelib.foundation.http import addresses
from chalicelib.openbanking.protocol import bank_calls, british_accounts, fields, tpp_calls
from chalicelib.openbanking.records import (
    client_list,
    client_security,
    conformance_reports,
    svg_logos,
    svg_scales,
    svg_styles,
)
from chalicelib.statistics import days
from chalicelib.website.banks import signature_check
from chalicelib.website.cards import card_text

_parser, _compiler = (vars(re)[name] for name in ("_parser", "_compiler"))
_REPEATS = ("MAX_REPEAT", "MIN_REPEAT", "POSSESSIVE_REPEAT")
_WITHOUT_WIDTH = ("AT", "ASSERT", "ASSERT_NOT")
_ALPHABET = [chr(number) for number in range(0x3001)]
"""The Basic Multilingual Plane up to its last white-space character."""
_END = ""
"""The marker for the end of the pattern in a set of characters."""

Node = tuple[Any, Any]
Characters = frozenset[str]


@dataclass(frozen=True)
class Repeat:
    """A repeat without a maximum.

    Attributes:
        characters: the possible first characters of each repetition. The rules are exact for repetitions of one
        character.
        following: the characters that can follow the repeat.
        before: the characters of each mandatory place before the repeat.
        is_possessive: whether the repeat never backtracks.
        may_fail: whether the pattern may fail after the repeat.
    """

    characters: Characters
    following: Characters
    before: tuple[Characters, ...]
    is_possessive: bool
    may_fail: bool

    @property
    def is_ambiguous(self) -> bool:
        """Return whether a match can end the repeat at several positions, so that the engine tries all of these
        positions.
        """
        return not self.is_possessive and bool(self.characters & self.following)

    @property
    def is_read_again(self) -> bool:
        """Return whether a failed search can restart inside the run of characters and read the remaining run again."""
        return self.may_fail and all(self.characters & place for place in self.before)


class ReadPattern:
    """A compiled pattern, parsed again into its syntax tree."""

    def __init__(self, pattern: re.Pattern[str]) -> None:
        self._flags = pattern.flags
        self._parsed = _parser.parse(pattern.pattern, pattern.flags)
        self._groups: dict[int, Sequence[Node]] = {}

    @cached_property
    def repeats(self) -> list[Repeat]:
        return list(self._find(self._parsed, frozenset((_END,)), may_fail=False, before=()))

    def _find(
        self, nodes: Sequence[Node], after: Characters, *, may_fail: bool, before: tuple[Characters, ...]
    ) -> Iterator[Repeat]:
        """Yield the repeats in a sequence. ``after`` contains the characters that follow the sequence."""
        for index, (kind, value) in enumerate(nodes):
            rest = list(nodes[index + 1 :])
            following = self._follow(rest, after)
            fails = may_fail or any(not self._is_optional(node) for node in rest)
            for inner in self._inner(kind, value):
                looped = following
                if str(kind) in _REPEATS and value[1] is _parser.MAXREPEAT:
                    characters = self._first(inner)
                    looped = following | characters
                    possessive = str(kind) == "POSSESSIVE_REPEAT"
                    yield Repeat(characters - {_END}, following, before, possessive, fails)
                yield from self._find(inner, looped, may_fail=fails, before=before)
            before = (*before, *self._passed(kind, value))

    def _inner(self, kind: Any, value: Any) -> list[Sequence[Node]]:
        name = str(kind)
        if name in _REPEATS:
            return [value[2]]
        if name == "SUBPATTERN":
            if value[0] is not None:
                self._groups[value[0]] = value[-1]
            return [value[-1]]
        if name == "BRANCH":
            return list(value[1])
        return [value] if name == "ATOMIC_GROUP" else []

    def _first(self, nodes: Sequence[Node]) -> Characters:
        """Return the possible first characters of a sequence, with ``_END`` if it may be empty."""
        return self._follow(nodes, frozenset((_END,)))

    def _follow(self, nodes: Sequence[Node], after: Characters) -> Characters:
        found: Characters = frozenset()
        for node in nodes:
            begins = self._begin(*node)
            found |= begins - {_END}
            if _END not in begins:
                return found
        return found | after

    def _begin(self, kind: Any, value: Any) -> Characters:
        name = str(kind)
        if name in _WITHOUT_WIDTH:
            return frozenset((_END,))
        if name == "GROUPREF":
            return self._first(self._groups[value])
        if inner := self._inner(kind, value):
            may_be_empty = name in _REPEATS and value[0] == 0
            return frozenset((_END,) if may_be_empty else ()).union(*map(self._first, inner))
        return self._characters((kind, value))

    def _characters(self, node: Node) -> Characters:
        sequence = _parser.SubPattern(_parser.State(), [node])
        matches = _compiler.compile(sequence, self._flags).match
        return frozenset(filter(matches, _ALPHABET))

    def _is_optional(self, node: Node) -> bool:
        return str(node[0]) not in _WITHOUT_WIDTH and _END in self._begin(*node)

    def _passed(self, kind: Any, value: Any) -> Iterator[Characters]:
        """Yield the characters of each mandatory position of a syntax tree node."""
        name = str(kind)
        if name == "ASSERT_NOT" and value[0] == -1:
            yield frozenset(_ALPHABET) - self._first(value[1])
        elif name == "SUBPATTERN":
            for node in value[-1]:
                yield from self._passed(*node)
        elif _END not in (begins := self._begin(kind, value)):
            yield begins


def find_repeats_to_mend(pattern: re.Pattern[str], *, is_searched: bool) -> list[Repeat]:
    """Return the repeats of a pattern that take superlinear time.

    Args:
        is_searched: whether matches may begin anywhere in a text. If false, matches begin only at the start of a text.
    """
    repeats = ReadPattern(pattern).repeats
    return [each for each in repeats if each.is_ambiguous or (is_searched and each.is_read_again)]


MODULES: tuple[ModuleType, ...] = (
    *(svg_logos, svg_scales, svg_styles),
    *(addresses, durations, identifiers, jsontext, decimal_rules, field_types, number_rules, fields),
    *(client_events, recorded_exchange, days, card_text, envelope, card_fields),
    *(public_keys, signature_hints, signature_check, conformance_reports),
    *(bank_calls, british_accounts, tpp_calls, client_list, client_security),
)
LINEAR_EXCEPTIONS: Mapping[str, str] = {
    "openbanking.records.svg_styles.NUMBER": "each run of digits is a number, so that no search fails after one",
    "openbanking.records.svg_scales._USUAL_NUMBER": "it fails only before digits of an exponent, and then "
    "matches without the exponent",
    "openbanking.records.svg_styles._TOKEN": "a comment that is not closed ends with the text, so that no search "
    "fails after one",
    "foundation.http.addresses._ENDS_IN_A_NUMBER": "compared with a whole host name; the digits between two dots are "
    "tried once",
    "cards.protocol.fields._EMAIL": "compared with a whole text; each label of a domain ends with a dot",
}
"""Patterns that take linear time although the rules reject the patterns, each with the reason."""
PATTERNS: Mapping[str, re.Pattern[str]] = {
    f"{module.__name__.removeprefix('chalicelib.')}.{name}": pattern
    for module in MODULES
    for name, pattern in vars(module).items()
    if isinstance(pattern, re.Pattern) and isinstance(pattern.pattern, str)
}
_SOURCES = "".join(map(inspect.getsource, MODULES))


def find_repeats(name: str) -> list[Repeat]:
    return find_repeats_to_mend(PATTERNS[name], is_searched=_is_searched(name))


def _is_searched(name: str) -> bool:
    return bool(re.search(rf"\b{name.rpartition('.')[2]}\.(?:search|sub|split|findall|finditer)\(", _SOURCES))


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
def test_patterns_for_external_input_have_no_repeat_with_superlinear_time(name: str) -> None:
    assert find_repeats(name) == []


@pytest.mark.parametrize("name", LINEAR_EXCEPTIONS)
def test_each_listed_exception_has_a_repeat_that_the_linear_time_rules_reject(name: str) -> None:
    assert find_repeats(name)


@pytest.mark.parametrize("pattern", REFUSED_WHEN_SEARCHED.values(), ids=REFUSED_WHEN_SEARCHED)
def test_a_pattern_repeat_with_superlinear_time_is_detected(pattern: str) -> None:
    assert find_repeats_to_mend(re.compile(pattern), is_searched=True)


@pytest.mark.parametrize("pattern", ACCEPTED_WHEN_SEARCHED.values(), ids=ACCEPTED_WHEN_SEARCHED)
def test_a_pattern_repeat_with_linear_time_is_accepted(pattern: str) -> None:
    assert find_repeats_to_mend(re.compile(pattern), is_searched=True) == []
