"""Prints the changes to the contract that the changelog does not mention yet.

Callers rely on the contract lines of the last release, so the changelog must mention removed and changed lines. It must
also mention new obligations for callers of an existing operation: mandatory members, rules, or restricted values. Other
new lines do not affect existing callers.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Container, Iterable

from chalicelib.foundation.lazy_dataclasses import dataclass
from infra import command
from infra.release import changelog
from infra.render.contract import marks
from infra.render.contract.__main__ import PLACE
from infra.repository import ROOT

APIS = {"tpp": "TPP API", "bank-v1": "bank API", "bank-v2": "bank API", "cards": "card API"}
"""The names that the changelog uses for the APIs, by document."""
CHANGELOG = ROOT / "CHANGELOG.md"
_OPERATION = re.compile(r"^(?:[A-Z]+ /\S*|webhook \S+)")
_LABEL = re.compile(r"\((\w+)\)")
_CODE = re.compile(r"`([^`]+)`")
_STRING = re.compile(r'"(\w+)"')
_PATTERNS, _RULE, _VALUE = "pattern ", "rule ", "value "


@dataclass(frozen=True, slots=True)
class Line:
    """A line of a contract.

    Attributes:
        text: the text of the line.
        operation: the line's operation, such as ``POST /tpp/authorize``; empty for a shared schema.
        label: the action, or the alternative of a body; empty if there is none.
        member: the line's member, header or status; empty for the operation itself.
        name: the line's value or authentication method, otherwise its member.
    """

    text: str
    operation: str
    label: str
    member: str
    name: str

    @classmethod
    def read(cls, text: str) -> Line:
        place, _, content = text.partition("  ")
        found = _OPERATION.match(place)
        operation = found[0] if found else ""
        label = _LABEL.search(place)
        rest = place[len(operation) :].split()
        member = name = _LABEL.sub("", rest[-1].rpartition(".")[2]).removesuffix("[]") if rest else ""
        if rest == ["security"]:
            name = content
        elif content.startswith(_VALUE) and ", " not in content:
            name = content.removeprefix(_VALUE).partition(" or ")[0].strip('"')
        return cls(text, operation, label[1] if label else "", member, name)

    @property
    def place(self) -> str:
        return self.text.partition("  ")[0]

    @property
    def content(self) -> str:
        return self.text.partition("  ")[2]

    @property
    def schema(self) -> str:
        """Return the schema of the line; empty if the line belongs to an operation."""
        return "" if self.operation else re.split(r"[.\[\s]", self.text, maxsplit=1)[0]

    @property
    def kind(self) -> str:
        """Return the type of a member, or the name of its schema."""
        return self.content.partition(",")[0]

    @property
    def is_sent_by_callers(self) -> bool:
        """Return whether the line is part of a request, or of a response to a webhook."""
        return (" response " if self.operation.startswith("webhook ") else " request ") in self.text

    def is_named(self, note: str, api: str, *, is_new: bool) -> bool:
        """Return whether a changelog note quotes the line's name together with the line's operation, action or API.

        A note can also mention new values by their member, and a rule by any of its members.
        """
        quoted = {*_CODE.findall(note)}
        names = {self.name, self.member} if is_new else {self.name}
        if self.content.startswith(_RULE):
            names |= {*_STRING.findall(self.content)}
        places = {self.operation, self.operation.removeprefix("webhook "), self.label} - {""}
        return bool(names & {*quoted, ""}) and bool(quoted & places or api in note)


class _Release:
    """The contract lines of the last release."""

    def __init__(self, lines: Iterable[Line]) -> None:
        self._lines = [*lines]
        self.operations = {line.operation for line in self._lines}
        self._schemas = _schemas_sent_by_callers(self._lines)
        self._places_with_values = {line.place for line in self._lines if line.content.startswith(_VALUE)}
        self._actions: dict[str, set[str]] = defaultdict(set)
        for line in self._lines:
            if line.label and line.is_sent_by_callers:
                self._actions[line.operation].add(line.label)

    def is_new_obligation(self, line: Line, new_places: Container[str]) -> bool:
        """Return whether a new line adds an obligation for callers. New actions and optional members add no
        obligation.
        """
        if line.operation:
            actions = self._actions.get(line.operation, set())
            is_new_action = f" request body({line.label})" in line.place and bool(actions) and line.label not in actions
            is_known = line.is_sent_by_callers and line.operation in self.operations and not is_new_action
        else:
            is_known = line.schema in self._schemas
        if not is_known or line.text.endswith(", required"):
            return is_known
        if line.content.startswith(_VALUE):
            return line.place not in new_places and line.place not in self._places_with_values
        return line.content.startswith(_RULE) and line.place not in new_places


def unnamed_changes(document: str, released: Iterable[str], present: Iterable[str], notes: Iterable[str]) -> list[str]:
    """Return the differences between two contracts, as lines of a diff, that no note of the changelog mentions."""
    before, now, notes = [*map(Line.read, released)], [*map(Line.read, present)], list(notes)
    release = _Release(before)
    gone = {f"`{operation}`" for operation in release.operations - {line.operation for line in now}}
    old, new = {*before}, {*now}
    new_places = {line.place for line in now if not line.content.startswith((_RULE, _VALUE))} - {
        line.place for line in before
    }
    changes = [("-", line) for line in before if line not in new]
    changes += [("+", line) for line in now if line not in old and release.is_new_obligation(line, new_places)]
    return [
        f"{sign} {line.text}"
        for sign, line in changes
        if not line.text.startswith(_PATTERNS)  # a pattern changes with the lines that name it
        and not any(line.is_named(note, APIS[document], is_new=sign == "+") for note in notes)
        and not any(f"`{line.operation}`" in gone and f"`{line.operation}`" in note for note in notes)
    ]


def _schemas_sent_by_callers(lines: Iterable[Line]) -> set[str]:
    found: set[str] = set()
    size = -1
    while len(found) > size:
        size = len(found)
        found |= {line.kind for line in lines if line.is_sent_by_callers or line.schema in found}
    return found


def find_unnamed(document: str) -> list[str]:
    """Return the marked changes in a contract file that the changelog's section for the next version does not
    mention.
    """
    text = (PLACE / f"{document}.txt").read_text("utf-8")
    notes = changelog.notes(changelog.next_version(CHANGELOG.read_text("utf-8")))
    return unnamed_changes(document, marks.released_lines(text), marks.present_lines(text), notes)


def main(arguments: list[str] | None = None) -> int:
    """Run the command. Returns the exit code."""
    command.parser("infra.release.contract_changes", __doc__).parse_args(arguments)
    if unnamed := [f"{document}: {change}" for document in APIS for change in find_unnamed(document)]:
        print("CHANGELOG.md has to name these changes under Next version:", *unnamed, sep="\n")
    return 0


if __name__ == "__main__":
    command.run(main)
