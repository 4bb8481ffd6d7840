"""Which changes of a contract the changelog has to name, and whether it does.

A caller of the last release relies on its lines, so a line that is gone or reads differently now is named. So is a new
demand on an operation that the release has. Everything else that is new breaks nobody.
"""

from __future__ import annotations

import re
from collections.abc import Container, Iterable

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
        name: its member, header, status, value or way to authenticate; empty for the operation itself.
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
        name = _LABEL.sub("", rest[-1].rpartition(".")[2]).removesuffix("[]") if rest else ""
        if rest == ["security"]:
            name = said
        elif said.startswith("value ") and ", " not in said:
            name = said.removeprefix("value ").partition(" or ")[0].strip('"')
        return cls(text, operation, label[1] if label else "", name)

    @property
    def schema(self) -> str:
        """The schema that the line belongs to; empty if it belongs to an operation."""
        return "" if self.operation else re.split(r"[.\[\s]", self.text, maxsplit=1)[0]

    @property
    def kind(self) -> str:
        """The type of a member, or the schema that it names."""
        return self.text.partition("  ")[2].partition(",")[0]

    @property
    def is_asked(self) -> bool:
        """Whether it is part of what others have to send: requests, and responses to webhooks."""
        return (" response " if self.operation.startswith("webhook ") else " request ") in self.text

    def is_demand(self, operations: Container[str], schemas: Container[str]) -> bool:
        """Whether it is a mandatory part of what others send to known operations, or in known schemas."""
        is_known = self.is_asked and self.operation in operations if self.operation else self.schema in schemas
        return is_known and self.text.endswith(", required")

    def is_named(self, note: str, api: str) -> bool:
        """Whether a note of the changelog quotes the line's name, and the operation, action or API that has it."""
        quoted = {*_CODE.findall(note)}
        places = {self.operation, self.operation.removeprefix("webhook "), self.label} - {""}
        return (self.name in quoted or self.name == "") and bool(quoted & places or api in note)


def unnamed_changes(document: str, released: Iterable[str], present: Iterable[str], notes: Iterable[str]) -> list[str]:
    """The changes between two contracts that no note of the changelog names, as the lines of a difference."""
    before, now, said = [*map(Line.read, released)], [*map(Line.read, present)], list(notes)
    operations = {line.operation for line in before}
    gone = {f"`{operation}`" for operation in operations - {line.operation for line in now}}
    demanded = _demanded_schemas(before)
    old, new = {*before}, {*now}
    changes = [("-", line) for line in before if line not in new]
    changes += [("+", line) for line in now if line not in old and line.is_demand(operations, demanded)]
    return [
        f"{sign} {line.text}"
        for sign, line in changes
        if not line.text.startswith(_PATTERNS)  # a pattern changes with the lines that name it
        and not any(line.is_named(note, APIS[document]) for note in said)
        and not any(f"`{line.operation}`" in gone and f"`{line.operation}`" in note for note in said)
    ]


def _demanded_schemas(lines: Iterable[Line]) -> set[str]:
    """The schemas that callers of operations, and receivers of webhooks, have to fill in."""
    found: set[str] = set()
    size = -1
    while len(found) > size:
        size = len(found)
        found |= {line.kind for line in lines if line.is_asked or line.schema in found}
    return found
