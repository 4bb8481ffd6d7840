"""How a table of the interface's document is typed in by hand: a line for each member of a request or an answer.

A line is a member, its requirement (M mandatory, O optional, C conditional), its type and its length in characters or
digits. ``N`` is a number, ``AN`` ASCII letters and digits, ``ANS`` printable text, ``AS`` names, ``A`` letters. Where
a member means more than its type says, the type says what: ``ID``, ``CURRENCY``, ``COUNTRY``, ``FLAG``, ``DATE``,
``DIGITS`` (leading zeros count), ``LEVEL``, ``MONTHS``, ``MONTH``, ``PASSWORD``, ``IBAN``, ``EMAIL``, ``IPV4``,
``AMOUNT`` (more than 0), ``BRITISH_NUMBER`` of an account, ``METHOD`` and ``SCHEME`` of external payments, ``STEP`` of
a dispute, ``PAGINATOR``, ``ITEM_COUNT`` of a page, ``OBJECT`` of any members, ``OF:`` with the values of a list, and
``EXT-LIST:`` with the type of the entries. In answers ``RATE`` and ``PERCENT`` are numbers that may have a fraction.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property


@dataclass(frozen=True)
class Member:
    """One line of a table; ``shortest`` and ``longest`` are 0 where no length is stated."""

    name: str
    requirement: str
    type: str
    shortest: int = 0
    longest: int = 0

    @property
    def mandatory(self) -> bool:
        return self.requirement == "M"


@dataclass(frozen=True)
class Table:
    """Request and answer of one action; ``answer_lines`` are the members of ``data``, or of an entry of it."""

    request_lines: str = field(repr=False)
    answer_lines: str = field(default="", repr=False)

    @cached_property
    def request(self) -> dict[str, Member]:
        return _members(self.request_lines)

    @cached_property
    def answer(self) -> dict[str, Member]:
        return _members(self.answer_lines)


def _members(lines: str) -> dict[str, Member]:
    found: dict[str, Member] = {}
    for line in filter(None, map(str.strip, lines.splitlines())):
        name, requirement, kind, *length = line.split()
        assert name not in found, name
        shortest, _, longest = length[0].partition("-") if length else ("0", "", "")
        found[name] = Member(name, requirement, kind, int(shortest), int(longest or shortest))
    return found
