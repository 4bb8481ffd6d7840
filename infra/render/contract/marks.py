"""Marks contract lines that have changed since the last release.

``+ `` marks a new line, and ``- `` marks a removed line at its previous position. A line without a mark is released and
valid.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from difflib import SequenceMatcher

NEW, GONE = "+ ", "- "


def released_lines(text: str) -> list[str]:
    """Return the lines of the last release."""
    return [line.removeprefix(GONE) for line in text.splitlines() if not line.startswith(NEW)]


def present_lines(text: str) -> list[str]:
    """Return the currently valid lines."""
    return [line.removeprefix(NEW) for line in text.splitlines() if not line.startswith(GONE)]


def join_lines(lines: Iterable[str]) -> str:
    """Return the text of a contract file that consists of these lines."""
    return "".join(f"{line}\n" for line in lines)


def mark_changes(before: Sequence[str], now: Sequence[str]) -> list[str]:
    """Return the lines valid ``now`` and the lines removed since ``before``. New and removed lines are marked."""
    lines: list[str] = []
    for tag, i, j, k, m in SequenceMatcher(None, before, now, autojunk=False).get_opcodes():
        same = tag == "equal"
        lines += before[i:j] if same else [*(GONE + line for line in before[i:j]), *(NEW + line for line in now[k:m])]
    return lines
