"""Entries of a bank's lists, validated one by one: an unusable entry is left out and reported in ``problems``.

An entry is unusable if the native call would refuse the whole response because of it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from chalicelib.foundation.fields.field_types import OpenMessage
from chalicelib.foundation.fields.problems import InvalidMessage
from chalicelib.openbanking.unified.answers import UnifiedProblem
from chalicelib.openbanking.unified.decisive_members import decisive_model
from chalicelib.openbanking.unified.values import number

MOST_PROBLEMS = 100
MISSING = "is missing"


class Problems:
    """The problems of a response, of which at most 100 are reported."""

    def __init__(self) -> None:
        self._reported: list[UnifiedProblem] = []
        self._more = 0

    def add(self, position: str, member: str | None, reason: str) -> None:
        """Add a problem with the member of an entry, or with a list or entry as a whole."""
        if len(self._reported) < MOST_PROBLEMS:
            self._reported.append({"position": position, "member": member, "reason": reason})
        else:
            self._more += 1

    def as_list(self) -> list[UnifiedProblem]:
        """Return the reported problems, and one with the number of the others."""
        rest: UnifiedProblem = {"position": None, "member": None, "reason": f"and {self._more} more"}
        return [*self._reported, rest] if self._more else self._reported


class Entry(NamedTuple):
    """An entry of a bank's list, as sent."""

    position: int
    raw: Any
    is_usable: bool


def read_entries(
    model: type[OpenMessage], name: str, listed: Sequence[tuple[int, Any]], problems: Problems
) -> list[Entry]:
    """Validate the entries of the list ``name``, each with its position. Unusable ones are reported in ``problems``."""
    return [Entry(place, each, _is_usable(model, name, place, each, problems)) for place, each in listed]


def _is_usable(model: type[OpenMessage], name: str, place: int, entry: Any, problems: Problems) -> bool:
    if not isinstance(entry, dict):
        problems.add(f"{name}[{place}]", None, "must be an object")
        return False
    try:
        decisive_model(model).read(entry, most=None)
    except InvalidMessage as error:
        first = next((problem for problem in error.problems if problem.is_fatal), None)
        if first is not None:
            problems.add(f"{name}[{place}]", first.field, first.reason)
            return False
    return True


def require_number(entry: Entry, name: str, member: str, value: Any, problems: Problems) -> str | None:
    """Return the digits of a mandatory number. If it has none, report the entry of the list ``name``."""
    found = number(value)
    if found is None:
        problems.add(f"{name}[{entry.position}]", member, "must be a number")
    return found
