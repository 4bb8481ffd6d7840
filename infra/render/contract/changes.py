"""Which changes of a contract the changelog has to name, and whether it does.

A caller of the last release relies on its lines, so a line that is gone or reads differently now is named. So is a new
demand on an operation that the release has. Everything else that is new breaks nobody.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from chalicelib.foundation.lazy_dataclasses import dataclass

APIS = {"tpp": "TPP API", "bank-v1": "bank API", "bank-v2": "bank API", "cards": "card API"}
"""What the changelog calls the API of each document."""
_OPERATION = re.compile(r"^(?:[A-Z]+ /\S*|webhook \S+)")
_LABEL = re.compile(r"\((\w+)\)")
_CODE = re.compile(r"`([^`]+)`")
_PATTERNS = "pattern "


@dataclass(frozen=True, slots=True)
class Line:
    """A line of a contract.

    Attributes:
        text: the line.
        operation: its operation, such as ``POST /tpp/authorize``; empty for a schema that several share.
        label: the action, or the alternative of a body; empty if there is none.
        name: its member, header or value; empty for the operation itself.
    """

    text: str
    operation: str
    label: str
    name: str

    @classmethod
    def read(cls, text: str) -> Line:
        place, _, said = text.partition("  ")
        found = _OPERATION.match(place)
        operation = found[0] if found else ""
        label = _LABEL.search(place)
        rest = place[len(operation) :].split()
        member = re.split(r"[.\s]", rest[-1])[-1].removesuffix("[]") if rest else ""
        value = said.removeprefix("value ").partition(" or ")[0].strip('"') if said.startswith("value ") else ""
        return cls(text, operation, label[1] if label else "", value or _LABEL.sub("", member))

    def is_named(self, note: str, api: str) -> bool:
        """Whether a note of the changelog quotes the line's name, and the operation, action or API that has it."""
        quoted = {*_CODE.findall(note)}
        places = quoted & {self.operation, self.label} - {""}
        return (self.name in quoted or self.name == "") and bool(places or api in note)


def unnamed_changes(document: str, released: Iterable[str], present: Iterable[str], notes: Iterable[str]) -> list[str]:
    """The changes between two contracts that no note of the changelog names, as the lines of a difference."""
    before, now, said = list(released), list(present), list(notes)
    operations = {Line.read(text).operation for text in before}
    gone = {Line.read(text).operation for text in before} - {Line.read(text).operation for text in now}
    unnamed = []
    for sign, line in _changes(before, now):
        if sign == "+" and not (line.operation in operations and _is_demand(line)):
            continue
        is_named = any(line.is_named(note, APIS[document]) for note in said)
        ended = line.operation in gone and any(f"`{line.operation}`" in note for note in said)
        if not (is_named or ended):
            unnamed.append(f"{sign} {line.text}")
    return unnamed


def _changes(before: list[str], now: list[str]) -> Iterator[tuple[str, Line]]:
    """Removed lines as ``-``, added ones as ``+``; a pattern changes with the lines that name it."""
    for sign, texts, others in (("-", before, {*now}), ("+", now, {*before})):
        for text in texts:
            if text not in others and not text.startswith(_PATTERNS):
                yield sign, Line.read(text)


def _is_demand(line: Line) -> bool:
    return " request " in line.text and line.text.endswith(", required")
