"""Reads and writes the sections of a changelog: one for the next version, and one for each release, newest first."""

from __future__ import annotations

import re
from datetime import date

NEXT = "## Next version"
EMPTY = "No changes yet."
_SECTION = re.compile(rf"^{re.escape(NEXT)}\n(?P<content>.*?)(?=^## |\Z)", re.MULTILINE | re.DOTALL)


class ChangelogInvalid(Exception):
    """A changelog cannot be read. The message names the missing part."""


def next_version(text: str) -> str:
    """Return the content of the next version's section; empty if there are no changes. Raises: ChangelogInvalid."""
    found = _SECTION.search(text)
    if found is None:
        raise ChangelogInvalid(f"there is no section {NEXT!r}")
    content = found["content"].strip()
    return "" if content == EMPTY else content


def notes(content: str) -> list[str]:
    """Return the items of a section's lists, each as one line."""
    items = re.split(r"^- ", content, flags=re.MULTILINE)[1:]
    return [" ".join(item.split()) for item in items]


def release(text: str, version: str, day: date, *, without: str = "") -> str:
    """Convert the next version's section to the section of a release. ``without`` is the text of an empty section.

    Raises:
        ChangelogInvalid: the section is missing or empty.
    """
    content = next_version(text) or without
    if not content:
        raise ChangelogInvalid(f"the section {NEXT!r} is empty: say what users notice")
    released = f"{NEXT}\n\n{EMPTY}\n\n## {version} ({day.isoformat()})\n\n{content}\n\n"
    return _SECTION.sub(lambda _: released, text, count=1).rstrip() + "\n"
