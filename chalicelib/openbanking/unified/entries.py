"""Entries of a bank's lists, validated one by one: an unusable entry is left out and reported in ``problems``.

An entry is unusable if the native call would refuse the whole response because of it.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

from chalicelib.foundation.fields.field_types import Message, OpenMessage
from chalicelib.foundation.fields.problems import InvalidMessage
from chalicelib.openbanking.unified.answers import UnifiedProblem
from chalicelib.openbanking.unified.rows import find
from chalicelib.openbanking.unified.validated_members import validated_model
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
    model: type[OpenMessage], name: str, listed: Iterable[tuple[int, Any]], amount: str | None, problems: Problems
) -> list[Entry]:
    """Validate the entries of the list ``name``, each with its position. Unusable ones are reported in ``problems``.

    Args:
        amount: the path of a number that each entry must have, if any.
    """
    validated, path = validated_model(model), amount and amount.split(".")
    entries = []
    for position, entry in listed:
        fault = _fault_of(validated, entry)
        if fault is None and path and number(find(entry, path)) is None:
            fault = amount, "must be a number"
        if fault is not None:
            problems.add(f"{name}[{position}]", *fault)
        entries.append(Entry(position, entry, fault is None))
    return entries


def _fault_of(validated: type[Message], entry: Any) -> tuple[str | None, str] | None:
    """Return the first member of an entry that makes it unusable, and the reason; ``None`` if it is usable."""
    if not isinstance(entry, dict):
        return None, "must be an object"
    try:
        validated.read(entry, most=None)
    except InvalidMessage as error:
        return next(((problem.field, problem.reason) for problem in error.problems if problem.is_fatal), None)
    return None
