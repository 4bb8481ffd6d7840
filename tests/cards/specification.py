"""The specification's tables of requests and responses. ``specification.txt`` contains the tables and the notation."""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

LEVEL = "access_level: O LEVEL"
"""The table row of the access level, which is the last member of every request."""


@dataclass(frozen=True)
class Member:
    """A member of a table. ``shortest`` and ``longest`` are 0 if no length is specified."""

    name: str
    requirement: str
    type: str
    shortest: int = 0
    longest: int = 0

    @property
    def mandatory(self) -> bool:
        return self.requirement == "M"


Members = dict[str, Member]


@dataclass(frozen=True)
class Table:
    """The request and the response of an action. ``answer`` lists the members of ``data`` or of a ``data`` entry."""

    request: Members
    answer: Members


def _read_tables(text: str) -> dict[str, Members]:
    lines: dict[str, list[str]] = {}
    for line in (each for each in text.splitlines() if each and not each.startswith("#")):
        if not line.startswith(" "):
            heading = line
            lines[heading] = []
        elif line.startswith("    "):
            lines[heading][-1] += f" {line.strip()}"
        else:
            lines[heading].append(line.strip())
    return {heading: _members(heading, lines) for heading in lines}


def _members(heading: str, lines: dict[str, list[str]]) -> Members:
    found: Members = {}
    for line in _with_blocks(heading, lines):
        names, _, notation = line.partition(": ")
        requirement, kind, *length = notation.split()
        shortest, _, longest = length[0].partition("-") if length else ("0", "", "0")
        for name in names.split(", "):
            assert name not in found, f"{heading} has {name} twice"
            found[name] = Member(name, requirement, kind, int(shortest), int(longest))
    return found


def _with_blocks(heading: str, lines: dict[str, list[str]]) -> Iterable[str]:
    direction = heading.partition(":")[0].removesuffix(" block")
    for line in lines[heading]:
        if line.startswith("+ "):
            yield from _with_blocks(f"{direction} block: {line[2:]}", lines)
        else:
            yield line
    if heading.startswith("request: "):
        yield LEVEL


_TABLES = _read_tables(Path(__file__).with_name("specification.txt").read_text(encoding="utf-8"))
SOURCE_BANK_ACCOUNT, DESTINATION_BANK_ACCOUNT = (
    _TABLES[f"answer: {side} bank account"] for side in ("source", "destination")
)
TABLES = {
    heading.removeprefix("request: "): Table(table, _TABLES.get(heading.replace("request: ", "answer: "), {}))
    for heading, table in _TABLES.items()
    if heading.startswith("request: ")
}
