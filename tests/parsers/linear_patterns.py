"""Find the repeats of a regular expression that make it take more than linear work."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

_parser, _compiler = (vars(re)[name] for name in ("_parser", "_compiler"))
_REPEATS = ("MAX_REPEAT", "MIN_REPEAT", "POSSESSIVE_REPEAT")
_WITHOUT_WIDTH = ("AT", "ASSERT", "ASSERT_NOT")
_ALPHABET = [chr(number) for number in range(0x3001)]
"""The Basic Multilingual Plane up to its last white-space character."""
_END = ""
"""Stands for the end of the pattern, among the characters with which it goes on."""

Node = tuple[Any, Any]
Characters = frozenset[str]


@dataclass(frozen=True)
class Repeat:
    """A repeat without a maximum.

    Attributes:
        characters: the characters with which each round of it begins. The rules are exact for rounds of one character.
        following: the characters with which the pattern may go on after it.
        before: the characters of each mandatory place before it.
        is_possessive: whether it never gives back what it read.
        may_fail: whether the pattern may fail after it.
    """

    characters: Characters
    following: Characters
    before: tuple[Characters, ...]
    is_possessive: bool
    may_fail: bool

    @property
    def is_ambiguous(self) -> bool:
        """Whether a match can end it in more than one place, all of which are tried."""
        return not self.is_possessive and bool(self.characters & self.following)

    @property
    def is_read_again(self) -> bool:
        """Whether a search that fails after it can begin again inside the run that it read, and read the rest twice."""
        return self.may_fail and all(self.characters & place for place in self.before)


class ReadPattern:
    """A compiled pattern, parsed again."""

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
        """The repeats in a sequence; ``after`` has the characters that follow the sequence."""
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
        """The sequences inside a node."""
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
        """The characters with which a sequence begins, and ``_END`` if it may be empty."""
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
        """The characters that a node without others inside takes."""
        sequence = _parser.SubPattern(_parser.State(), [node])
        matches = _compiler.compile(sequence, self._flags).match
        return frozenset(filter(matches, _ALPHABET))

    def _is_optional(self, node: Node) -> bool:
        """Whether a match goes on whatever comes at the node."""
        return str(node[0]) not in _WITHOUT_WIDTH and _END in self._begin(*node)

    def _passed(self, kind: Any, value: Any) -> Iterator[Characters]:
        """The characters of each mandatory place of a node."""
        name = str(kind)
        if name == "ASSERT_NOT" and value[0] == -1:
            yield frozenset(_ALPHABET) - self._first(value[1])
        elif name == "SUBPATTERN":
            for node in value[-1]:
                yield from self._passed(*node)
        elif _END not in (begins := self._begin(kind, value)):
            yield begins


def find_repeats_to_mend(pattern: re.Pattern[str], *, is_searched: bool) -> list[Repeat]:
    """The repeats of a pattern that take more than linear work.

    Args:
        is_searched: whether matches may begin anywhere in a text, and not at its beginning alone.
    """
    repeats = ReadPattern(pattern).repeats
    return [each for each in repeats if each.is_ambiguous or (is_searched and each.is_read_again)]


def patterns_in(names: Mapping[str, object]) -> dict[str, re.Pattern[str]]:
    """The patterns of text among a module's names."""
    return {
        name: value for name, value in names.items() if isinstance(value, re.Pattern) and isinstance(value.pattern, str)
    }
